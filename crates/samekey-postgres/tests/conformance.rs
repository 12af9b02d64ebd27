//! The store in PostgreSQL under the one suite.

use std::process::ExitCode;

use samekey_conformance::Harness;
use samekey_postgres::{Options, Postgres};

struct UnderTest;

impl Harness for UnderTest {
    type Store = Postgres;

    async fn create(case: &str) -> String {
        let url = testbed::database(case);
        let options = Options::from_url(&url).expect("the testbed gives a good address");
        Postgres::migrate(&options).await.expect("a new database can be migrated");
        url
    }

    async fn open(address: &str) -> Postgres {
        let options = Options::from_url(address).expect("the testbed gives a good address");
        Postgres::open(&options).await.expect("it was migrated")
    }
}

fn main() -> ExitCode {
    samekey_conformance::main::<UnderTest>()
}
