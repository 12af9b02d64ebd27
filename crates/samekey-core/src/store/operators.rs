//! Look and resolve: what a person does about a record whose outcome nobody can tell.
//!
//! An unknown record ends when somebody settles it, and never by age. Who settles it has asked the other side: it happened,
//! and then the record gets the answer that the first request should have got; or it did not, and then the key is free again.
//! That is a claim like any other: it names the token that was seen and takes a new one, so of two people who settle the same
//! record one wins, and an owner that comes back late finds its token gone. Who did it and why is kept beside the record.

use std::future::Future;
use std::time::Duration;

use super::{Held, StepKind};
use crate::record::{Age, RecordState};
use crate::{Answer, FencingToken, Key, Scope, StoreError, UnixMs};

/// The most records in one page.
pub const MAX_PAGE: usize = 1_000;

/// How many rows a listing looks at in one statement: there is no index by state, since it would make every completion
/// write more, and a search for what is rare must not hold the database up.
pub const MAX_LOOK: usize = 10_000;

/// Which records to list.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Only this tenant's.
    pub scope: Option<Scope>,
    /// Only in this state.
    pub state: Option<RecordState>,
    /// Only those after this place; what the page before gave as its `next`.
    pub after: Option<Place>,
    /// At most so many, and [`MAX_PAGE`] at the very most.
    pub limit: usize,
}

/// A place in the order of (scope, key).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose key.
    pub scope: Scope,
    /// The key.
    pub key: Key,
}

/// Some records in the order of (scope, key).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Those that were asked for. There may be none though there is a `next`: then [`MAX_LOOK`] rows held no match.
    pub records: Vec<Listed>,
    /// Where to go on; `None` at the end.
    pub next: Option<Place>,
}

/// A record without its answer and its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Whose key.
    pub scope: Scope,
    /// The key.
    pub key: Key,
    /// To be named when it is resolved.
    pub token: FencingToken,
    /// Its state.
    pub state: RecordState,
    /// How many times an operator freed the key.
    pub generation: u32,
    /// How many steps its claims have begun.
    pub steps_begun: u32,
    /// What is left of the lease while in progress; zero when it is over.
    pub lease_left: Duration,
    /// The status of its answer, once completed.
    pub status: Option<u16>,
    /// When its answer is no longer replayed.
    pub expires_at: UnixMs,
    /// When the key is forgotten.
    pub purge_at: UnixMs,
    /// Where it is on its way out.
    pub age: Age,
}

/// A record with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The record.
    pub record: Listed,
    /// Its steps, by name.
    pub steps: Vec<ShownStep>,
    /// How it was settled, oldest first.
    pub resolutions: Vec<Resolved>,
}

/// A step as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownStep {
    /// Its name.
    pub name: String,
    /// What kind of side it calls.
    pub kind: StepKind,
    /// How far it came.
    pub state: StepState,
    /// How long what the other side said is, in bytes, where it was kept.
    pub result_bytes: Option<usize>,
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It may have been called.
    Begun = 1,
    /// The other side's reply is kept.
    Ended = 2,
}

impl StepState {
    /// The state with this code in the store.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        [Self::Begun, Self::Ended].into_iter().find(|state| *state as i16 == code)
    }
}

/// Who settles a record, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// A person, or a tool and who ran it; not empty.
    pub who: String,
    /// What they know that the record did not; not empty.
    pub why: String,
}

/// What a record was settled as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It happened, and the record has its answer.
    Succeeded = 1,
    /// It did not happen, and the key is free.
    Failed = 2,
}

impl Outcome {
    /// The outcome with this code in the store.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        [Self::Succeeded, Self::Failed].into_iter().find(|outcome| outcome.code() == code)
    }

    /// Its code in the store.
    #[must_use]
    pub fn code(self) -> i16 {
        self as i16
    }
}

/// A resolution as it is kept; it leaves with its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The token that it took.
    pub token: FencingToken,
    /// When.
    pub at: UnixMs,
    /// As what.
    pub outcome: Outcome,
    /// By whom, and why.
    pub by: Resolution,
}

/// The verbs of people who run the store. Each that writes is one transaction.
pub trait Operators: Send + Sync {
    /// One page of records. Records that outlived their tombstone are not there.
    fn list(&self, filter: &ListFilter) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// One record with its steps and resolutions; `None` where [`super::Records::load`] finds none.
    fn show(
        &self,
        scope: &Scope,
        key: &Key,
    ) -> impl Future<Output = Result<Option<Shown>, StoreError>> + Send;

    /// Settles an unknown record as done: it is completed with this answer, under a new token, and its retention starts
    /// anew. Says whether it did: not where the record is no longer unknown under the token that was seen.
    ///
    /// # Guarantees
    /// State, answer and resolution commit together or not at all. After an unknown effect look at the record: if it did,
    /// the resolution is there.
    fn resolve_succeeded(
        &self,
        seen: &Held,
        answer: &Answer,
        by: &Resolution,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Settles a record as not done: its key is free for any request, its steps are forgotten, and the next attempt has
    /// other derived keys. Takes an unknown record, or one in progress whose lease is over; never a completed one. Its
    /// retention starts anew. Says whether it did.
    ///
    /// # Guarantees
    /// As [`Operators::resolve_succeeded`]. The old owner's token is dead: a late completion is
    /// [`StoreError::ClaimLost`].
    fn resolve_failed(
        &self,
        seen: &Held,
        by: &Resolution,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Marks one bounded batch of abandoned records unknown: those past their time that nobody came back for, and whose
    /// claims have begun steps. (Those that have not are removed by [`super::Records::sweep`].) Says how many. Tokens stay,
    /// as in [`super::Records::mark_unknown`].
    fn mark_abandoned(&self, limit: usize) -> impl Future<Output = Result<usize, StoreError>> + Send;
}
