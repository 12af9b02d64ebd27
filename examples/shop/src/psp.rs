//! A payment provider, as the known ones behave: it has idempotency keys of its own, and faults on command.
//!
//! It stands where the real one is out of reach. It is no part of Samekey and uses none of it, so that what it counts is
//! evidence: its ledger writes down every call that it heard, in order, and apart from them what it really charged.

mod faults;
mod ledger;

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;

use faults::{Fault, Faults};
use ledger::{Card, Ledger};

const MAX_BODY: usize = 64 * 1024;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeRequest {
    /// What to charge.
    pub amount_cents: u64,
    /// Whom.
    pub account: String,
}

#[derive(Debug, Default)]
struct Provider {
    ledger: Mutex<Ledger>,
    faults: Mutex<Faults>,
}

type Shared = Arc<Provider>;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The provider's service.
pub fn routes() -> Router {
    Router::new()
        .route("/charges", post(charge).get(charges))
        .route("/ledger", get(calls))
        .route("/faults", post(order_faults))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Shared::default())
}

async fn charge(
    State(provider): State<Shared>,
    headers: HeaderMap,
    Json(request): Json<ChargeRequest>,
) -> Response {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
    let fault = lock(&provider.faults).next();
    if key.is_empty() {
        return problem(StatusCode::BAD_REQUEST, "idempotency_key_missing", "send an Idempotency-Key");
    }
    lock(&provider.ledger).heard(&key, &request);
    match fault {
        Some(Fault::ErrorBefore) => {
            return problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "try again");
        }
        Some(Fault::Slow(wait)) => tokio::time::sleep(wait).await,
        _ => {}
    }
    let card = if fault == Some(Fault::Declined) { Card::Declined } else { Card::Good };
    let Ok((status, body)) = lock(&provider.ledger).settle(&key, &request, card) else {
        let detail = "another request has this key";
        return problem(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", detail);
    };
    match fault {
        Some(Fault::Drop) => cut(),
        Some(Fault::ErrorAfter) => problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "try again"),
        _ => (status, Json(body)).into_response(),
    }
}

/// An answer whose body breaks off: the connection is closed, and the caller does not know.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<bytes::Bytes, _>(std::io::Error::other("cut")) });
    Response::new(axum::body::Body::from_stream(broken))
}

async fn charges(State(provider): State<Shared>) -> Response {
    Json(lock(&provider.ledger).charges()).into_response()
}

async fn calls(State(provider): State<Shared>) -> Response {
    Json(lock(&provider.ledger).calls()).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    next: Vec<String>,
}

async fn order_faults(State(provider): State<Shared>, Json(order): Json<Order>) -> Response {
    match lock(&provider.faults).order(&order.next) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(detail) => problem(StatusCode::BAD_REQUEST, "invalid_request", &detail),
    }
}

fn problem(status: StatusCode, code: &str, detail: &str) -> Response {
    (status, Json(json!({ "code": code, "detail": detail }))).into_response()
}
