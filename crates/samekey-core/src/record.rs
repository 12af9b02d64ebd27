//! The record, and what it says to the next attempt: the decision table.
//!
//! There is one row for (scope, key), and it is the only truth about an intent. Whatever process meets it, whatever
//! happened to the one that wrote it, the answer follows from the row and the route's policy alone. So the table is one
//! pure function, [`Record::decide`], and its result is a closed enum that the caller matches.

use std::time::Duration;

use uuid::Uuid;

use crate::lease::retry_after_s;
use crate::store::RecipeId;
use crate::{Answer, FencingToken, Fingerprint, UnixMs};

/// The state of a record, as the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordState {
    /// Somebody claimed it and has not ended it.
    InProgress = 1,
    /// It has an answer; that never changes any more.
    Completed = 2,
    /// An effect outside the database may or may not have happened; it ends when somebody settles it.
    Unknown = 3,
}

impl RecordState {
    /// The state with this code in the store.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        [Self::InProgress, Self::Completed, Self::Unknown].into_iter().find(|state| state.code() == code)
    }

    /// Its code in the store.
    #[must_use]
    pub fn code(self) -> i16 {
        self as i16
    }
}

/// The row for (scope, key) as it was found. Every statement about time in it is the database's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Of the latest claim, fence or resolution.
    pub token: FencingToken,
    /// As its claimer minted it: whether a claim whose answer was lost was one's own. Nil since an operator freed the key,
    /// until somebody claims it.
    pub claim: Uuid,
    /// Its state.
    pub state: RecordState,
    /// How many times an operator freed the key.
    pub generation: u32,
    /// How many steps its claims have begun.
    pub steps_begun: u32,
    /// Whether a step was begun at a side that takes no key, and not ended.
    pub step_in_doubt: StepInDoubt,
    /// Of the first request.
    pub fingerprint: Fingerprint,
    /// How that fingerprint was made.
    pub recipe: RecipeId,
    /// What is left of the lease while in progress; zero when it is over.
    pub lease_left: Duration,
    /// The status of its answer, once completed; it stays readable as a tombstone.
    pub status: Option<u16>,
    /// Its answer, once completed and within its retention.
    pub answer: Option<Answer>,
    /// Where it is on its way out.
    pub age: Age,
}

/// Where a completed record is on its way out, by arithmetic and without an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// Within its retention, or not completed.
    Current,
    /// Past its retention: enough to refuse the key, not to replay it.
    Tombstone,
    /// Past that too, and not yet swept: as if it were not there.
    Purgeable,
}

impl Age {
    /// The age at `now`. Only a completed record has one: an unknown outcome does not go by age.
    #[must_use]
    pub fn of(state: RecordState, expires_at: UnixMs, purge_at: UnixMs, now: UnixMs) -> Self {
        match state {
            RecordState::Completed if purge_at <= now => Self::Purgeable,
            RecordState::Completed if expires_at <= now => Self::Tombstone,
            _ => Self::Current,
        }
    }
}

/// Whether the outcome of a step hangs in the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepInDoubt {
    /// Every begun step was ended or can be repeated under its derived key.
    No,
    /// A step was begun at a side that takes no key, and not ended.
    Yes,
}

/// Whether this request is the one that the record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// Its fingerprint by the record's recipe is the record's.
    Same,
    /// It is not.
    Differs,
}

/// A route's answer to work that was abandoned before its first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AbandonedWork {
    /// Run it again: everything it does is in the database, or harmless twice.
    #[default]
    AtLeastOnce,
    /// Nobody can tell what it did: unknown.
    AtMostOnce,
}

/// What a keyed request hears, or does, when it meets a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// 409 `request-in-progress`, or wait for its end where the caller prefers that.
    InProgress {
        /// Whole seconds.
        retry_after_s: u32,
    },
    /// 422 `idempotency-key-reused`.
    Reused,
    /// Claim it again, naming the token that was seen.
    TakeOver {
        /// The abandoned claim.
        seen: FencingToken,
    },
    /// Mark it unknown, naming the token that was seen; then 409 `outcome-unknown`.
    BecomesUnknown {
        /// The abandoned claim.
        seen: FencingToken,
    },
    /// 409 `outcome-unknown`.
    Unknown,
    /// The first answer again, marked as a replay. An answer kept without its body is 409 `response-not-replayable`.
    Replay(Answer),
    /// 409 `idempotency-key-expired`.
    Expired {
        /// The status of the answer that is no longer kept.
        original_status: u16,
    },
    /// Remove it (naming the token) and claim afresh.
    Gone {
        /// The record that outlived its tombstone.
        seen: FencingToken,
    },
}

impl Record {
    /// The decision table of the contract.
    ///
    /// `sameness` is judged by the record's own recipe, also after a deploy that changed the route's.
    #[must_use]
    pub fn decide(self, sameness: Sameness, abandoned: AbandonedWork) -> Decision {
        match (self.age, self.state) {
            (Age::Purgeable, _) => Decision::Gone { seen: self.token },
            (Age::Tombstone, _) => Decision::Expired { original_status: self.status.unwrap_or_default() },
            (Age::Current, RecordState::InProgress) if self.is_free() => {
                Decision::TakeOver { seen: self.token }
            }
            (Age::Current, _) if sameness == Sameness::Differs => Decision::Reused,
            (Age::Current, RecordState::Unknown) => Decision::Unknown,
            (Age::Current, RecordState::InProgress) if self.lease_left.is_zero() => self.abandoned(abandoned),
            (Age::Current, RecordState::InProgress) => {
                Decision::InProgress { retry_after_s: retry_after_s(self.lease_left) }
            }
            (Age::Current, RecordState::Completed) => {
                let status = self.status.unwrap_or_default();
                Decision::Replay(self.answer.unwrap_or(Answer { status, headers: Vec::new(), body: None }))
            }
        }
    }

    /// A key that an operator freed, and that nobody has claimed since, takes any request.
    fn is_free(&self) -> bool {
        self.claim.is_nil() && self.lease_left.is_zero()
    }

    fn abandoned(&self, policy: AbandonedWork) -> Decision {
        let seen = self.token;
        match (self.step_in_doubt, self.steps_begun, policy) {
            (StepInDoubt::Yes, _, _) | (StepInDoubt::No, 0, AbandonedWork::AtMostOnce) => {
                Decision::BecomesUnknown { seen }
            }
            (StepInDoubt::No, _, _) => Decision::TakeOver { seen },
        }
    }
}
