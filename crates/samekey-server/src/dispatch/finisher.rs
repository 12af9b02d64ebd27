//! The finisher: what attempts came to is written down, many in one commit.

use std::time::Duration;

use metrics::counter;
use samekey_core::StoreError;
use samekey_core::message::{ChannelKind, Finished, Settled};
use samekey_core::store::Messages;
use tokio::sync::mpsc;

use super::attempt::Ended;
use super::held::Held;
use crate::store::Store;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Runs until every attempt is on record and no more can come.
pub(super) async fn run(
    store: Store,
    channel: ChannelKind,
    held: Held,
    mut endings: mpsc::UnboundedReceiver<Ended>,
) {
    let mut batch = Vec::new();
    while endings.recv_many(&mut batch, super::MAX_BATCH).await > 0 {
        let (finished, slots): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|ended| (ended.finished, ended.slot)).unzip();
        let settled = finish_together(&store, &finished).await;
        count(channel, &finished, &settled);
        held.remove(finished.iter().map(|one| (one.id, one.token)));
        drop(slots);
    }
}

/// One commit for all; where that is refused, one for each.
async fn finish_together(store: &Store, finished: &[Finished]) -> Vec<Settled> {
    match finish_until_answered(store, finished).await {
        Ok(settled) => settled,
        Err(error) if finished.len() > 1 => {
            tracing::warn!(%error, attempts = finished.len(), "refused together; writing them down one by one");
            let mut settled = Vec::new();
            for one in finished {
                settled.extend(
                    finish_until_answered(store, std::slice::from_ref(one)).await.unwrap_or_default(),
                );
            }
            settled
        }
        Err(error) => {
            tracing::error!(%error, "an attempt cannot be written down; it counts as lapsed when its lease is over");
            Vec::new()
        }
    }
}

/// A second finish changes nothing, so every passing error is simply repeated. The leases are renewed meanwhile.
async fn finish_until_answered(store: &Store, finished: &[Finished]) -> Result<Vec<Settled>, StoreError> {
    let mut pause = FIRST_PAUSE;
    loop {
        match store.finish(finished).await {
            Err(error) if error.is_passing() => {
                tracing::warn!(%error, attempts = finished.len(), "not yet written down");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            result => return result,
        }
    }
}

fn count(channel: ChannelKind, finished: &[Finished], settled: &[Settled]) {
    let lost = finished.len().saturating_sub(settled.len());
    if lost > 0 {
        tracing::warn!(lost, "attempts ended after their lease; their deliveries are in other hands");
        counter!("samekey_lease_losses_total", "channel" => channel.word()).increment(lost as u64);
    }
    for one in settled.iter().filter(|one| one.state.is_final()) {
        let state = match one.state {
            samekey_core::delivery::DeliveryState::Sent => "sent",
            samekey_core::delivery::DeliveryState::Failed => "failed",
            samekey_core::delivery::DeliveryState::Cancelled => "cancelled",
            samekey_core::delivery::DeliveryState::Expired => "expired",
            _ => "unknown",
        };
        counter!("samekey_deliveries_total", "channel" => channel.word(), "state" => state).increment(1);
    }
}
