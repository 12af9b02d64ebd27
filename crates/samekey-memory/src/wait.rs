//! Waiting for somebody else's transaction.
//!
//! A claim inside a transaction cannot be seen by others, but it can be felt: a unique index makes the second claimer wait
//! until the first has committed or rolled back. Here that is a look at all open transactions, and a signal when one ends.

use std::pin::pin;
use std::time::Duration;

use samekey_core::StoreError;
use tokio::time::Instant;

use crate::Memory;
use crate::clock::millis;
use crate::fault::Call;
use crate::row::Name;
use crate::state::{State, Turn};

impl Memory {
    /// Runs a verb once no open transaction but `mine` holds any of `names`.
    ///
    /// # Errors
    /// [`StoreError::Busy`] after `patience`, and the verb's own.
    pub(crate) async fn once_free<T>(
        &self,
        names: &[Name],
        mine: Option<u64>,
        patience: Duration,
        call: Call,
        verb: impl FnOnce(&mut Turn<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + patience;
        loop {
            // Listening begins before the look, so that no end of a transaction falls between the two.
            let mut ended = pin!(self.ended().notified());
            let mut advanced = pin!(self.clock().advanced().notified());
            ended.as_mut().enable();
            advanced.as_mut().enable();
            let held_for = {
                let mut state = self.lock();
                match state.held_for(names, mine, self.clock().now()) {
                    None => return self.turn(&mut state, call, verb),
                    Some(held_for) => held_for,
                }
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StoreError::Busy { source: "another transaction holds the key".into() });
            }
            tokio::select! {
                () = ended => {}
                () = advanced => {}
                () = tokio::time::sleep(left.min(held_for)) => {}
            }
        }
    }
}

impl State {
    /// How long another transaction may at most go on holding one of `names`; `None`: none does.
    fn held_for(&mut self, names: &[Name], mine: Option<u64>, now: i64) -> Option<Duration> {
        self.open.retain(|_, open| !open.idled_out(now));
        let others = self.open.iter().filter(|(id, _)| Some(**id) != mine);
        let holders = others.filter(|(_, open)| names.iter().any(|name| open.holds(name)));
        holders.map(|(_, open)| millis(open.idles_until().unwrap_or(i64::MAX) - now)).max()
    }
}
