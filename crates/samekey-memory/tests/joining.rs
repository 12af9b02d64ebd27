//! Transactions of the store in memory under what the one suite says of joining.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex};

use samekey_conformance::JoinHarness;
use samekey_memory::{Memory, MemoryTransaction};

/// By address. A database is found again by its name; a store in memory only by who keeps it.
static STORES: LazyLock<Mutex<HashMap<String, Memory>>> = LazyLock::new(Mutex::default);

struct UnderTest;

impl JoinHarness for UnderTest {
    type Store = Memory;
    type Connection = Memory;
    type Tx<'c> = MemoryTransaction;

    async fn create(case: &str) -> String {
        STORES.lock().expect("no case panics with it").insert(case.to_owned(), Memory::new());
        case.to_owned()
    }

    async fn open(address: &str) -> Memory {
        STORES.lock().expect("no case panics with it")[address].clone()
    }

    async fn connect(address: &str) -> Memory {
        Self::open(address).await
    }

    async fn begin(connection: &mut Memory) -> MemoryTransaction {
        connection.begin()
    }

    async fn insert(tx: &mut Self::Tx<'_>, text: &str) {
        tx.put("effect", text);
    }

    async fn effects(address: &str) -> usize {
        Self::open(address).await.rows("effect").len()
    }

    async fn savepoint<'t>(tx: &'t mut Self::Tx<'_>) -> Option<Self::Tx<'t>> {
        Some(tx.savepoint())
    }
}

fn main() -> ExitCode {
    samekey_conformance::joining::<UnderTest>()
}
