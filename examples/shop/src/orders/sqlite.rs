//! Orders in an SQLite file, beside Samekey's tables.

use std::path::Path;

use samekey::Completed;
use samekey::sqlite::rusqlite::{self, OptionalExtension as _};
use samekey::sqlite::{Attempt, Sqlite};

use super::books::{Books, cents, noted, ordered};
use super::{Cart, Error};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, cart TEXT NOT NULL, charge TEXT NOT NULL,
        total_cents INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS notes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, \"order\" INTEGER NOT NULL, text TEXT NOT NULL) STRICT;";

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

/// Books in one file.
#[derive(Debug)]
pub struct InSqlite {
    store: Sqlite,
}

impl InSqlite {
    /// Opens them; creates what is missing.
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub async fn open(path: &Path) -> anyhow::Result<Self> {
        let store = Sqlite::migrate(path).await?;
        let db = rusqlite::Connection::open(path)?;
        db.busy_timeout(std::time::Duration::from_secs(5))?;
        db.execute_batch(TABLES)?;
        Ok(Self { store })
    }
}

impl Books for InSqlite {
    type Store = Sqlite;

    fn store(&self) -> Sqlite {
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
        attempt
            .write(move |tx| {
                tx.execute(
                    "INSERT INTO orders (account, cart, charge, total_cents) VALUES (?1, ?2, ?3, ?4)",
                    (account, &cart, &charge, cents(total)),
                )?;
                Ok(ordered(tx.last_insert_rowid(), &charge, total))
            })
            .await
    }

    async fn keep_note(
        &self,
        attempt: Attempt,
        account: String,
        order: i64,
        text: String,
    ) -> Result<Completed, Error> {
        attempt
            .write(move |tx| {
                let known = tx.query_row(
                    "SELECT 1 FROM orders WHERE id = ?1 AND account = ?2",
                    (order, account),
                    |_| Ok(()),
                );
                known.optional()?.ok_or(Error::NoSuchOrder)?;
                tx.execute("INSERT INTO notes (\"order\", text) VALUES (?1, ?2)", (order, &text))?;
                Ok(noted(tx.last_insert_rowid()))
            })
            .await
    }
}
