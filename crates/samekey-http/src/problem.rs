//! Problem documents (RFC 9457): what the layer says when it does not run the handler.
//!
//! `code` is what a program matches, `detail` is what a person acts on, `retryable` is what a client obeys.

use std::borrow::Cow;

use axum_core::body::Body;
use axum_core::response::IntoResponse;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use samekey_core::key::KeyError;
use samekey_core::{Effect, StoreError};
use serde::Serialize;

use crate::keys::{Failure, Refusal};

/// An answer of the layer's own.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    retry_after_s: Option<u32>,
    body: Members,
}

#[derive(Debug, Serialize)]
struct Members {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: Cow<'static, str>,
    code: &'static str,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_status: Option<u16>,
}

impl Problem {
    fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        let body = Members {
            r#type: format!("urn:samekey:problem:{}", code.replace('_', "-")),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            code,
            retryable: status == StatusCode::SERVICE_UNAVAILABLE,
            original_status: None,
        };
        Self { status, retry_after_s: None, body }
    }

    fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self.body.retryable = true;
        self
    }

    fn original_status(mut self, status: u16) -> Self {
        self.body.original_status = Some(status);
        self
    }

    /// Its name, as programs match it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.body.code
    }

    pub(crate) fn layer_missing() -> Self {
        let detail = "this handler takes an `Attempt`, but no `IdempotencyLayer` over the same store is around its route, or \
                      the layer does not cover this method; add `.layer(IdempotencyLayer::…)` to the route";
        Self::broken(detail)
    }

    pub(crate) fn scope_missing(type_name: &'static str) -> Self {
        let detail = format!(
            "the request has no `{type_name}` to take the scope from. The layer that authenticates must run before the \
             IdempotencyLayer: add it after, so that it is outside"
        );
        tracing::error!(target: "samekey::rejection", %detail);
        Self::broken(detail)
    }

    pub(crate) fn scope_empty() -> Self {
        Self::broken("the scope is empty: every caller without one would share their keys")
    }

    fn broken(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "Internal error", detail)
    }

    pub(crate) fn key_missing() -> Self {
        let detail = "this request needs an Idempotency-Key header: a name for what you want done once, minted before the \
                      first attempt and sent with every one";
        Self::new(StatusCode::BAD_REQUEST, "idempotency_key_missing", "Idempotency key missing", detail)
    }

    pub(crate) fn key(error: KeyError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.code(), "Invalid idempotency key", error.to_string())
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let detail = format!("the body is larger than {limit} bytes; nothing was done");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", "Payload too large", detail)
    }

    pub(crate) fn body_cut() -> Self {
        let detail = "the body ended before it was whole; nothing was done, send it again";
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", "Invalid request", detail)
    }

    pub(crate) fn unavailable(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", "Service unavailable", detail)
            .retry_after(1)
    }

    fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Away { effect: Effect::Unknown | Effect::Applied, .. } => Self::unavailable(
                "the database was lost in the middle; what became of the attempt is not known yet. Retry with the same key: \
                 it is done once",
            ),
            StoreError::Unreadable(_) => Self::unavailable(
                "the key was used under a newer release, which this one cannot read; nothing was done. Retry later",
            ),
            StoreError::Refused { .. } => {
                Self::broken("the database refused a statement: a fault of the set-up; the log says more")
            }
            _ => {
                Self::unavailable("the database cannot be reached; nothing was done. Retry with the same key")
            }
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InProgress { retry_after_s } => Self::new(
                StatusCode::CONFLICT,
                "request_in_progress",
                "Request in progress",
                "an earlier attempt with this key is still running; send the same request with the same key again, later",
            )
            .retry_after(retry_after_s),
            Refusal::Reused => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "Idempotency key reused",
                "this key was used for another request; nothing was done. A new intent needs a new key; a retry must send \
                 the same request",
            ),
            Refusal::Expired { original_status } => Self::new(
                StatusCode::CONFLICT,
                "idempotency_key_expired",
                "Idempotency key expired",
                "this key was used so long ago that its answer is no longer kept; nothing was done now. A new intent needs a \
                 new key",
            )
            .original_status(original_status),
            Refusal::Unknown => Self::new(
                StatusCode::CONFLICT,
                "outcome_unknown",
                "Outcome unknown",
                "whether an earlier attempt with this key had its effect cannot be told; nothing was done now. It stays so \
                 until somebody settles it: do not try with a new key before that",
            ),
            Refusal::NotReplayable { original_status } => Self::new(
                StatusCode::CONFLICT,
                "response_not_replayable",
                "Response not replayable",
                "this request was answered before, and its answer was not kept; nothing was done now",
            )
            .original_status(original_status),
            Refusal::Store(error) => Self::of_store(&error),
            Refusal::Full => Self::unavailable(
                "the service has more work than it can take; nothing was done. Retry with the same key",
            ),
        }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotCompleted => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "attempt_not_completed",
                "Attempt not completed",
                "the handler of a joined route answered with success and never called `complete`: its transaction was rolled \
                 back, and nothing was done",
            ),
            Failure::Interrupted => Self::unavailable(
                "the attempt did not come to its end; retry with the same key, and it is resumed",
            ),
            Failure::TimedOut => {
                Self::unavailable("the attempt took too long and was given up; retry with the same key")
            }
            Failure::Broken => Self::broken("the handler failed; the log says more. Retry with the same key"),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        tracing::debug!(target: "samekey::rejection", code = self.body.code, detail = %self.body.detail, "refused");
        let text = serde_json::to_vec(&self.body).expect("a problem is plain data");
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
