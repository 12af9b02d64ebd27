//! Problem documents (RFC 9457): one shape for everything that goes wrong.
//!
//! `code` is what a program matches, `detail` is what a person acts on, `retryable` is what a client obeys. Each `type` has
//! a section in `docs/problems.md`.

use std::borrow::Cow;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use samekey_core::key::KeyError;
use samekey_core::{Effect, StoreError};
use serde::Serialize;

use crate::fields::Fault;
use crate::intake::IntakeError;

/// Something went wrong. Boxed, since it travels through results that are nearly always good.
#[derive(Debug)]
pub struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    body: Body,
    header: Option<(HeaderName, HeaderValue)>,
}

#[derive(Debug, Serialize)]
struct Body {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: Cow<'static, str>,
    code: &'static str,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_status: Option<u16>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
}

#[derive(Debug, Serialize)]
struct FieldError {
    pointer: Cow<'static, str>,
    detail: String,
}

impl Problem {
    fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        let body = Body {
            r#type: format!("urn:samekey:problem:{}", code.replace('_', "-")),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            code,
            retryable: matches!(status.as_u16(), 408 | 429 | 503),
            original_status: None,
            errors: Vec::new(),
        };
        Self(Box::new(Parts { status, body, header: None }))
    }

    fn with_header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.0.header = Some((name, HeaderValue::from_static(value)));
        self
    }

    /// Its machine-readable name.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.body.code
    }

    pub(crate) fn not_found(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Not found", detail)
    }

    pub(crate) fn method_not_allowed(detail: String) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Method not allowed", detail)
    }

    pub(crate) fn unauthorized(detail: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized", detail)
            .with_header(WWW_AUTHENTICATE, "Bearer")
    }

    pub(crate) fn unsupported_media_type() -> Self {
        let detail = "send the message as JSON, with `Content-Type: application/json`";
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "Unsupported media type",
            detail,
        )
    }

    pub(crate) fn payload_too_large(limit: usize) -> Self {
        let detail = format!("the body is larger than {limit} bytes; nothing was stored");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", "Payload too large", detail)
    }

    pub(crate) fn request_timeout() -> Self {
        let detail = "the body did not arrive in time; nothing was stored, send it again";
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", "Request timeout", detail)
    }

    pub(crate) fn body_cut() -> Self {
        let detail = "the body ended before it was whole; nothing was stored, send it again";
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", "Invalid request", detail)
    }

    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        let detail = match faults.as_slice() {
            [only] if only.pointer.is_empty() => only.detail.clone(),
            [only] => format!("{}: {}", only.pointer, only.detail),
            several => format!("{} members are wrong; see `errors`", several.len()),
        };
        let errors = faults
            .into_iter()
            .map(|fault| FieldError { pointer: fault.pointer, detail: fault.detail })
            .collect();
        let mut problem = Self::new(StatusCode::BAD_REQUEST, "invalid_request", "Invalid request", detail);
        problem.0.body.errors = errors;
        problem
    }

    pub(crate) fn key(error: KeyError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.code(), "Invalid idempotency key", error.to_string())
    }

    pub(crate) fn keys_disagree() -> Self {
        let detail = "the Idempotency-Key header and the member `idempotency_key` name different keys; send one of them";
        Self::new(StatusCode::BAD_REQUEST, "idempotency_key_invalid", "Invalid idempotency key", detail)
    }

    pub(crate) fn key_reused() -> Self {
        let detail = "this key was used for another request; nothing was stored. A new intent needs a new key; a retry must \
                      send the same body";
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "Idempotency key reused",
            detail,
        )
    }

    pub(crate) fn key_expired(original_status: u16) -> Self {
        let detail = "this key was used so long ago that its message is no longer recognised; it was accepted then, and \
                      nothing was stored now. A new intent needs a new key";
        let mut problem =
            Self::new(StatusCode::CONFLICT, "idempotency_key_expired", "Idempotency key expired", detail);
        problem.0.body.original_status = Some(original_status);
        problem
    }

    pub(crate) fn unavailable(detail: &'static str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", "Service unavailable", detail)
            .with_header(RETRY_AFTER, "1")
    }

    fn broken() -> Self {
        let detail =
            "the service cannot do this because of a fault of its own; nothing was stored. Its log says more";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "Internal error", detail)
    }
}

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Away { effect: Effect::Unknown | Effect::Applied, .. } => Self::unavailable(
                "the database was lost while the message was being stored; whether it was is not known. Retry with the \
                 same key: it is stored once",
            ),
            StoreError::Away { .. } | StoreError::Busy { .. } | StoreError::Schema(_) => Self::unavailable(
                "the database cannot be reached; nothing was stored. Retry with the same key",
            ),
            StoreError::Unreadable(_) => Self::unavailable(
                "the key was used under a newer release, which this one cannot read; nothing was stored. Retry later",
            ),
            _ => Self::broken(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::warn!(target: "samekey::rejection", %error, "the store failed");
        Self::from(&error)
    }
}

impl From<IntakeError> for Problem {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Full => Self::unavailable(
                "the service has more work than it can take; nothing was stored. Retry with the same key",
            ),
            IntakeError::Store(error) => Self::from(&*error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Parts { status, body, header } = *self.0;
        tracing::debug!(target: "samekey::rejection", code = body.code, detail = %body.detail, "refused");
        let body = serde_json::to_vec(&body).expect("a problem is plain data");
        let content_type = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(CONTENT_TYPE, content_type)], body).into_response();
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
