//! From a message in hand to one attempt.

use std::time::Duration;

use samekey_core::delivery::Ending;
use samekey_core::message::{ChannelKind, Taken};
use tokio_util::sync::CancellationToken;

use super::Transport;
use crate::channels::Channel;
use crate::fields::MessageFields;

/// Sends e-mail.
#[derive(Debug)]
pub struct EmailChannel {
    transport: Transport,
}

impl EmailChannel {
    /// Through this transport.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self { transport }
    }
}

impl Channel for EmailChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Email
    }

    async fn deliver(&self, delivery: &Taken, limit: Duration, stop: &CancellationToken) -> Ending {
        let refused = |detail: String| Ending::Refused { detail };
        // It was read when it was accepted; a release that has become stricter may refuse it now.
        let fields = match MessageFields::read(&delivery.payload) {
            Ok(fields) => fields,
            Err(faults) => {
                return refused(faults.first().map_or_else(String::new, |fault| fault.detail.clone()));
            }
        };
        let Some(draft) = fields.email.draft(delivery.sender.as_deref()) else {
            return refused("the message names no sender".to_owned());
        };
        let outgoing_id = delivery.identity.outgoing_id(delivery.nonce);
        match draft.compose(&outgoing_id, delivery.created_at) {
            Ok(mail) => self.transport.send(&mail, &delivery.id.to_string(), limit, stop.cancelled()).await,
            Err(error) => refused(error.to_string()),
        }
    }
}
