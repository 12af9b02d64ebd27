//! A transaction of a user's.
//!
//! It gathers what it would do. Nobody else sees any of it before the commit, which does all of it in one turn, or none.

use std::collections::BTreeMap;

use samekey_core::store::Held;
use samekey_core::{Answer, FencingToken, StoreError};

use crate::Memory;
use crate::fault::{Call, Fault};
use crate::row::{Name, Row};
use crate::state::Turn;

/// A transaction on a [`Memory`]; a record joins it. Dropped without a commit, it rolls back.
#[derive(Debug)]
pub struct MemoryTransaction {
    pub(crate) store: Memory,
    pub(crate) id: u64,
    /// How many savepoints it lies in; none: it is the transaction itself.
    depth: usize,
}

/// What the store knows of a transaction under way.
#[derive(Debug)]
pub(crate) struct Open {
    /// What the transaction has done, and above it what each savepoint has, with all that lies below.
    layers: Vec<Work>,
    /// How long it may idle, and until when: only once a record has joined it.
    idle: Option<(i64, i64)>,
}

/// What a commit would do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    claims: BTreeMap<Name, Row>,
    completions: Vec<(Held, Answer)>,
    effects: Vec<(String, String)>,
}

impl Open {
    pub(crate) fn holds(&self, name: &Name) -> bool {
        self.layers.iter().any(|work| work.claims.contains_key(name))
    }

    pub(crate) fn idles_until(&self) -> Option<i64> {
        self.idle.map(|(_, until)| until)
    }

    pub(crate) fn idled_out(&self, now: i64) -> bool {
        self.idles_until().is_some_and(|until| until <= now)
    }
}

impl Work {
    pub(crate) fn claim(&mut self, name: Name, row: Row) {
        self.claims.insert(name, row);
    }

    /// Whether it was claimed here.
    pub(crate) fn has_claimed(&self, name: &Name) -> bool {
        self.claims.contains_key(name)
    }

    /// Its own claim, if it has this token and no answer yet.
    pub(crate) fn own_claim(&mut self, name: &Name, token: FencingToken) -> Option<&mut Row> {
        self.claims.get_mut(name).filter(|row| row.can_be_completed_by(token))
    }

    /// Completes a record that was claimed before, when it commits.
    pub(crate) fn complete(&mut self, held: Held, answer: Answer) {
        self.completions.push((held, answer));
    }
}

impl Memory {
    /// Begins a transaction, as a user's pool would.
    #[must_use]
    pub fn begin(&self) -> MemoryTransaction {
        let mut state = self.lock();
        state.begun += 1;
        let id = state.begun;
        state.open.insert(id, Open { layers: vec![Work::default()], idle: None });
        MemoryTransaction { store: self.clone(), id, depth: 0 }
    }
}

impl MemoryTransaction {
    /// Puts a value into a table: an effect of the user's own. It shows in [`Memory::rows`] once this commits.
    ///
    /// In a transaction that has ended already it does nothing; the commit says so.
    pub fn put(&mut self, table: &str, value: &str) {
        let mut turn = self.store.lock();
        let now = self.store.clock().now();
        let mut turn = Turn { state: &mut turn, now };
        if let Ok(work) = turn.work(self.id, self.depth) {
            work.effects.push((table.to_owned(), value.to_owned()));
        }
    }

    /// A savepoint in it, of the same type, as drivers have them. It is of use until the transaction itself is used again.
    #[must_use]
    pub fn savepoint(&mut self) -> Self {
        let depth = self.depth + 1;
        if let Some(open) = self.store.lock().open.get_mut(&self.id) {
            open.layers.truncate(depth);
            open.layers.extend(open.layers.last().cloned());
        }
        Self { store: self.store.clone(), id: self.id, depth }
    }

    pub(crate) fn is_savepoint(&self) -> bool {
        self.depth > 0
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Forgets what was done since it began. Of a transaction nothing is left then, and whoever waits for it goes on.
    pub(crate) fn undo(&self) {
        let mut state = self.store.lock();
        if self.depth == 0 {
            state.open.remove(&self.id);
        } else if let Some(open) = state.open.get_mut(&self.id) {
            open.layers.truncate(self.depth);
        }
        drop(state);
        self.store.ended().notify_waiters();
    }

    /// Ends the whole transaction, from a savepoint too.
    pub(crate) fn abort(&self) {
        self.store.lock().open.remove(&self.id);
        self.store.ended().notify_waiters();
    }

    pub(crate) fn commit_now(&self) -> Result<(), StoreError> {
        let committed = if self.is_savepoint() {
            self.store.run(Call::Other, |turn| turn.keep_savepoint(self.id, self.depth))
        } else {
            self.store.run(Call::Commit, |turn| turn.commit(self.id))
        };
        // Whatever came of it, a transaction is over.
        self.undo();
        committed
    }
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        self.undo();
    }
}

impl Turn<'_> {
    /// What the transaction has done so far; a sign of life from it, too.
    pub(crate) fn work(&mut self, id: u64, depth: usize) -> Result<&mut Work, StoreError> {
        let now = self.now;
        self.state.open.retain(|_, open| !open.idled_out(now));
        let open = self.state.open.get_mut(&id).ok_or_else(over)?;
        if let Some((limit, until)) = &mut open.idle {
            *until = now + *limit;
        }
        open.layers.truncate(depth + 1);
        open.layers.get_mut(depth).ok_or_else(over)
    }

    /// From now on it ends by itself when it idles for `limit` milliseconds: it holds a key.
    pub(crate) fn limit_idling(&mut self, id: u64, limit: i64) {
        if let Some(open) = self.state.open.get_mut(&id) {
            open.idle = Some((limit, self.now + limit));
        }
    }

    /// All of it, or none.
    fn commit(&mut self, id: u64) -> Result<(), StoreError> {
        let work = std::mem::take(self.work(id, 0)?);
        let rows = &self.state.rows;
        let still_mine = |held: &Held| {
            let row = rows.get(&crate::row::name(held));
            row.is_some_and(|row| row.can_be_completed_by(held.token))
        };
        if !work.completions.iter().all(|(held, _)| still_mine(held)) {
            return Err(StoreError::ClaimLost);
        }
        for (held, answer) in &work.completions {
            self.complete(held, answer)?;
        }
        self.state.rows.extend(work.claims);
        for (table, value) in work.effects {
            self.state.tables.entry(table).or_default().push(value);
        }
        Ok(())
    }

    /// What was done since the savepoint becomes part of what lies below it.
    fn keep_savepoint(&mut self, id: u64, depth: usize) -> Result<(), StoreError> {
        self.work(id, depth)?;
        let open = self.state.open.get_mut(&id).ok_or_else(over)?;
        open.layers.swap_remove(depth - 1);
        Ok(())
    }
}

/// The store ended the transaction: it idled for too long, or a savepoint was to be completed.
fn over() -> StoreError {
    Fault::Away.error()
}
