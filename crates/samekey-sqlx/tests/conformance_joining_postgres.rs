//! Transactions of `sqlx` on PostgreSQL under what the one suite says of joining.

use std::process::ExitCode;

use samekey_conformance::JoinHarness;
use samekey_sqlx::postgres::Postgres;
use sqlx::{Acquire as _, PgPool, Transaction};

struct UnderTest;

async fn pool(address: &str) -> PgPool {
    PgPool::connect(address).await.expect("the cluster runs")
}

impl JoinHarness for UnderTest {
    type Store = Postgres;
    type Connection = PgPool;
    type Tx<'c> = Transaction<'c, sqlx::Postgres>;

    async fn create(case: &str) -> String {
        let url = testbed::database(case);
        let pool = pool(&url).await;
        Postgres::migrate(&pool).await.expect("an empty database can be migrated");
        sqlx::query("CREATE TABLE effect (text text NOT NULL)").execute(&pool).await.expect("it is new");
        url
    }

    async fn open(address: &str) -> Postgres {
        Postgres::beside(&pool(address).await)
    }

    async fn connect(address: &str) -> PgPool {
        pool(address).await
    }

    async fn begin(connection: &mut PgPool) -> Self::Tx<'_> {
        connection.begin().await.expect("the pool has room")
    }

    async fn insert(tx: &mut Self::Tx<'_>, text: &str) {
        let insert = sqlx::query("INSERT INTO effect (text) VALUES ($1)").bind(text.to_owned());
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
