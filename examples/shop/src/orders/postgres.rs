//! Orders in PostgreSQL: the shop's own pool, and Samekey's beside it.

use deadpool_postgres::{Manager, Pool, PoolError};
use samekey::Completed;
use samekey::postgres::{Attempt, Options, Postgres};
use tokio_postgres::NoTls;

use super::books::{Books, cents, noted, ordered};
use super::{Cart, Error};

const TABLES: &str = "
    SELECT pg_advisory_xact_lock(7302);
    CREATE TABLE IF NOT EXISTS orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account text NOT NULL, cart text NOT NULL, charge text NOT NULL,
        total_cents bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS notes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \"order\" bigint NOT NULL REFERENCES orders, text text NOT NULL);";

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        Self::Database(Box::new(error))
    }
}

/// Books in PostgreSQL.
#[derive(Debug)]
pub struct InPostgres {
    db: Pool,
    store: Postgres,
}

impl InPostgres {
    /// Opens them; creates what is missing.
    ///
    /// # Errors
    /// Where the database cannot be reached.
    pub async fn open(url: &str) -> anyhow::Result<Self> {
        let store = Postgres::migrate(&Options::from_url(url)?).await?;
        let db = Pool::builder(Manager::new(url.parse()?, NoTls)).max_size(16).build()?;
        db.get().await?.batch_execute(&format!("BEGIN; {TABLES} COMMIT")).await?;
        Ok(Self { db, store })
    }
}

impl Books for InPostgres {
    type Store = Postgres;

    fn store(&self) -> Postgres {
        self.store.clone()
    }

    async fn keep_order(
        &self,
        attempt: Attempt,
        account: String,
        cart: Cart,
        charge: String,
        total: u64,
    ) -> Result<Completed, Error> {
        let cart = serde_json::to_string(&cart).map_err(|error| Error::Database(error.into()))?;
        let mut client = self.db.get().await?;
        let tx = client.transaction().await?;
        let row = tx
            .query_one(
                "INSERT INTO orders (account, cart, charge, total_cents) VALUES ($1, $2, $3, $4) RETURNING id",
                &[&account, &cart, &charge, &cents(total)],
            )
            .await?;
        Ok(attempt.complete(tx, ordered(row.get(0), &charge, total)).await?)
    }

    async fn keep_note(
        &self,
        attempt: Attempt,
        account: String,
        order: i64,
        text: String,
    ) -> Result<Completed, Error> {
        let mut client = self.db.get().await?;
        let mut tx = client.transaction().await?;
        attempt.join(&mut tx).await?;
        let row = tx
            .query_opt(
                "INSERT INTO notes (\"order\", text) SELECT id, $3 FROM orders WHERE id = $1 AND account = $2 RETURNING id",
                &[&order, &account, &text],
            )
            .await?
            .ok_or(Error::NoSuchOrder)?;
        Ok(attempt.complete(tx, noted(row.get(0))).await?)
    }
}
