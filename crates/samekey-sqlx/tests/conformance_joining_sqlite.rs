//! Transactions of `sqlx` on an SQLite file under what the one suite says of joining.

use std::process::ExitCode;
use std::time::Duration;

use samekey_conformance::{JoinHarness, Waiting};
use samekey_sqlx::sqlite::Sqlite;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Acquire as _, SqlitePool, Transaction};

struct UnderTest;

async fn pool(address: &str) -> SqlitePool {
    // A cleared busy_timeout would end a wait for the writer at once; this one is longer than any case takes.
    let options = SqliteConnectOptions::new().filename(address).busy_timeout(Duration::from_secs(30));
    SqlitePool::connect_with(options).await.expect("the file is there")
}

impl JoinHarness for UnderTest {
    type Store = Sqlite;
    type Connection = SqlitePool;
    type Tx<'c> = Transaction<'c, sqlx::Sqlite>;

    const WAITING: Waiting = Waiting::AtTheBegin;

    async fn create(case: &str) -> String {
        let folder = tempfile::Builder::new().prefix("samekey-").tempdir().expect("there is room for a file");
        // Kept until the system clears its temporary files: it is opened again by name.
        let address = folder.keep().join(format!("{case}.db")).display().to_string();
        Sqlite::migrate(&address).await.expect("a new file can be migrated");
        sqlx::query("CREATE TABLE effect (text TEXT NOT NULL)")
            .execute(&pool(&address).await)
            .await
            .expect("it is new");
        address
    }

    async fn open(address: &str) -> Sqlite {
        Sqlite::open(address).await.expect("it was migrated")
    }

    async fn connect(address: &str) -> SqlitePool {
        pool(address).await
    }

    async fn begin(connection: &mut SqlitePool) -> Self::Tx<'_> {
        connection.begin_with("BEGIN IMMEDIATE").await.expect("the pool has room")
    }

    async fn insert(tx: &mut Self::Tx<'_>, text: &str) {
        let insert = sqlx::query("INSERT INTO effect (text) VALUES (?1)").bind(text.to_owned());
        insert.execute(&mut **tx).await.expect("the table is there");
    }

    async fn effects(address: &str) -> usize {
        let pool = pool(address).await;
        let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM effect").fetch_one(&pool).await;
        usize::try_from(count.expect("the table is there")).expect("a count is not negative")
    }

    async fn savepoint<'t>(tx: &'t mut Self::Tx<'_>) -> Option<Self::Tx<'t>> {
        Some(tx.begin().await.expect("the transaction is open"))
    }
}

fn main() -> ExitCode {
    samekey_conformance::joining::<UnderTest>()
}
