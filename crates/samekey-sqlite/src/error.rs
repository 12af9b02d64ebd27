//! What SQLite said, in the words of the store: above all, whether anything was written.

use rusqlite::{Error, ErrorCode};
use samekey_core::{Effect, StoreError};

/// An error of a statement or a commit. SQLite is in our own process: a commit that did not say yes has not happened.
pub(crate) fn of(error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { source: Box::new(error) }
        }
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::ReadOnly
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Away { effect: Effect::NotApplied, source: Box::new(error) },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            StoreError::Unreadable(error.to_string())
        }
        _ => StoreError::Refused { source: Box::new(error) },
    }
}

pub(crate) fn away(why: impl Into<String>) -> StoreError {
    StoreError::Away { effect: Effect::NotApplied, source: why.into().into() }
}

pub(crate) fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Unreadable(what.to_string())
}
