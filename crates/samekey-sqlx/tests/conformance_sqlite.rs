//! The store beside `sqlx` in SQLite under the one suite.

use std::process::ExitCode;

use samekey_conformance::Harness;
use samekey_sqlx::sqlite::Sqlite;

struct UnderTest;

impl Harness for UnderTest {
    type Store = Sqlite;

    async fn create(case: &str) -> String {
        let folder = tempfile::Builder::new().prefix("samekey-").tempdir().expect("there is room for a file");
        // Kept until the system clears its temporary files: the second process of a race opens it by name.
        let path = folder.keep().join(format!("{case}.db"));
        Sqlite::migrate(&path).await.expect("a new file can be migrated");
        path.display().to_string()
    }

    async fn open(address: &str) -> Sqlite {
        Sqlite::open(address).await.expect("it was migrated")
    }
}

fn main() -> ExitCode {
    samekey_conformance::records::<UnderTest>()
}
