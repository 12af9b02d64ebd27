//! The store over `sqlx` in PostgreSQL under the one suite.

use std::process::ExitCode;

use samekey_conformance::Harness;
use samekey_sqlx::postgres::Postgres;
use sqlx::PgPool;

struct UnderTest;

async fn pool(url: &str) -> PgPool {
    PgPool::connect(url).await.expect("the testbed gives a good address")
}

impl Harness for UnderTest {
    type Store = Postgres;

    async fn create(case: &str) -> String {
        let url = testbed::database(case);
        Postgres::migrate(&pool(&url).await).await.expect("a new database can be migrated");
        url
    }

    async fn open(address: &str) -> Postgres {
        Postgres::beside(&pool(address).await)
    }
}

fn main() -> ExitCode {
    samekey_conformance::records::<UnderTest>()
}
