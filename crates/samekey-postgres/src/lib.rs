//! Samekey's records and messages kept in PostgreSQL.
//!
//! The rules live in `samekey-core`; here each of them is one SQL statement. Three habits make them hold under any crash
//! and any race:
//!
//! - **A row count decides who won.** Nothing is read first and written afterwards. The unique index answers the claim,
//!   conditional updates answer everything else, in READ COMMITTED, which our own BEGIN says.
//! - **Every later write names the fencing token.** A process that was stopped past its lease finds no row.
//! - **A batch is one round trip.** `BEGIN`, its settings, the statement and `COMMIT` leave together, so the
//!   transaction is open for as long as the statement runs and not for as long as the network takes.
//!
//! The store has connections of its own: its statements never wait for a connection that a user's handler can hold.
//!
//! # Cancel safety
//! A dropped future cancels nothing: all of a transaction has been handed to the connection by then, and it runs to its
//! end. What was dropped is the answer, and the effect is unknown to the caller.

/// Parameters of a statement, each by its own type.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::driver::Parameter::from($value)),*] };
}

mod claim;
mod columns;
mod complete;
pub mod driver;
mod error;
mod join;
mod lease;
mod look;
mod migrate;
mod recipes;
mod statements;
mod steps;
mod sweep;

// What the sending service needs, and the driver that it needs it of.
#[cfg(feature = "tokio-postgres")]
mod accept;
#[cfg(feature = "tokio-postgres")]
mod caution;
#[cfg(feature = "tokio-postgres")]
mod deliveries;
#[cfg(feature = "tokio-postgres")]
mod message;
#[cfg(feature = "tokio-postgres")]
mod operators;
#[cfg(feature = "tokio-postgres")]
mod options;
#[cfg(feature = "tokio-postgres")]
mod pool;
#[cfg(feature = "tokio-postgres")]
mod tenants;
#[cfg(feature = "tokio-postgres")]
mod tls;
#[cfg(feature = "tokio-postgres")]
mod transaction;

use std::sync::Arc;

pub use migrate::{MIGRATION_LOCK, SCHEMA_VERSION, schema_sql};
#[cfg(feature = "tokio-postgres")]
pub use {
    caution::Caution,
    options::{InvalidOptions, Options},
    pool::Pooled,
};

use driver::Driver;
#[cfg(feature = "tokio-postgres")]
use samekey_core::StoreError;
use samekey_core::store::KnownRecipes;
use statements::Statements;

/// A store in PostgreSQL. Clones share their connections, which are the store's own: your pool may be used up by your
/// handlers without a claim or a heartbeat waiting for it.
#[cfg(feature = "tokio-postgres")]
#[derive(Clone, Debug)]
pub struct Postgres<D = Pooled> {
    connections: D,
    sql: Arc<Statements>,
    recipes: Arc<KnownRecipes>,
}

/// A store in PostgreSQL. Clones share their connections, which are the store's own: your pool may be used up by your
/// handlers without a claim or a heartbeat waiting for it.
#[cfg(not(feature = "tokio-postgres"))]
#[derive(Clone, Debug)]
pub struct Postgres<D> {
    connections: D,
    sql: Arc<Statements>,
    recipes: Arc<KnownRecipes>,
}

impl<D: Driver> Postgres<D> {
    /// A store over a driver with connections of its own. Nothing is asked of the database yet: see
    /// [`Postgres::check_schema`].
    pub fn over(driver: D, schema: &str) -> Self {
        Self { connections: driver, sql: Arc::new(Statements::render(schema)), recipes: Arc::default() }
    }
}

#[cfg(feature = "tokio-postgres")]
impl Postgres {
    /// Opens the store; nothing is migrated.
    ///
    /// # Errors
    /// [`StoreError::Schema`] where the schema is missing or must not be worked on by this release; [`StoreError::Away`]
    /// where the database does not answer.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let store = Self::over(Pooled::new(options), options.schema());
        store.check_schema().await?;
        Ok(store)
    }

    /// Creates or upgrades the schema where that is needed, then opens the store. Processes that start at once take turns.
    ///
    /// # Errors
    /// As [`Postgres::open`].
    pub async fn migrate(options: &Options) -> Result<Self, StoreError> {
        let store = Self::over(Pooled::new(options), options.schema());
        store.run_migrations().await?;
        store.check_schema().await?;
        Ok(store)
    }
}
