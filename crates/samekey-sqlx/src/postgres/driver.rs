//! The store's own connections: a second pool, with the options of the user's.
//!
//! Every statement is unnamed and in a transaction, reads too: the user's options may lead to a pooler in transaction mode,
//! and `sqlx` prepares and runs an unnamed statement in two turns, which must meet the same server connection.

use std::time::Duration;

use samekey_core::{Effect, StoreError};
use samekey_postgres::driver::{Durability, Parameter};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Transaction};

use super::error::{before_commit, is_the_servers, of_commit};
use super::row::Row;
use super::values::query;

/// Claims, steps and heartbeats are short, and wait for each other here instead of in the database.
const CONNECTIONS: u32 = 2;

/// How long a free connection is waited for before the store is said to be away.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest that an answer is waited for. Statements take milliseconds; what takes longer is a network that swallows
/// packets, or a server that is stopped in its tracks.
const STATEMENT: Duration = Duration::from_secs(20);

/// As [`Durability::begin`], but a lock is waited for longer: whoever holds it does so over several round trips here.
const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '1s'";
const BEGIN_RELAXED: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off; SET LOCAL lock_timeout = '1s'";

#[derive(Clone, Debug)]
pub(crate) struct Driver {
    pool: PgPool,
}

impl Driver {
    pub(crate) fn beside(pool: &PgPool) -> Self {
        let options = pool.connect_options().as_ref().clone().application_name("samekey");
        let own = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            // BEGIN finds out; a question before it would be one more round trip.
            .test_before_acquire(false);
        Self { pool: own.connect_lazy_with(options) }
    }

    /// A connection that was lost while it idled is found out here, where nothing was done yet; each may be once.
    async fn begin(
        &self,
        durability: Durability,
    ) -> Result<Transaction<'static, sqlx::Postgres>, StoreError> {
        let begin = match durability {
            Durability::Durable => BEGIN,
            Durability::Relaxed => BEGIN_RELAXED,
        };
        for _ in 0..CONNECTIONS {
            match self.pool.begin_with(begin).await {
                Err(error) if !is_the_servers(&error) => {}
                outcome => return outcome.map_err(before_commit),
            }
        }
        self.pool.begin_with(begin).await.map_err(before_commit)
    }

    async fn run(
        &self,
        durability: Durability,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let mut tx = self.begin(durability).await?;
        let rows = query(sql, values)?.fetch_all(&mut *tx).await.map_err(before_commit)?;
        tx.commit().await.map_err(of_commit)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    async fn look(&self, sql: &str, values: &[Parameter<'_>]) -> Result<Vec<Row>, StoreError> {
        // Rolled back when it is dropped, without a wait.
        let mut tx = self.begin(Durability::Relaxed).await?;
        let rows = query(sql, values)?.fetch_all(&mut *tx).await.map_err(before_commit)?;
        Ok(rows.into_iter().map(Row).collect())
    }
}

impl samekey_postgres::driver::Driver for Driver {
    type Row = Row;

    async fn read(&self, sql: &str, values: &[Parameter<'_>]) -> Result<Vec<Row>, StoreError> {
        let read = tokio::time::timeout(STATEMENT, self.look(sql, values)).await;
        read.unwrap_or_else(|_| Err(silent(Effect::NotApplied)))
    }

    async fn write(
        &self,
        durability: Durability,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let written = tokio::time::timeout(STATEMENT, self.run(durability, sql, values)).await;
        written.unwrap_or_else(|_| Err(silent(Effect::Unknown)))
    }
}

fn silent(effect: Effect) -> StoreError {
    StoreError::Away { effect, source: format!("no answer within {STATEMENT:?}").into() }
}
