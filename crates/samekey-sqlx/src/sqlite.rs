//! The store in SQLite, beside a pool of `sqlx` on the same file.
//!
//! The store writes through a connection and a thread of its own. Your transaction waits for it as for any other writer,
//! and it for yours: keep them short, and begin with what writes (`pool.begin_with("BEGIN IMMEDIATE")`, or the claim), for
//! a transaction that has read before cannot wait. A commit of yours is as durable as your pool's `synchronous` says:
//! `FULL`, which is the default, not `NORMAL`.

mod transaction;

use std::path::Path;
use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::record::Record;
use samekey_core::store::{
    BegunStep, Claim, ClaimRequest, Claimed, Dialect, Held, Join, RecipeId, Records, StepKind, SweepCursor,
    Swept,
};
use samekey_core::{Answer, FencingToken, Key, Recipe, Scope, StoreError};
pub use samekey_sqlite::{Caution, SCHEMA_VERSION, schema_sql};

use crate::delegate::delegate_records;

/// A store in the file that your pool works on. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Sqlite(samekey_sqlite::Sqlite);

impl Sqlite {
    /// Opens the store; nothing is created or migrated.
    ///
    /// # Errors
    /// As `samekey_sqlite::Sqlite::open`.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        samekey_sqlite::Sqlite::open(path).await.map(Self)
    }

    /// Creates the file or upgrades its schema where that is needed, then opens the store.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub async fn migrate(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        samekey_sqlite::Sqlite::migrate(path).await.map(Self)
    }

    /// What about the file's surroundings could lose acknowledged work; empty where nothing could.
    #[must_use]
    pub fn cautions(&self) -> &[Caution] {
        self.0.cautions()
    }
}

delegate_records!(Sqlite);
