//! Upkeep: what is past its time is removed, slowly, in small batches, beside everything else. What nobody came back for, and
//! may have happened, is marked unknown instead: it waits for a person.

use std::time::Duration;

use metrics::counter;
use samekey_core::StoreError;
use samekey_core::store::{Messages, Operators, SweepCursor};

use crate::store::Store;

const EVERY: Duration = Duration::from_secs(60);
/// Rows in one batch, and the pause after it: a million rows take half a minute, and no claim waits for them.
const BATCH: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(20);

/// What is swept.
#[derive(Clone, Copy)]
enum Kept {
    MessageKeys,
    Records,
}

/// Sweeps for ever. Several processes may; they skip each other's rows.
pub async fn run(store: Store) {
    loop {
        tokio::time::sleep(EVERY).await;
        for kept in [Kept::MessageKeys, Kept::Records] {
            match sweep(&store, kept).await {
                Ok(removed) => counter!("samekey_swept_keys_total").increment(removed),
                Err(error) => tracing::warn!(%error, "the sweep was broken off; it goes on in a minute"),
            }
        }
        match mark_abandoned(&store).await {
            Ok(0) => {}
            Ok(marked) => {
                counter!("samekey_abandoned_records_total").increment(marked);
                tracing::warn!(
                    marked,
                    "abandoned records are unknown now: see `samekey keys list --state unknown`"
                );
            }
            Err(error) => {
                tracing::warn!(%error, "abandoned records were not all marked; it goes on in a minute");
            }
        }
    }
}

async fn mark_abandoned(store: &Store) -> Result<u64, StoreError> {
    let mut marked = 0;
    loop {
        let batch = store.mark_abandoned(BATCH).await?;
        marked += batch as u64;
        if batch < BATCH {
            return Ok(marked);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn sweep(store: &Store, kept: Kept) -> Result<u64, StoreError> {
    let (mut cursor, mut removed) = (SweepCursor::default(), 0);
    loop {
        let swept = match kept {
            Kept::MessageKeys => store.sweep_keys(cursor, BATCH).await?,
            Kept::Records => store.sweep_records(cursor, BATCH).await?,
        };
        removed += swept.removed as u64;
        if swept.removed < BATCH {
            return Ok(removed);
        }
        cursor = swept.cursor;
        tokio::time::sleep(PAUSE).await;
    }
}
