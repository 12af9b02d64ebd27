//! What `sqlx` said, in the words of the store.

use samekey_core::StoreError;
use samekey_postgres::driver;
use sqlx::Error;

/// Said for a fault in the use of the driver, which no pause cures: PostgreSQL's own code for an internal error.
const INTERNAL: &str = "XX000";

/// `None` where it is not the server's word but the lack of it.
fn sqlstate(error: &Error) -> Option<String> {
    match error {
        Error::Database(said) => said.code().map(std::borrow::Cow::into_owned),
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed
        | Error::BeginFailed => None,
        _ => Some(INTERNAL.to_owned()),
    }
}

pub(super) fn is_the_servers(error: &Error) -> bool {
    sqlstate(error).is_some()
}

/// See [`driver::before_commit`].
pub(super) fn before_commit(error: Error) -> StoreError {
    driver::before_commit(sqlstate(&error).as_deref(), error)
}

/// See [`driver::of_commit`].
pub(super) fn of_commit(error: Error) -> StoreError {
    driver::of_commit(sqlstate(&error).as_deref(), error)
}
