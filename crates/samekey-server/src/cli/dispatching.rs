//! From options to a running dispatcher.

use std::sync::Arc;

use samekey_core::delivery::{AmbiguityPolicy, DeliveryPolicy};
use samekey_core::lease::Lease;
use samekey_core::retry::Schedule;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::options::{Dispatching, Email, Policy};
use crate::channels::EmailChannel;
use crate::channels::email::{MailFolder, SmtpTransport, Transport};
use crate::dispatch::{DispatchRules, Dispatcher};
use crate::store::Store;

impl Dispatching {
    /// The rules, checked against each other.
    pub(super) fn rules(&self) -> Result<DispatchRules, Failure> {
        let lease = Lease::new(self.lease)
            .ok_or_else(|| Failure::new(format!("--lease: at least {} ms", Lease::SHORTEST.as_millis())))?;
        if self.send_timeout > lease.stop_after() {
            return Err(Failure::new(format!(
                "--send-timeout {} is too long for --lease {}: a worker must have stopped before its lease ends; use a lease \
                 of at least {}",
                humantime::format_duration(self.send_timeout),
                humantime::format_duration(self.lease),
                humantime::format_duration(self.send_timeout.mul_f64(1.2)),
            )));
        }
        if self.concurrency == 0 || self.concurrency > 100_000 {
            return Err(Failure::new("--concurrency: between 1 and 100000"));
        }
        Ok(DispatchRules {
            policy: DeliveryPolicy {
                ambiguity: match self.email_policy {
                    Policy::AtLeastOnce => AmbiguityPolicy::AtLeastOnce,
                    Policy::AtMostOnce => AmbiguityPolicy::AtMostOnce,
                },
                schedule: Schedule::new(self.retry_schedule.clone()),
                age_limit: self.age_limit,
            },
            lease,
            limit: self.send_timeout,
            slots: self.concurrency,
            drain: self.drain,
        })
    }
}

impl Email {
    /// Where e-mail goes.
    pub(super) fn transport(&self, dev_folder: Option<std::path::PathBuf>) -> Result<Transport, Failure> {
        match (self.smtp_url.as_deref(), dev_folder) {
            (Some("discard:"), _) => Ok(Transport::Discard),
            (Some(url), _) => SmtpTransport::new(url, self.smtp_ca.as_deref())
                .map(Transport::Smtp)
                .map_err(|error| Failure::new(format!("--smtp-url: {error}"))),
            (None, Some(folder)) => MailFolder::create(folder.clone())
                .map(Transport::Folder)
                .map_err(|error| Failure::new(format!("{} cannot be written: {error}", folder.display()))),
            (None, None) => Err(Failure::new(
                "no way to send e-mail: give --smtp-url (or --dev to write files, or --no-dispatch to accept only)",
            )),
        }
    }
}

/// Starts the dispatcher.
pub(super) fn start(
    store: &Store,
    transport: Transport,
    rules: DispatchRules,
    due: &Arc<Notify>,
    stop: &CancellationToken,
) -> JoinHandle<()> {
    let dispatcher = Dispatcher::new(store.clone(), EmailChannel::new(transport), rules, due.clone());
    tokio::spawn(dispatcher.run(stop.clone()))
}
