//! Transactions of `sqlx` on SQLite can be joined.

use samekey_core::StoreError;
use samekey_core::store::{Join, Value};
use samekey_sqlite::of_code;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteTransactionManager};
use sqlx::{Arguments as _, AssertSqlSafe, Error, Row as _, Transaction};
use sqlx_core::transaction::{TransactionManager as _, begin_ansi_transaction_sql};

use super::Sqlite;

impl Join<Sqlite> for Transaction<'_, sqlx::Sqlite> {
    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let done = query(sql, values)?.execute(&mut **self).await.map_err(of)?;
        Ok(done.rows_affected())
    }

    /// All rows are fetched, so that the statement has run to its end.
    async fn text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
        let rows = query(sql, values)?.fetch_all(&mut **self).await.map_err(of)?;
        rows.first().map_or(Ok(None), |row| row.try_get(0).map_err(of))
    }

    /// A savepoint is refused: what it commits, the transaction around it may still roll back, after the caller was told
    /// that it is done.
    async fn commit(self) -> Result<(), StoreError> {
        if SqliteTransactionManager::get_transaction_depth(&self) > 1 {
            roll_all_back(self).await?;
            let why = "samekey: complete was handed a savepoint; hand over the outermost transaction";
            return Err(StoreError::Refused { source: why.into() });
        }
        self.commit().await.map_err(of)
    }

    async fn rollback(self) -> Result<(), StoreError> {
        roll_all_back(self).await
    }
}

/// All of it, also what is around a savepoint: a user who swallows the error and commits the rest would keep an effect
/// without its record. Then a transaction with nothing in it takes its place, as deep as the driver counts.
async fn roll_all_back(mut tx: Transaction<'_, sqlx::Sqlite>) -> Result<(), StoreError> {
    let depth = SqliteTransactionManager::get_transaction_depth(&tx);
    if depth > 1 {
        tx.execute("ROLLBACK", &[]).await?;
        for around in 0..depth {
            let again = begin_ansi_transaction_sql(around);
            tx.execute(again.as_str(), &[]).await?;
        }
    }
    tx.rollback().await.map_err(of)
}

/// SQLite is in our own process: a commit that did not say yes has not happened.
fn of(error: Error) -> StoreError {
    match &error {
        Error::Database(said) => {
            let code = said.code().and_then(|code| code.parse().ok());
            of_code(code, error)
        }
        Error::Io(_) | Error::PoolTimedOut | Error::PoolClosed | Error::WorkerCrashed => of_code(None, error),
        _ => StoreError::Refused { source: Box::new(error) },
    }
}

/// A statement that is not kept. Its text is the store's own; what comes from outside is in the parameters.
fn query<'q>(
    sql: &str,
    values: &[Value<'_>],
) -> Result<Query<'q, sqlx::Sqlite, SqliteArguments>, StoreError> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        add(&mut arguments, value).map_err(|source| StoreError::Refused { source })?;
    }
    Ok(sqlx::query_with(AssertSqlSafe(sql), arguments).persistent(false))
}

fn add(arguments: &mut SqliteArguments, value: &Value<'_>) -> Result<(), sqlx::error::BoxDynError> {
    match *value {
        Value::Small(value) => arguments.add(i64::from(value)),
        Value::Big(value) => arguments.add(value),
        Value::Float(value) => arguments.add(value),
        Value::Text(value) => arguments.add(value.to_owned()),
        Value::Bytes(value) => arguments.add(value.to_owned()),
        Value::NoBytes => arguments.add(None::<Vec<u8>>),
        Value::Uuid(value) => arguments.add(value.into_bytes().to_vec()),
    }
}
