//! The shop: orders are charged and kept, notes are added to them.
//!
//! What a retry must not do twice is said by three lines: the layer around the routes ([`routes`]), `step` around the charge,
//! and `complete` in the place of `commit` (in [`books`]).

pub mod books;
mod payments;
mod postgres;
mod sqlite;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use samekey::{Completed, IdempotencyLayer, Keys};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use payments::Payments;
pub use postgres::InPostgres;
pub use sqlite::InSqlite;

use books::{Attempt, Books};
use payments::Charge;

/// What a customer wants.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cart {
    items: Vec<Item>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    sku: String,
    quantity: u32,
    unit_price_cents: u32,
}

impl Cart {
    /// What it costs; nothing for a cart that is empty or costs more than there is money.
    fn total_cents(&self) -> Option<u64> {
        let cost = |item: &Item| u64::from(item.quantity) * u64::from(item.unit_price_cents);
        self.items.iter().try_fold(0_u64, |sum, item| sum.checked_add(cost(item))).filter(|total| *total > 0)
    }
}

/// A remark on an order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    text: String,
}

/// Who calls: their token says so.
#[derive(Clone, Debug)]
pub struct Account {
    name: String,
}

impl<S: Sync> FromRequestParts<S> for Account {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let known = HashMap::from([("Bearer ada-token", "ada"), ("Bearer bob-token", "bob")]);
        let header = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
        header
            .and_then(|header| known.get(header))
            .map(|name| Self { name: (*name).to_owned() })
            .ok_or(Error::Unauthorized)
    }
}

/// Why there is no order.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No token, or one that nobody has.
    #[error("send `Authorization: Bearer ada-token` or `bob-token`")]
    Unauthorized,
    /// A cart that costs nothing.
    #[error("the cart is empty, or costs nothing")]
    EmptyCart,
    /// An order that this account does not have.
    #[error("you have no such order")]
    NoSuchOrder,
    /// The payment provider did not answer.
    #[error("the payment provider did not answer: {0}")]
    NoAnswer(String),
    /// The database.
    #[error("the database failed: {0}")]
    Database(Box<dyn std::error::Error + Send + Sync>),
    /// Samekey; the layer knows the answer.
    #[error(transparent)]
    Samekey(#[from] samekey::Error),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::EmptyCart => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NoSuchOrder => StatusCode::NOT_FOUND,
            Self::NoAnswer(_) | Self::Database(_) | Self::Samekey(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}

/// What the handlers share.
struct Shop<B> {
    books: B,
    payments: Payments,
}

/// The shop's service. `lease`: how long a key stays blocked after the process that had it has died.
pub fn routes<B: Books>(books: B, payments: Payments, lease: Duration) -> Router {
    let keys = Keys::new(books.store());
    let once = IdempotencyLayer::scoped_by_extractor(keys, (), |account: &Account| account.name.clone());
    let once = once.lease(lease);
    Router::new()
        .route("/orders", post(create_order::<B>).layer(once.clone()))
        .route("/orders/{id}/notes", post(add_note::<B>).layer(once.joined()))
        .with_state(Arc::new(Shop { books, payments }))
}

async fn create_order<B: Books>(
    State(shop): State<Arc<Shop<B>>>,
    account: Account,
    attempt: Attempt<B>,
    Json(cart): Json<Cart>,
) -> Result<Completed, Error> {
    let total = cart.total_cents().ok_or(Error::EmptyCart)?;
    let charge =
        attempt.step("charge", async |key| shop.payments.charge(&key, &account.name, total).await).await??;
    match charge {
        Charge::Charged { id } => shop.books.keep_order(attempt, account.name, cart, id, total).await,
        // The customer was told no: that is the answer of this order, also to a retry.
        Charge::Declined { reason } => {
            let refusal =
                (StatusCode::PAYMENT_REQUIRED, Json(json!({ "code": "card_declined", "reason": reason })));
            Ok(attempt.finish(refusal).await?)
        }
    }
}

async fn add_note<B: Books>(
    State(shop): State<Arc<Shop<B>>>,
    account: Account,
    Path(order): Path<i64>,
    attempt: Attempt<B>,
    Json(note): Json<Note>,
) -> Result<Completed, Error> {
    shop.books.keep_note(attempt, account.name, order, note.text).await
}
