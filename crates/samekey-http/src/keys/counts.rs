//! How attempts ended, counted.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($(#[$doc:meta])* $variant:ident $field:ident,)*) => {
        /// What became of a keyed request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Outcome { $($variant,)* }

        #[derive(Debug, Default)]
        pub(crate) struct Counters { $($field: AtomicU64,)* }

        /// How many keyed requests met with what, since the process began.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counts { $($(#[$doc])* pub $field: u64,)* }

        impl Counters {
            pub(crate) fn count(&self, outcome: Outcome) {
                let counter = match outcome { $(Outcome::$variant => &self.$field,)* };
                counter.fetch_add(1, Ordering::Relaxed);
            }

            pub(crate) fn read(&self) -> Counts {
                Counts { $($field: self.$field.load(Ordering::Relaxed),)* }
            }
        }

        impl Counts {
            /// Name and number of each, for a metrics exporter.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }
        }
    };
}

counts! {
    /// Claimed a new key.
    Fresh fresh,
    /// Claimed a key whose earlier attempt had died.
    TakenOver taken_over,
    /// Answered from the record.
    Replayed replayed,
    /// Met an attempt that was still running: 409 `request-in-progress`.
    InProgress in_progress,
    /// Came with another request: 422 `idempotency-key-reused`.
    Reused reused,
    /// Came after the retention: 409 `idempotency-key-expired`.
    Expired expired,
    /// Met, or left, an outcome that nobody knows: 409 `outcome-unknown`.
    Unknown unknown,
    /// Met an answer that was kept without its body: 409 `response-not-replayable`.
    NotReplayable not_replayable,
    /// Found the store away or the process full: 503.
    Unavailable unavailable,
    /// Ended with an answer that was committed with the effect, or for a `finish`.
    Completed completed,
    /// Ended with an answer that was kept in a transaction of its own, after the handler.
    CompletedApart completed_apart,
    /// Ended without an effect; the key is free again.
    Released released,
    /// Ended in the middle, after a step: the next attempt resumes.
    Interrupted interrupted,
    /// Lost its lease to another attempt.
    LostLease lost_lease,
}

impl<S> super::Engine<S> {
    pub(crate) fn count(&self, outcome: Outcome) {
        self.counters.count(outcome);
    }
}
