//! What the statements on records need of a driver.
//!
//! The rules lie in the statements, not in the driver that carries them: a service that speaks to its database through
//! another driver should not need a second one in its tree. So the verbs over records are written once, over [`Driver`]:
//! one statement that reads, one that writes in a transaction of its own. `tokio-postgres` is one (`Pooled`, behind the
//! feature of that name); a crate of its own can bring another.

mod columns;
mod parameter;

use std::future::Future;

use samekey_core::StoreError;

pub use crate::error::{before_commit, of_commit};
pub use columns::{Columns, FromColumn};
pub use parameter::Parameter;

/// Whether a commit must have reached the disk before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// `synchronous_commit = on`, whatever the database's default is.
    Durable,
    /// For heartbeats and sweeps: losing the last of them to a crash is harmless.
    Relaxed,
}

impl Durability {
    /// How a transaction with it begins: a text of several statements, without parameters. Said by us, since a database's
    /// defaults may be weaker (`synchronous_commit = off`) or stronger (SERIALIZABLE, under which a lost race is an error
    /// instead of a row count). A batch waits for a lock for 100 ms at most; then it is halved.
    #[must_use]
    pub fn begin(self) -> &'static str {
        match self {
            Self::Durable => {
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '100ms'"
            }
            Self::Relaxed => {
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off; SET LOCAL lock_timeout = '100ms'"
            }
        }
    }
}

/// A driver with connections of its own, which no handler of the user's can hold.
pub trait Driver: Clone + Send + Sync + 'static {
    /// What it gives back.
    type Row: Columns;

    /// Runs one statement that only reads.
    ///
    /// # Errors
    /// As [`before_commit`] says.
    fn read(
        &self,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Runs one statement that writes, in a transaction of its own that begins as [`Durability::begin`] says; a driver whose
    /// transactions last for several round trips gives others more time for a lock. Its rows are given only when the commit
    /// was answered.
    ///
    /// # Errors
    /// As [`before_commit`] and [`of_commit`] say.
    fn write(
        &self,
        durability: Durability,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;
}
