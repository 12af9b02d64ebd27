//! What ends a claim: the contract's table.

use axum_core::body::Body;
use http::{Response, StatusCode};
use samekey_core::record::AbandonedWork;

/// What the work did.
pub(crate) enum Outcome {
    /// It answered.
    Answered(Response<Body>),
    /// It panicked, or failed without an answer.
    Failed(&'static str),
    /// It took longer than it may.
    TimedOut,
    /// Its lease could no longer be believed to be held.
    LostLease,
}

/// What kind of answer that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Success,
    Refusal,
    Failure,
}

/// How far its steps have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Nothing was ever begun.
    None,
    /// What was begun has ended.
    Ended,
    /// Something was begun of which this attempt has heard no end.
    Open,
}

/// What becomes of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Completed with this answer, in a transaction of its own.
    Complete,
    /// Removed: nothing happened, the key is free.
    Release,
    /// In progress without a lease: the next attempt resumes after the finished steps.
    EndLease,
    /// Nobody can tell what happened.
    Unknown,
}

impl Kind {
    pub(crate) fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            400..=499 => Self::Refusal,
            500.. => Self::Failure,
            _ => Self::Success,
        }
    }
}

/// The table. A refused request does not consume its key; a refusal after a step is an answer that the customer was told.
pub(crate) fn ending(kind: Kind, steps: Steps, policy: AbandonedWork) -> Ending {
    match (kind, steps, policy) {
        (Kind::Success, _, _) | (Kind::Refusal, Steps::Ended, _) => Ending::Complete,
        (Kind::Refusal, Steps::None, _) | (Kind::Failure, Steps::None, AbandonedWork::AtLeastOnce) => {
            Ending::Release
        }
        (Kind::Failure, Steps::None, AbandonedWork::AtMostOnce) => Ending::Unknown,
        (Kind::Refusal, Steps::Open, _) | (Kind::Failure, Steps::Ended | Steps::Open, _) => Ending::EndLease,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_contract() {
        let (least, most) = (AbandonedWork::AtLeastOnce, AbandonedWork::AtMostOnce);
        for (status, steps, policy, expected) in [
            (200, Steps::None, least, Ending::Complete),
            (303, Steps::Open, most, Ending::Complete),
            (402, Steps::Ended, least, Ending::Complete),
            (422, Steps::None, most, Ending::Release),
            (409, Steps::Open, least, Ending::EndLease),
            (500, Steps::None, least, Ending::Release),
            (500, Steps::None, most, Ending::Unknown),
            (503, Steps::Ended, most, Ending::EndLease),
            (500, Steps::Open, least, Ending::EndLease),
        ] {
            let kind = Kind::of(StatusCode::from_u16(status).unwrap());
            assert_eq!(ending(kind, steps, policy), expected, "{status} {steps:?} {policy:?}");
        }
    }
}
