//! The channels: how a message leaves.
//!
//! A channel is one folder with one type that implements [`Channel`]. It knows its provider and nothing of stores, leases
//! or retries: it makes one attempt and says, as exactly as the protocol allows, how it ended. The one thing it must never
//! do is guess: what may have arrived is [`Ending::Ambiguous`].

pub mod email;

use std::time::Duration;

use samekey_core::delivery::Ending;
use samekey_core::message::{ChannelKind, Taken};
use tokio_util::sync::CancellationToken;

pub use email::EmailChannel;

/// One way to deliver a message.
pub trait Channel: Send + Sync + 'static {
    /// Which one.
    fn kind(&self) -> ChannelKind;

    /// Makes one attempt.
    ///
    /// It ends within `limit`, and soon after `stop` is cancelled; cut short, it still says what may have happened.
    fn deliver(
        &self,
        delivery: &Taken,
        limit: Duration,
        stop: &CancellationToken,
    ) -> impl Future<Output = Ending> + Send;
}
