//! Samekey's records kept in memory, for tests.
//!
//! A handler's test should not need a database, and some faults no database can be made to show on demand: the answer to
//! a commit that got lost, a lease that runs out between two statements. So this store keeps the same promises as those
//! in databases, proven by the same suite, on a [`Clock`] that the test turns, and with [`Fault`]s that the test calls
//! for. What it holds is gone with the process.
//!
//! ```
//! use samekey_core::store::Join as _;
//! use samekey_memory::Memory;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), samekey_core::StoreError> {
//! let memory = Memory::new();
//! let mut tx = memory.begin();
//! tx.put("orders", "one");
//! assert!(memory.rows("orders").is_empty());
//! tx.commit().await?;
//! assert_eq!(memory.rows("orders"), ["one"]);
//! # Ok(())
//! # }
//! ```
//!
//! It differs from a database in one respect: a transaction locks the keys that it claims, and no other rows. A record
//! that is completed in a transaction is looked at again at the commit, and the commit fails where it was lost meanwhile.

mod claim;
mod clock;
mod complete;
mod fault;
mod join;
mod lease;
mod look;
mod recipes;
mod row;
mod state;
mod steps;
mod sweep;
mod transaction;
mod wait;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use clock::Clock;
pub use fault::Fault;
pub use transaction::MemoryTransaction;

use fault::Call;
use samekey_core::StoreError;
use state::{Reach, State, Turn};
use tokio::sync::Notify;

/// A store in memory. Clones are one store.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    state: Mutex<State>,
    clock: Clock,
    /// A transaction has ended: whoever waits for a key looks again.
    ended: Notify,
}

impl Memory {
    /// An empty store on a clock that goes by itself.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Clock::running())
    }

    /// An empty store on a clock of the test's.
    #[must_use]
    pub fn with_clock(clock: Clock) -> Self {
        Self(Arc::new(Kept { state: Mutex::default(), clock, ended: Notify::new() }))
    }

    /// Calls for a fault. Several wait in a row; each strikes the next call that it fits, and strikes once.
    pub fn fail_next(&self, fault: Fault) {
        self.lock().fail_next(fault);
    }

    /// From now on every call finds no store, and nothing is applied.
    pub fn go_away(&self) {
        self.lock().reach = Reach::Away;
    }

    /// The store is there again, with what it held.
    pub fn come_back(&self) {
        self.lock().reach = Reach::There;
    }

    /// What committed transactions have put into a table, in the order of their commits.
    #[must_use]
    pub fn rows(&self, table: &str) -> Vec<String> {
        self.lock().tables.get(table).cloned().unwrap_or_default()
    }

    fn clock(&self) -> &Clock {
        &self.0.clock
    }

    fn ended(&self) -> &Notify {
        &self.0.ended
    }

    /// A test that panicked while it held the lock has failed already; others go on.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a verb in a turn of its own.
    fn run<T>(
        &self,
        call: Call,
        verb: impl FnOnce(&mut Turn<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.turn(&mut self.lock(), call, verb)
    }

    /// Runs a verb, unless a fault strikes; one may strike after it, too.
    fn turn<T>(
        &self,
        state: &mut State,
        call: Call,
        verb: impl FnOnce(&mut Turn<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let fault = state.fault(call);
        match fault {
            Some(fault) if !fault.applies() => Err(fault.error()),
            _ => {
                let done = verb(&mut Turn { state, now: self.clock().now() })?;
                fault.map_or(Ok(done), |fault| Err(fault.error()))
            }
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}
