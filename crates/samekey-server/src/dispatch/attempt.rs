//! One attempt: the call, its bound, and what follows.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use metrics::counter;
use samekey_core::delivery::Ending;
use samekey_core::message::{Finished, Taken};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::DispatchRules;
use crate::channels::Channel;
use crate::random;

/// An attempt that has ended, and the slot that it keeps until this is on record.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) finished: Finished,
    pub(super) slot: OwnedSemaphorePermit,
}

/// An attempt that is about to be made.
pub(super) struct Attempt<C> {
    pub(super) channel: Arc<C>,
    pub(super) rules: Arc<DispatchRules>,
    pub(super) delivery: Taken,
    /// Read before the delivery was taken, so its lease cannot end earlier than counted from here.
    pub(super) since: Instant,
    pub(super) slot: OwnedSemaphorePermit,
}

impl<C: Channel> Attempt<C> {
    /// Makes the attempt and reports it.
    pub(super) async fn make(
        self,
        stop: CancellationToken,
        hurry: CancellationToken,
        ended: mpsc::UnboundedSender<Ended>,
    ) {
        let ending = self.call(&stop, &hurry).await;
        let Self { channel, rules, delivery, since, slot } = self;
        let age = delivery.age.saturating_add(since.elapsed());
        let verdict = rules.policy.after_attempt(delivery.attempt, age, ending, random::number());
        let (channel, outcome) = (channel.kind().word(), verdict.outcome.word());
        counter!("samekey_attempts_total", "channel" => channel, "outcome" => outcome).increment(1);
        if let Some(detail) = &verdict.detail {
            tracing::info!(message = %delivery.id, attempt = delivery.attempt, outcome, detail, "not sent");
        }
        let finished = Finished { id: delivery.id, token: delivery.token, verdict };
        // The receiver lives until the last sender is gone.
        let _ = ended.send(Ended { finished, slot });
    }

    async fn call(&self, stop: &CancellationToken, hurry: &CancellationToken) -> Ending {
        let limit = self.rules.lease.stop_after().saturating_sub(self.since.elapsed()).min(self.rules.limit);
        if stop.is_cancelled() || limit.is_zero() {
            return Ending::HandedBack;
        }
        let attempt = AssertUnwindSafe(self.channel.deliver(&self.delivery, limit, hurry));
        attempt.catch_unwind().await.unwrap_or_else(|_| Ending::Ambiguous {
            detail: "a fault of our own ended the attempt; it may have been sent".to_owned(),
        })
    }
}
