//! What `tokio-postgres` and its pool said, in the words of the store.

use std::error::Error as StdError;

use deadpool_postgres::PoolError;
use samekey_core::{Effect, StoreError};
use tokio_postgres::Error;

fn sqlstate(error: &Error) -> Option<String> {
    error.code().map(|code| code.code().to_owned())
}

/// No connection was to be had: nothing was sent.
pub(crate) fn from_pool(error: PoolError) -> StoreError {
    StoreError::Away { effect: Effect::NotApplied, source: Box::new(error) }
}

/// See [`crate::error::before_commit`].
pub(crate) fn before_commit(error: Error) -> StoreError {
    crate::error::before_commit(sqlstate(&error).as_deref(), error)
}

/// See [`crate::error::of_commit`].
pub(crate) fn of_commit(error: Error) -> StoreError {
    crate::error::of_commit(sqlstate(&error).as_deref(), error)
}

/// See [`crate::error::at_commit`].
pub(crate) fn at_commit(error: Error) -> StoreError {
    crate::error::at_commit(error)
}

/// A fault that a pause does not cure.
pub(crate) fn refused(error: impl StdError + Send + Sync + 'static) -> StoreError {
    StoreError::Refused { source: Box::new(error) }
}
