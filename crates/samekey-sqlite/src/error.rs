//! What SQLite said, in the words of the store: above all, whether anything was written.

use std::error::Error as StdError;

use rusqlite::Error;
use samekey_core::{Effect, StoreError};

// Result codes (sqlite.org/rescode.html).
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const NOMEM: i32 = 7;
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const PROTOCOL: i32 = 15;
const NOTADB: i32 = 26;

/// An error of a statement or a commit. SQLite is in our own process: a commit that did not say yes has not happened.
pub(crate) fn of(error: Error) -> StoreError {
    match error.sqlite_error() {
        Some(said) => of_code(Some(said.extended_code), error),
        // A fault in the use of the driver.
        None => StoreError::Refused { source: Box::new(error) },
    }
}

/// The same for another driver of SQLite, by the (primary or extended) result code that it was given.
pub fn of_code(code: Option<i32>, source: impl Into<Box<dyn StdError + Send + Sync>>) -> StoreError {
    let source = source.into();
    // The low byte of an extended code is the primary one.
    match code.map(|code| code & 0xff) {
        Some(BUSY | LOCKED) => StoreError::Busy { source },
        Some(NOMEM | READONLY | IOERR | FULL | CANTOPEN | PROTOCOL) | None => {
            StoreError::Away { effect: Effect::NotApplied, source }
        }
        Some(CORRUPT | NOTADB) => StoreError::Unreadable(source.to_string()),
        Some(_) => StoreError::Refused { source },
    }
}

pub(crate) fn away(why: impl Into<String>) -> StoreError {
    StoreError::Away { effect: Effect::NotApplied, source: why.into().into() }
}

pub(crate) fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Unreadable(what.to_string())
}
