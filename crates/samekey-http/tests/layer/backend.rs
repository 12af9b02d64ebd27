//! What differs between the stores: how a handler's effect is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deadpool_postgres::{Manager, Pool};
use samekey_core::store::Records;
use samekey_http::{Attempt, Completed};
use samekey_memory::Memory;
use samekey_postgres::{Options, Postgres};
use samekey_sqlite::Sqlite;
use serde_json::json;
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// Any failure of a handler.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Samekey(#[from] samekey_http::Error),
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
    #[error(transparent)]
    Pool(#[from] deadpool_postgres::PoolError),
    #[error(transparent)]
    Sqlite(#[from] samekey_sqlite::rusqlite::Error),
    #[error("the other side did not answer")]
    NoAnswer,
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.to_string()).into_response()
    }
}

/// A store and a database of the user's beside it.
pub(crate) trait Backend: Clone + Send + Sync + 'static {
    type Store: Records;

    fn open(case: &str) -> impl Future<Output = Self> + Send;
    /// The same database by connections of its own, as another process has them.
    fn another(&self) -> impl Future<Output = Self> + Send;
    fn store(&self) -> Self::Store;
    /// Writes one effect and completes with 201 and its number.
    fn commit(&self, attempt: Attempt<Self::Store>)
    -> impl Future<Output = Result<Completed, Failed>> + Send;
    /// The same on a joined route.
    fn commit_joined(
        &self,
        attempt: Attempt<Self::Store>,
    ) -> impl Future<Output = Result<Completed, Failed>> + Send;
    /// How many effects were committed.
    fn effects(&self) -> impl Future<Output = i64> + Send;
}

#[derive(Clone)]
pub(crate) struct OnPostgres {
    pub(crate) url: String,
    pub(crate) db: Pool,
    store: Postgres,
}

impl OnPostgres {
    pub(crate) async fn at(url: String, db_url: &str) -> Self {
        let store = Postgres::migrate(&Options::from_url(&url).unwrap().with_connections(4)).await.unwrap();
        let manager = Manager::new(db_url.parse().unwrap(), NoTls);
        let db = Pool::builder(manager).max_size(64).build().unwrap();
        Self { url, db, store }
    }
}

impl Backend for OnPostgres {
    type Store = Postgres;

    async fn open(case: &str) -> Self {
        let url = testbed::database(case);
        let place = Self::at(url.clone(), &url).await;
        let client = place.db.get().await.unwrap();
        client.batch_execute("CREATE TABLE effect (id bigint GENERATED ALWAYS AS IDENTITY)").await.unwrap();
        place
    }

    async fn another(&self) -> Self {
        Self::at(self.url.clone(), &self.url).await
    }

    fn store(&self) -> Postgres {
        self.store.clone()
    }

    async fn commit(&self, attempt: Attempt<Postgres>) -> Result<Completed, Failed> {
        let mut client = self.db.get().await?;
        let tx = client.transaction().await?;
        let row = tx.query_one("INSERT INTO effect DEFAULT VALUES RETURNING id", &[]).await?;
        let id: i64 = row.get(0);
        Ok(attempt.complete(tx, (StatusCode::CREATED, Json(json!({ "effect": id })))).await?)
    }

    async fn commit_joined(&self, attempt: Attempt<Postgres>) -> Result<Completed, Failed> {
        let mut client = self.db.get().await?;
        let mut tx = client.transaction().await?;
        attempt.join(&mut tx).await?;
        let row = tx.query_one("INSERT INTO effect DEFAULT VALUES RETURNING id", &[]).await?;
        let id: i64 = row.get(0);
        Ok(attempt.complete(tx, (StatusCode::CREATED, Json(json!({ "effect": id })))).await?)
    }

    async fn effects(&self) -> i64 {
        let client = self.db.get().await.unwrap();
        client.query_one("SELECT count(*) FROM effect", &[]).await.unwrap().get(0)
    }
}

#[derive(Clone)]
pub(crate) struct OnSqlite {
    folder: Arc<TempDir>,
    store: Sqlite,
}

impl OnSqlite {
    async fn at(folder: Arc<TempDir>) -> Self {
        let store = Sqlite::migrate(folder.path().join("shop.db")).await.unwrap();
        Self { folder, store }
    }

    fn look(&self) -> samekey_sqlite::rusqlite::Connection {
        samekey_sqlite::rusqlite::Connection::open(self.folder.path().join("shop.db")).unwrap()
    }
}

impl Backend for OnSqlite {
    type Store = Sqlite;

    async fn open(_: &str) -> Self {
        let place = Self::at(Arc::new(tempfile::tempdir().unwrap())).await;
        place.look().execute_batch("CREATE TABLE effect (id INTEGER PRIMARY KEY AUTOINCREMENT)").unwrap();
        place
    }

    async fn another(&self) -> Self {
        Self::at(self.folder.clone()).await
    }

    fn store(&self) -> Sqlite {
        self.store.clone()
    }

    async fn commit(&self, attempt: Attempt<Sqlite>) -> Result<Completed, Failed> {
        attempt
            .write(|tx| {
                tx.execute("INSERT INTO effect DEFAULT VALUES", [])?;
                Ok((StatusCode::CREATED, Json(json!({ "effect": tx.last_insert_rowid() }))))
            })
            .await
    }

    async fn commit_joined(&self, attempt: Attempt<Sqlite>) -> Result<Completed, Failed> {
        self.commit(attempt).await
    }

    async fn effects(&self) -> i64 {
        self.look().query_row("SELECT count(*) FROM effect", [], |row| row.get(0)).unwrap()
    }
}

#[derive(Clone)]
pub(crate) struct OnMemory {
    pub(crate) store: Memory,
    count: Arc<AtomicI64>,
}

impl Backend for OnMemory {
    type Store = Memory;

    async fn open(_: &str) -> Self {
        Self { store: Memory::new(), count: Arc::default() }
    }

    async fn another(&self) -> Self {
        self.clone()
    }

    fn store(&self) -> Memory {
        self.store.clone()
    }

    async fn commit(&self, attempt: Attempt<Memory>) -> Result<Completed, Failed> {
        let mut tx = self.store.begin();
        let id = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        tx.put("effect", &id.to_string());
        Ok(attempt.complete(tx, (StatusCode::CREATED, Json(json!({ "effect": id })))).await?)
    }

    async fn commit_joined(&self, attempt: Attempt<Memory>) -> Result<Completed, Failed> {
        let mut tx = self.store.begin();
        attempt.join(&mut tx).await?;
        let id = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        tx.put("effect", &id.to_string());
        Ok(attempt.complete(tx, (StatusCode::CREATED, Json(json!({ "effect": id })))).await?)
    }

    async fn effects(&self) -> i64 {
        i64::try_from(self.store.rows("effect").len()).unwrap()
    }
}
