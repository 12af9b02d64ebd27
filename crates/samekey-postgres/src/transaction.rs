//! Transactions of `tokio-postgres` and of `deadpool-postgres` can be joined.
//!
//! Only unnamed statements whose parameters carry their types: one round trip instead of two, and nothing that a pooler in
//! transaction mode would hand to the next client (sfackler/rust-postgres#959).

use samekey_core::StoreError;
use samekey_core::store::{Join, Value};
use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};

use crate::Postgres;
use crate::driver::Parameter;
use crate::pool::error::{before_commit, of_commit};

impl Join<Postgres> for Transaction<'_> {
    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        execute(self, sql, values).await
    }

    async fn text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
        text(self, sql, values).await
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.commit().await.map_err(of_commit)
    }

    async fn rollback(self) -> Result<(), StoreError> {
        self.rollback().await.map_err(before_commit)
    }
}

impl Join<Postgres> for deadpool_postgres::Transaction<'_> {
    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        execute(self, sql, values).await
    }

    async fn text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
        text(self, sql, values).await
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.commit().await.map_err(of_commit)
    }

    async fn rollback(self) -> Result<(), StoreError> {
        self.rollback().await.map_err(before_commit)
    }
}

async fn execute(tx: &Transaction<'_>, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
    let parameters: Vec<Parameter<'_>> = values.iter().copied().map(Parameter::from).collect();
    tx.execute_typed(sql, &typed(&parameters)).await.map_err(before_commit)
}

async fn text(tx: &Transaction<'_>, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
    let parameters: Vec<Parameter<'_>> = values.iter().copied().map(Parameter::from).collect();
    let rows = tx.query_typed(sql, &typed(&parameters)).await.map_err(before_commit)?;
    rows.first().map_or(Ok(None), |row| row.try_get(0).map_err(crate::error::unreadable))
}

fn typed<'p>(parameters: &'p [Parameter<'_>]) -> Vec<(&'p (dyn ToSql + Sync), Type)> {
    parameters.iter().map(|one| (one as &(dyn ToSql + Sync), one.kind())).collect()
}
