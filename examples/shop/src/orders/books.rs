//! Where orders are kept. A shop has one database; this example runs on two, so what differs is behind a trait.

use std::future::Future;

use axum::Json;
use axum::http::StatusCode;
use samekey::Completed;
use samekey::core::store::Records;
use serde_json::json;

use super::{Cart, Error};

/// The attempt in the hands of a handler on these books.
pub type Attempt<B> = samekey::HttpAttempt<<B as Books>::Store>;

/// A database with orders in it.
pub trait Books: Send + Sync + 'static {
    /// Where the records are: in the same database.
    type Store: Records;

    /// It.
    fn store(&self) -> Self::Store;

    /// Keeps a charged order, and its answer, in one commit.
    fn keep_order(
        &self,
        attempt: Attempt<Self>,
        account: String,
        cart: Cart,
        charge: String,
        total_cents: u64,
    ) -> impl Future<Output = Result<Completed, Error>> + Send
    where
        Self: Sized;

    /// Adds a note to an order of this account.
    fn keep_note(
        &self,
        attempt: Attempt<Self>,
        account: String,
        order: i64,
        text: String,
    ) -> impl Future<Output = Result<Completed, Error>> + Send
    where
        Self: Sized;
}

pub(super) fn ordered(id: i64, charge: &str, total_cents: u64) -> (StatusCode, Json<serde_json::Value>) {
    (StatusCode::CREATED, Json(json!({ "id": id, "charge": charge, "total_cents": total_cents })))
}

pub(super) fn noted(id: i64) -> (StatusCode, Json<serde_json::Value>) {
    (StatusCode::CREATED, Json(json!({ "id": id })))
}

pub(super) fn cents(total: u64) -> i64 {
    i64::try_from(total).unwrap_or(i64::MAX)
}
