//! What is in hand, and its heartbeat.
//!
//! An attempt is always shorter than its lease. What needs the heartbeat is the time afterwards: while the store is away,
//! an answer of the provider waits here to be written down, and must not be overtaken by another attempt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use samekey_core::FencingToken;
use samekey_core::lease::Lease;
use samekey_core::message::{MessageId, Taken};
use samekey_core::store::Messages;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::store::Store;

/// Deliveries in hand, with the moment they were taken or last renewed.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<Mutex<HashMap<MessageId, (FencingToken, Instant)>>>);

impl Held {
    /// `since` was read before they were taken.
    pub(super) fn add(&self, taken: &[Taken], since: Instant) {
        self.lock().extend(taken.iter().map(|one| (one.id, (one.token, since))));
    }

    pub(super) fn remove(&self, finished: impl Iterator<Item = (MessageId, FencingToken)>) {
        let mut held = self.lock();
        for (id, token) in finished {
            if held.get(&id).is_some_and(|(current, _)| *current == token) {
                held.remove(&id);
            }
        }
    }

    fn not_renewed_since(&self, moment: Instant) -> Vec<(MessageId, FencingToken)> {
        let held = self.lock();
        held.iter().filter(|(_, (_, last))| *last < moment).map(|(id, (token, _))| (*id, *token)).collect()
    }

    fn renewed(&self, ids: &[MessageId], at: Instant) {
        let mut held = self.lock();
        for id in ids {
            if let Some((_, last)) = held.get_mut(id) {
                *last = at;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<MessageId, (FencingToken, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews what has been in hand for a third of its lease, for ever.
pub(super) async fn renew(store: Store, held: Held, lease: Lease) {
    let third = lease.heartbeat_every();
    let mut ticks = interval(third / 2);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = ticks.tick().await;
        let Some(before) = now.checked_sub(third) else { continue };
        for batch in held.not_renewed_since(before).chunks(super::MAX_BATCH) {
            match store.renew_deliveries(batch, lease).await {
                Ok(renewed) => held.renewed(&renewed, now),
                Err(error) => tracing::warn!(%error, "a heartbeat failed; the leases hold for a while yet"),
            }
        }
    }
}
