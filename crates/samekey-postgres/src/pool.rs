//! The store's own connections, and a transaction in one round trip.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use futures_util::future::join3;
use samekey_core::{Effect, StoreError};
use tokio::sync::OnceCell;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::driver::{Driver, Durability, Parameter};
use crate::options::Options;

pub(crate) mod error;
mod row;
mod values;

/// Parameters of a statement, in order.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The longest that an answer is waited for. Statements take milliseconds; what takes longer is a network that swallows
/// packets, or a server that is stopped in its tracks.
const STATEMENT: Duration = Duration::from_secs(20);

/// `tokio-postgres` with a bounded pool of its own, made when it is first needed.
#[derive(Clone)]
pub struct Pooled {
    options: Arc<Options>,
    pool: Arc<OnceCell<Pool>>,
}

impl Pooled {
    pub(crate) fn new(options: &Options) -> Self {
        Self { options: Arc::new(options.clone()), pool: Arc::default() }
    }

    /// A connection, waiting for a free one no longer than the options say.
    pub(crate) async fn client(&self) -> Result<Client, StoreError> {
        let pool = self.pool.get_or_try_init(|| async { self.make_pool() }).await?;
        pool.get().await.map_err(error::from_pool)
    }

    fn make_pool(&self) -> Result<Pool, StoreError> {
        let options = &self.options;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager =
            Manager::from_config(options.config.clone(), options.verification.connector()?, recycling);
        Pool::builder(manager)
            .max_size(options.connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(options.patience))
            .create_timeout(Some(options.patience + Duration::from_secs(1)))
            .build()
            .map_err(error::refused)
    }

    /// One statement that only reads.
    pub(crate) async fn read(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        let client = self.client().await?;
        let read = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, values).await
        };
        match tokio::time::timeout(STATEMENT, read).await {
            Ok(rows) => rows.map_err(error::before_commit),
            Err(_) => Err(give_up(client, Effect::NotApplied)),
        }
    }

    /// One statement that writes, in a transaction of its own and in one round trip.
    ///
    /// COMMIT leaves without waiting for the statement. That is sound: a failed statement turns it into a rollback, and
    /// its error is what we return. The rows are returned only when the commit was answered.
    pub(crate) async fn write(
        &self,
        durability: Durability,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let client = self.client().await?;
        match tokio::time::timeout(STATEMENT, write(&client, durability, sql, values)).await {
            Ok(rows) => rows,
            Err(_) => Err(give_up(client, Effect::Unknown)),
        }
    }
}

impl Driver for Pooled {
    type Row = Row;

    async fn read(&self, sql: &str, values: &[Parameter<'_>]) -> Result<Vec<Row>, StoreError> {
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        self.read(sql, values.as_slice()).await
    }

    async fn write(
        &self,
        durability: Durability,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        self.write(durability, sql, values.as_slice()).await
    }
}

async fn write(
    client: &Client,
    durability: Durability,
    sql: &str,
    values: Values<'_>,
) -> Result<Vec<Row>, StoreError> {
    let statement = client.prepare_cached(sql).await.map_err(error::before_commit)?;
    let (begun, rows, committed) = join3(
        client.batch_execute(durability.begin()),
        client.query(&statement, values),
        client.batch_execute("COMMIT"),
    )
    .await;
    let rows = begun.and(rows);
    if let Err(error) = &rows
        && error.as_db_error().is_some()
    {
        return rows.map_err(error::before_commit);
    }
    match (rows, committed) {
        (Ok(rows), Ok(())) => Ok(rows),
        (Err(error), _) | (Ok(_), Err(error)) => Err(error::at_commit(error)),
    }
}

/// The connection does not answer. It does not go back into the pool: what comes over it later belongs to nobody.
fn give_up(client: Client, effect: Effect) -> StoreError {
    drop(Client::take(client));
    StoreError::Away { effect, source: format!("no answer within {STATEMENT:?}").into() }
}

impl std::fmt::Debug for Pooled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pooled").field("schema", &self.options.schema()).finish_non_exhaustive()
    }
}
