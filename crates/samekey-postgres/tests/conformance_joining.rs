//! Transactions of `tokio-postgres` under what the one suite says of joining.

use std::process::ExitCode;

use samekey_conformance::JoinHarness;
use samekey_postgres::{Options, Postgres};
use tokio_postgres::{Client, NoTls, Transaction};

struct UnderTest;

impl JoinHarness for UnderTest {
    type Store = Postgres;
    type Connection = Client;
    type Tx<'c> = Transaction<'c>;

    async fn create(case: &str) -> String {
        let url = testbed::database(case);
        let options = Options::from_url(&url).expect("the cluster gives a URL");
        Postgres::migrate(&options).await.expect("an empty database can be migrated");
        let table = "CREATE TABLE effect (text text NOT NULL)";
        Self::connect(&url).await.batch_execute(table).await.expect("it is new");
        url
    }

    async fn open(address: &str) -> Postgres {
        let options = Options::from_url(address).expect("it was a URL before");
        Postgres::open(&options).await.expect("it was migrated")
    }

    async fn connect(address: &str) -> Client {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await.expect("the cluster runs");
        tokio::spawn(connection);
        client
    }

    async fn begin(connection: &mut Client) -> Self::Tx<'_> {
        connection.transaction().await.expect("it is idle")
    }

    async fn insert(tx: &mut Self::Tx<'_>, text: &str) {
        tx.execute("INSERT INTO effect (text) VALUES ($1)", &[&text]).await.expect("the table is there");
    }

    async fn effects(address: &str) -> usize {
        let row = Self::connect(address).await.query_one("SELECT count(*) FROM effect", &[]).await;
        let count: i64 = row.expect("the table is there").get(0);
        usize::try_from(count).expect("a count is not negative")
    }

    async fn savepoint<'t>(tx: &'t mut Self::Tx<'_>) -> Option<Self::Tx<'t>> {
        Some(tx.transaction().await.expect("the transaction is open"))
    }
}

fn main() -> ExitCode {
    samekey_conformance::joining::<UnderTest>()
}
