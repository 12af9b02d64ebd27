//! Work that commits with its record where the store writes.

use std::future::Future;

use super::{Held, Records};
use crate::{Answer, StoreError};

/// A store whose transactions cannot leave its own thread, so that work joins them as a closure.
pub trait Write: Records {
    /// What the closure writes through.
    type Transaction<'t>;

    /// Runs `work` and completes the record in the same commit. Without a record, only the work commits.
    ///
    /// # Errors
    /// The outer one is the store's, and nothing was written. The inner one is the work's own: what it had written is rolled
    /// back, and the record is as it was.
    ///
    /// # Guarantees
    /// Effect, state and answer commit together or not at all.
    fn write<T, E, W>(
        &self,
        held: Option<&Held>,
        work: W,
    ) -> impl Future<Output = Result<Result<T, E>, StoreError>> + Send
    where
        T: Send + 'static,
        E: Send + 'static,
        W: FnOnce(&Self::Transaction<'_>) -> Result<(Answer, T), E> + Send + 'static;
}
