//! Samekey's records and messages kept in one SQLite file.
//!
//! SQLite has one writer at a time, whatever one does. So one thread per process owns the connection that writes (`writer`):
//! it takes every job that waits, runs each in a savepoint of one `BEGIN IMMEDIATE` transaction, commits once, and only then
//! answers them all. A commit that reaches the disk costs the same for one job as for two hundred.
//!
//! Inside such a transaction nobody else can write, so a job may read first and write afterwards; what two processes on one
//! file race for is the transaction itself.
//!
//! Leases are judged by the database's clock (`clock`), which runs on the machine's boot clock: no change of the wall clock
//! ends a lease early or makes one last for ever.
//!
//! # Cancel safety
//! A dropped future withdraws nothing: a job that was handed to the writer runs to its end. What was dropped is the answer.

mod accept;
mod caution;
mod checkpoint;
mod claim;
mod clock;
mod columns;
mod complete;
mod deliveries;
mod error;
mod join;
mod lease;
mod look;
mod message;
mod migrate;
mod operators;
mod readers;
mod recipes;
mod steps;
mod sweep;
mod tenants;
mod transaction;
mod writer;

use std::path::Path;
use std::sync::Arc;

pub use caution::Caution;
pub use error::of_code;
pub use migrate::{SCHEMA_VERSION, schema_sql};
/// The driver, in the version that this crate was built with.
pub use rusqlite;

use readers::Readers;
use samekey_core::StoreError;
use samekey_core::store::KnownRecipes;
use writer::Writer;

/// A store in one file. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Sqlite {
    writer: Writer,
    readers: Readers,
    recipes: Arc<KnownRecipes>,
    cautions: Arc<[Caution]>,
}

/// Whether an old schema may be brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OldSchema {
    Refuse,
    Migrate,
}

impl Sqlite {
    /// Opens the store; nothing is created or migrated.
    ///
    /// # Errors
    /// [`StoreError::Schema`] where the file is missing, is none of ours, or must not be worked on by this release;
    /// [`StoreError::Away`] where it cannot be opened.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::start(path.as_ref(), OldSchema::Refuse).await
    }

    /// Creates the file or upgrades its schema where that is needed, then opens the store.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub async fn migrate(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::start(path.as_ref(), OldSchema::Migrate).await
    }

    /// What about the file's surroundings could lose acknowledged work; empty where nothing could.
    #[must_use]
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    async fn start(path: &Path, old: OldSchema) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || {
            let mut connection = writer::connect(&path, old)?;
            caution::check_version()?;
            caution::check_file_system(&path)?;
            migrate::bring_up(&mut connection, old)?;
            let cautions = caution::of(&connection)?;
            let writer = Writer::start(connection, &path)?;
            Ok(Self {
                writer,
                readers: Readers::of(&path),
                recipes: Arc::default(),
                cautions: cautions.into(),
            })
        });
        opened.await.map_err(|error| error::away(error.to_string()))?
    }
}
