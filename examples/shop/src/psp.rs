//! A payment provider to try against.
//!
//! It behaves as the documented ones do: `POST /charges` wants an `Idempotency-Key`, the same key with the same body is
//! charged once and answered alike, another body is refused, and so is a second call while the first is under way. What
//! goes wrong with real ones goes wrong here when it is asked for, one fault per coming call: an answer that never comes
//! though the card was charged, an error before or after the charge, a slow answer.
//!
//! So what a caller did can be counted afterwards: `GET /charges` is what was really charged, `GET /ledger` is every call
//! that came and what was answered.
//!
//! # Guarantees
//! With a ledger file, a call is on disk before its answer leaves. Killed at any instant and started again, the provider
//! knows every charge that it may have told somebody about, and the keys they came under.

mod answer;
mod api;
mod book;
mod entry;
mod fault;
mod journal;
mod listener;
mod order;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;

pub use listener::serve;

use book::Book;

/// A provider. Clones are one provider.
#[derive(Clone, Debug, Default)]
pub struct Psp(Arc<Mutex<Book>>);

impl Psp {
    /// A provider whose ledger is kept in a file, and read from it where there is one.
    ///
    /// # Errors
    /// Where the file cannot be opened, or holds something else.
    pub fn with_ledger(path: &Path) -> anyhow::Result<Self> {
        let book = journal::open(path).with_context(|| format!("the ledger {}", path.display()))?;
        Ok(Self(Arc::new(Mutex::new(book))))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
