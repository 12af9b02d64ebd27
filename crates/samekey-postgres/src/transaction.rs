//! Transactions of `tokio-postgres` and of `deadpool-postgres` can be joined.
//!
//! Only unnamed statements whose parameters carry their types: one round trip instead of two, and nothing that a pooler in
//! transaction mode would hand to the next client (sfackler/rust-postgres#959).

use std::error::Error as StdError;

use bytes::BytesMut;
use samekey_core::StoreError;
use samekey_core::store::{Join, Value};
use tokio_postgres::Transaction;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::Postgres;
use crate::error::{before_commit, of_commit};

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
    let parameters: Vec<Parameter<'_>> = values.iter().copied().map(Parameter).collect();
    tx.execute_typed(sql, &typed(&parameters)).await.map_err(before_commit)
}

async fn text(tx: &Transaction<'_>, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
    let parameters: Vec<Parameter<'_>> = values.iter().copied().map(Parameter).collect();
    let rows = tx.query_typed(sql, &typed(&parameters)).await.map_err(before_commit)?;
    rows.first().map_or(Ok(None), |row| row.try_get(0).map_err(crate::error::unreadable))
}

/// A value in the form that the driver wants.
#[derive(Debug)]
struct Parameter<'a>(Value<'a>);

fn typed<'p>(parameters: &'p [Parameter<'_>]) -> Vec<(&'p (dyn ToSql + Sync), Type)> {
    parameters.iter().map(|one| (one as &(dyn ToSql + Sync), one.kind())).collect()
}

impl Parameter<'_> {
    fn kind(&self) -> Type {
        match self.0 {
            Value::Small(_) => Type::INT2,
            Value::Big(_) => Type::INT8,
            Value::Float(_) => Type::FLOAT8,
            Value::Text(_) => Type::TEXT,
            Value::Bytes(_) | Value::NoBytes => Type::BYTEA,
            Value::Uuid(_) => Type::UUID,
        }
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            Value::Small(value) => value.to_sql(ty, out),
            Value::Big(value) => value.to_sql(ty, out),
            Value::Float(value) => value.to_sql(ty, out),
            Value::Text(value) => value.to_sql(ty, out),
            Value::Bytes(value) => value.to_sql(ty, out),
            Value::NoBytes => Ok(IsNull::Yes),
            Value::Uuid(value) => value.to_sql(ty, out),
        }
    }

    /// Each is only ever sent as the type that [`Parameter::kind`] says.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
