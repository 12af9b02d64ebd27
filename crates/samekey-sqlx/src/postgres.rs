//! The store in PostgreSQL, over `sqlx`.
//!
//! `sqlx` sends one thing at a time, so a write of the store's own takes four round trips where `tokio-postgres` takes one.
//! What runs in your transaction takes what your own statements take.

mod driver;
mod error;
mod row;
mod transaction;
mod values;

use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::record::Record;
use samekey_core::store::{
    BegunStep, Claim, ClaimRequest, Claimed, Dialect, Held, Join, RecipeId, Records, StepKind, SweepCursor,
    Swept,
};
use samekey_core::{Answer, FencingToken, Key, Recipe, Scope, StoreError};
use samekey_postgres::MIGRATION_LOCK;
pub use samekey_postgres::{SCHEMA_VERSION, schema_sql};
use sqlx::PgPool;

use crate::delegate::delegate_records;
use driver::Driver;
use error::{before_commit, of_commit};

/// The schema that everything is kept in, unless another is named.
const SCHEMA: &str = "samekey";

/// A store in PostgreSQL beside a pool of yours. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Postgres(samekey_postgres::Postgres<Driver>);

impl Postgres {
    /// A store in the database that this pool leads to, with two connections of its own. They are opened when they are first
    /// needed, so nothing is asked of the database yet: see [`Postgres::check_schema`].
    ///
    /// The pool's role needs the privileges on the schema, for what runs in your transactions runs as it.
    #[must_use]
    pub fn beside(pool: &PgPool) -> Self {
        Self::beside_in(pool, SCHEMA)
    }

    /// The same with another schema. It is written into every statement: an identifier that needs no quotes, and never a
    /// user's input.
    #[must_use]
    pub fn beside_in(pool: &PgPool, schema: &str) -> Self {
        Self(samekey_postgres::Postgres::over(Driver::beside(pool), schema))
    }

    /// Creates the schema where it is missing. Processes that start at once take turns.
    ///
    /// # Errors
    /// As [`Postgres::check_schema`].
    ///
    /// # Guarantees
    /// The schema is there as a whole or not at all.
    pub async fn migrate(pool: &PgPool) -> Result<Self, StoreError> {
        let mut tx = pool.begin().await.map_err(before_commit)?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(MIGRATION_LOCK)
            .persistent(false)
            .execute(&mut *tx)
            .await
            .map_err(before_commit)?;
        let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
            .bind(format!("{SCHEMA}.meta"))
            .persistent(false)
            .fetch_one(&mut *tx)
            .await
            .map_err(before_commit)?;
        if !exists {
            let schema = sqlx::AssertSqlSafe(schema_sql(SCHEMA));
            sqlx::raw_sql(schema).execute(&mut *tx).await.map_err(before_commit)?;
        }
        tx.commit().await.map_err(of_commit)?;
        let store = Self::beside(pool);
        store.check_schema().await?;
        Ok(store)
    }

    /// Refuses a schema that is missing, too old, or not to be worked on by this release. To be asked once, at the start.
    ///
    /// # Errors
    /// [`StoreError::Schema`], with what to do; [`StoreError::Away`].
    pub async fn check_schema(&self) -> Result<(), StoreError> {
        self.0.check_schema().await
    }
}

delegate_records!(Postgres);
