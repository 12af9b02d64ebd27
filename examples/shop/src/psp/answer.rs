//! What the provider says.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::entry::Charge;

/// A status and a body, as they are kept under a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn charged(charge: &Charge) -> Self {
        Self { status: 201, body: json!(charge) }
    }

    /// A refusal of the bank's: an answer like any other, kept under its key.
    pub(super) fn declined() -> Self {
        Self::refusal(402, "card_declined", "insufficient_funds")
    }

    pub(super) fn invalid(reason: &str) -> Self {
        Self::refusal(400, "invalid_request", reason)
    }

    pub(super) fn key_missing() -> Self {
        Self::refusal(
            400,
            "idempotency_key_missing",
            "send one Idempotency-Key of 1 to 255 printable characters",
        )
    }

    pub(super) fn key_reused() -> Self {
        Self::refusal(422, "idempotency_key_reused", "the key came before, with another body")
    }

    pub(super) fn in_progress() -> Self {
        Self::refusal(409, "request_in_progress", "the first call with this key is under way")
    }

    pub(super) fn too_large() -> Self {
        Self::refusal(413, "payload_too_large", "64 KiB are the most")
    }

    pub(super) fn full() -> Self {
        Self::refusal(503, "ledger_full", "no more calls are taken; start anew")
    }

    /// What the caller cannot see through: something was charged, or it was not.
    pub(super) fn error() -> Self {
        Self::refusal(500, "internal_error", "something went wrong")
    }

    fn refusal(status: u16, code: &str, reason: &str) -> Self {
        Self { status, body: json!({ "code": code, "reason": reason }) }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.body)).into_response()
    }
}
