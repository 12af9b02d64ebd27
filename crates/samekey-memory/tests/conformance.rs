//! The store in memory under what the one suite says of records.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex};

use samekey_conformance::Harness;
use samekey_memory::Memory;

/// By address. A database is found again by its name; a store in memory only by who keeps it.
static STORES: LazyLock<Mutex<HashMap<String, Memory>>> = LazyLock::new(Mutex::default);

struct UnderTest;

impl Harness for UnderTest {
    type Store = Memory;

    async fn create(case: &str) -> String {
        STORES.lock().expect("no case panics with it").insert(case.to_owned(), Memory::new());
        case.to_owned()
    }

    async fn open(address: &str) -> Memory {
        STORES.lock().expect("no case panics with it")[address].clone()
    }
}

fn main() -> ExitCode {
    samekey_conformance::records_in_one_process::<UnderTest>()
}
