//! The keys of one process: what every layer over the same store shares.
//!
//! A request's own code is short: claim, work, end. What many requests share is here: claims of many requests travel in
//! one statement ([`claims`]), live claims are renewed by one heartbeat ([`heart`]), duplicates of one key meet in memory
//! before they meet in the database ([`flights`]), and answers that will never change may be kept ([`cache`]).

mod admission;
mod cache;
mod claims;
mod counts;
mod ending;
mod flights;
mod heart;
mod perform;
mod resolve;

use std::sync::Arc;
use std::time::Duration;

use samekey_core::derived::DerivedKey;
use samekey_core::store::{Records, SweepCursor};
use samekey_core::{Fingerprint, Key, Recipe, Scope, StoreError};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub(crate) use admission::Refusal;
pub(crate) use counts::Outcome;
pub(crate) use ending::{Outcome as WorkOutcome, Steps};
pub(crate) use perform::{Claiming, Failure, Intent, Performed};

pub use counts::Counts;

use cache::Cache;
use claims::Claims;
use counts::Counters;
use flights::Flights;
use heart::Heart;

/// Attempts that may run at once, unless set.
const MAX_RUNNING: usize = 4_096;
/// Records removed in one statement, and the pause between two.
const SWEEP_BATCH: usize = 500;
const SWEEP_PAUSE: Duration = Duration::from_millis(20);
/// How often old records are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Idempotency keys over a store. Clones share everything; make one for each process and store.
///
/// A layer takes it, or the store itself: `IdempotencyLayer::scoped_by(store, …)`. Make it yourself to share it between
/// layers, to cache answers, to use keys without HTTP ([`Keys::run`]), to count, to sweep and to shut down.
pub struct Keys<S> {
    engine: Arc<Engine<S>>,
}

pub(crate) struct Engine<S> {
    pub(crate) store: S,
    claims: Claims,
    pub(crate) flights: Flights,
    pub(crate) heart: Heart,
    cache: Cache,
    pub(crate) tasks: TaskTracker,
    pub(crate) places: Semaphore,
    counters: Counters,
}

impl<S: Records> Keys<S> {
    /// Keys over this store.
    #[must_use]
    pub fn new(store: S) -> Self {
        Self::build(store, 0, MAX_RUNNING)
    }

    /// Keeps completed records in memory, up to this many bytes (none unless set). What a record says once it is completed
    /// never changes; the fingerprint is compared all the same. An answer is kept for a minute at most.
    ///
    /// Not for a database whose failover may forget what it acknowledged (asynchronous replicas). Clones that were made before
    /// go on without it.
    #[must_use]
    pub fn with_cache_bytes(self, bytes: usize) -> Self {
        let places = self.engine.places.available_permits();
        let store = self.engine.store.clone();
        Self::build(store, bytes, places)
    }

    /// At most so many attempts at once (4,096 unless set); further ones are answered 503, with nothing done.
    #[must_use]
    pub fn with_max_running(self, attempts: usize) -> Self {
        let (store, cache) = (self.engine.store.clone(), self.engine.cache.bytes());
        Self::build(store, cache, attempts)
    }

    fn build(store: S, cache_bytes: usize, places: usize) -> Self {
        let engine = Engine {
            store,
            claims: Claims::default(),
            flights: Flights::default(),
            heart: Heart::default(),
            cache: Cache::of(cache_bytes),
            tasks: TaskTracker::new(),
            places: Semaphore::new(places),
            counters: Counters::default(),
        };
        Self { engine: Arc::new(engine) }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.engine.store
    }

    pub(crate) fn engine(&self) -> &Arc<Engine<S>> {
        &self.engine
    }

    /// How many attempts ended how, since the process began.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.engine.counters.read()
    }

    /// Attempts that run right now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.engine.tasks.len()
    }

    /// Takes no new attempts (they are answered 503) and waits for those that run, until `deadline` has passed. Says how
    /// many still run then: their leases run out, and a retry takes them over.
    ///
    /// A server's own graceful shutdown waits for connections, not for attempts whose client has hung up. Call this after it.
    pub async fn shutdown(&self, deadline: Duration) -> usize {
        self.engine.places.close();
        self.engine.tasks.close();
        let _ = tokio::time::timeout(deadline, self.engine.tasks.wait()).await;
        self.engine.tasks.len()
    }

    /// Removes old records, paced, for as long as it is polled: `tokio::spawn(keys.clone().upkeep())`. One process of
    /// several is enough; several do no harm.
    pub async fn upkeep(self) {
        loop {
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "old records were not removed; trying again in a minute");
            }
            tokio::time::sleep(SWEEP_EVERY).await;
        }
    }

    /// Removes everything that is past its tombstone, in bounded batches with pauses between; says how many records.
    ///
    /// # Errors
    /// The store's. What was removed before stays removed.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        let mut cursor = SweepCursor::default();
        let mut removed = 0;
        loop {
            let swept = self.engine.store.sweep(cursor, SWEEP_BATCH).await?;
            removed += swept.removed;
            if swept.removed < SWEEP_BATCH {
                return Ok(removed);
            }
            cursor = swept.cursor;
            tokio::time::sleep(SWEEP_PAUSE).await;
        }
    }
}

impl<S> Clone for Keys<S> {
    fn clone(&self) -> Self {
        Self { engine: self.engine.clone() }
    }
}

impl<S: Records> From<S> for Keys<S> {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

impl<S> std::fmt::Debug for Keys<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("running", &self.engine.tasks.len()).finish_non_exhaustive()
    }
}

/// What one request is about: whose key, and how to tell whether another request is the same.
pub(crate) trait Identify: Send + Sync {
    /// By any recipe, since the record's may be another than the route's.
    fn fingerprint(&self, recipe: &Recipe) -> Fingerprint;
}

/// (scope, key), the name of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) scope: Scope,
    pub(crate) key: Key,
}

impl Name {
    /// For logs: which name it is, without saying the key.
    pub(crate) fn shown(&self) -> String {
        // As a step's derived key, since neither can be led back to its name; no step has an empty name.
        DerivedKey::new(&self.scope, &self.key, 0, "")[3..15].to_owned()
    }
}

/// A moment to stop at.
pub(crate) fn within(wait: Duration) -> Instant {
    Instant::now() + wait
}
