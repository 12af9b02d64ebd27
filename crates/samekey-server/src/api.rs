//! The sending API over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/messages` | 202 `queued`, or `duplicate_ignored` with the first message's id |
//! | `GET /v1/messages/{id}` | the message, its state and its attempts |
//! | `GET /healthz`, `/readyz`, `/metrics` | for operators; without a token |
//!
//! Everything else is a problem document (RFC 9457) that says what to do. Checks run in the contract's order:
//! authentication, key syntax, size, then the body, then the store.

mod authentication;
mod health;
mod listener;
mod messages;
pub mod metrics;
mod problem;
mod request_id;
mod view;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Uri};
use axum::routing::{get, post};
use axum::{Router, middleware};
use samekey_core::store::RecipeId;

pub use authentication::Authentication;
pub use listener::{Listener, Served};
pub use messages::MessageRules;
pub use problem::Problem;

use crate::intake::Intake;
use crate::store::Store;

/// What every handler knows.
#[derive(Debug)]
pub struct Api {
    /// For reading; writing goes through the intake.
    pub store: Store,
    /// Where messages are handed in.
    pub intake: Intake,
    /// Who is asking.
    pub authentication: Authentication,
    /// How messages are checked and how long their keys are kept.
    pub rules: MessageRules,
    /// How fingerprints are made in this release.
    pub recipe: RecipeId,
}

/// The routes.
pub fn router(api: Api) -> Router {
    Router::new()
        .route("/v1/messages", post(messages::create))
        .route("/v1/messages/{id}", get(messages::show))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::show))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        // Sizes are checked where the body is read, with an answer of our own.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn(request_id::carry))
        .with_state(Arc::new(api))
}

async fn not_found(uri: Uri) -> Problem {
    let detail = format!("there is nothing at {}; the API begins at /v1/messages", uri.path());
    Problem::not_found(detail)
}

async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    Problem::method_not_allowed(format!("{} cannot be done to {}", method, uri.path()))
}
