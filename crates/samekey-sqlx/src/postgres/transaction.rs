//! Transactions of `sqlx` on PostgreSQL can be joined.

use samekey_core::StoreError;
use samekey_core::store::{Join, Value};
use samekey_postgres::driver::Parameter;
use sqlx::{Row as _, Transaction};

use super::Postgres;
use super::error::{before_commit, of_commit};
use super::values::query;

impl Join<Postgres> for Transaction<'_, sqlx::Postgres> {
    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let done = query(sql, &parameters(values))?.execute(&mut **self).await.map_err(before_commit)?;
        Ok(done.rows_affected())
    }

    async fn text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
        let rows = query(sql, &parameters(values))?.fetch_all(&mut **self).await.map_err(before_commit)?;
        rows.first().map_or(Ok(None), |row| row.try_get(0).map_err(before_commit))
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.commit().await.map_err(of_commit)
    }

    async fn rollback(self) -> Result<(), StoreError> {
        self.rollback().await.map_err(before_commit)
    }
}

fn parameters<'v>(values: &[Value<'v>]) -> Vec<Parameter<'v>> {
    values.iter().copied().map(Parameter::from).collect()
}
