//! What a handler's use of its attempt can meet.

use axum_core::body::Body;
use axum_core::response::IntoResponse;
use http::Response;
use samekey_core::{Effect, StoreError};

use crate::problem::Problem;

/// Why an attempt cannot go on. A handler hands it on with `?`: whatever it answers then, the layer answers by what the
/// record says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another attempt took over, or this one had ended. Nothing of it was committed.
    #[error("the lease is lost: another attempt took over")]
    LeaseLost,
    /// The record was there already: another attempt of the same intent has it, or has completed it.
    #[error("another attempt of this intent has the key")]
    Duplicate,
    /// This attempt has an answer already.
    #[error("the attempt is completed already")]
    AlreadyCompleted,
    /// Nobody can tell what an earlier attempt did; the record says so until somebody settles it.
    #[error("what an earlier attempt did is not known")]
    OutcomeUnknown,
    /// A step after `join`: it would be a network call inside a transaction. Call first, then begin the transaction.
    #[error("a step after `join` would hold the transaction open during a call; do the step first")]
    StepAfterJoin,
    /// `finish` after `join`: the record is claimed in your transaction, so only `complete` can complete it.
    #[error("the record was claimed inside a transaction; end with `complete`")]
    FinishAfterJoin,
    /// An answer inside `write` that is a stream: it would be waited for while nobody else can write.
    #[error("an answer inside `write` must not be a stream")]
    Streamed,
    /// The store failed. Nothing was committed, unless `outcome` says otherwise.
    #[error(transparent)]
    Store(StoreError),
    /// The answer to a commit was lost. The layer finds out what became of it; do not repeat the work.
    #[error("whether the transaction was committed is not known yet: {0}")]
    CommitUnknown(StoreError),
    /// A step's input or result is no JSON, or not what this release of the handler reads.
    #[error("a step's input or result cannot be kept or read: {0}")]
    Value(serde_json::Error),
}

impl Error {
    /// Whether anything of the attempt's transaction was committed.
    #[must_use]
    pub fn outcome(&self) -> Effect {
        match self {
            Self::Store(error) => error.effect(),
            Self::CommitUnknown(_) => Effect::Unknown,
            Self::AlreadyCompleted => Effect::Applied,
            _ => Effect::NotApplied,
        }
    }

    /// A plain commit failed.
    pub(crate) fn of_commit(error: StoreError) -> Self {
        if error.effect() == Effect::Unknown { Self::CommitUnknown(error) } else { Self::Store(error) }
    }
}

impl IntoResponse for Error {
    /// Only seen where no layer is around: 503.
    fn into_response(self) -> Response<Body> {
        Problem::unavailable("the attempt could not be finished. Retry with the same key").into_response()
    }
}
