//! What the driver said, in the words of the store: above all, whether anything was written.

use std::error::Error as StdError;

use deadpool_postgres::PoolError;
use samekey_core::{Effect, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Raised by `samekey.complete` where it finds no row.
const CLAIM_LOST: &str = "SK001";

/// No connection was to be had: nothing was sent.
pub(crate) fn from_pool(error: PoolError) -> StoreError {
    StoreError::Away { effect: Effect::NotApplied, source: Box::new(error) }
}

/// An error of a statement that was not committed: whatever it was, nothing stays.
pub(crate) fn before_commit(error: Error) -> StoreError {
    match error.code() {
        Some(code) if code.code() == CLAIM_LOST => StoreError::ClaimLost,
        Some(
            &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::T_R_SERIALIZATION_FAILURE,
        ) => StoreError::Busy { source: Box::new(error) },
        Some(code) if !passes(code) => refused(error),
        _ => StoreError::Away { effect: Effect::NotApplied, source: Box::new(error) },
    }
}

/// An error while the commit was under way. The database may have done it.
pub(crate) fn at_commit(error: Error) -> StoreError {
    StoreError::Away { effect: Effect::Unknown, source: Box::new(error) }
}

/// An error of a COMMIT that was sent alone, after the statement before it had been answered. The server's no (a deferred
/// constraint, a serialization failure) is definite. A connection that it ends meanwhile may have committed first.
pub(crate) fn of_commit(error: Error) -> StoreError {
    match error.code() {
        Some(code) if !passes(code) => before_commit(error),
        _ => at_commit(error),
    }
}

/// A fault that a pause does not cure.
pub(crate) fn refused(error: impl StdError + Send + Sync + 'static) -> StoreError {
    StoreError::Refused { source: Box::new(error) }
}

pub(crate) fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Unreadable(what.to_string())
}

/// Whether the condition is one of the database's own that ends by itself: connections (class 08), resources such as a
/// full disk (53), an operator's doing such as a restart (57), its system (58).
fn passes(code: &SqlState) -> bool {
    matches!(&code.code()[..2], "08" | "53" | "57" | "58")
        // A restarting primary says that it is read-only until its recovery is over.
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
}
