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

mod accept;
mod caution;
mod claim;
mod columns;
mod complete;
mod deliveries;
mod error;
mod lease;
mod look;
mod message;
mod migrate;
mod operators;
mod options;
mod pool;
mod recipes;
mod statements;
mod steps;
mod sweep;
mod tenants;
mod tls;

use std::sync::Arc;

pub use caution::Caution;
pub use migrate::{SCHEMA_VERSION, schema_sql};
pub use options::{InvalidOptions, Options};

use pool::Connections;
use samekey_core::StoreError;
use samekey_core::store::KnownRecipes;
use statements::Statements;

/// A store in PostgreSQL. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Postgres {
    connections: Connections,
    sql: Arc<Statements>,
    recipes: Arc<KnownRecipes>,
}

impl Postgres {
    /// Opens the store; nothing is migrated.
    ///
    /// # Errors
    /// [`StoreError::Schema`] where the schema is missing or must not be worked on by this release; [`StoreError::Away`]
    /// where the database does not answer.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let store = Self::unchecked(options);
        store.check_schema().await?;
        Ok(store)
    }

    /// Creates or upgrades the schema where that is needed, then opens the store. Processes that start at once take turns.
    ///
    /// # Errors
    /// As [`Postgres::open`].
    pub async fn migrate(options: &Options) -> Result<Self, StoreError> {
        let store = Self::unchecked(options);
        store.run_migrations(options.schema()).await?;
        store.check_schema().await?;
        Ok(store)
    }

    fn unchecked(options: &Options) -> Self {
        Self {
            connections: Connections::new(options),
            sql: Arc::new(Statements::render(options.schema())),
            recipes: Arc::default(),
        }
    }
}
