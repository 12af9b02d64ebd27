//! An answer on its way into the record, and out of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum_core::body::Body;
use axum_core::response::IntoResponse;
use http::header::{
    CONNECTION, DATE, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use samekey_core::Answer;

/// Of the connection, not of the answer (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// How a route keeps its answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptResponse {
    /// The longest body that is kept; `None`: no body is.
    pub(crate) limit: Option<usize>,
    pub(crate) cookies: Cookies,
}

/// Whether `Set-Cookie` is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookies {
    LeaveOut,
    Keep,
}

/// What is written into the record, and where that is not the whole of it, the response itself, to be sent once.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) answer: Answer,
    whole: Arc<Mutex<Option<Response<Body>>>>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("status", &self.answer.status).finish_non_exhaustive()
    }
}

impl Kept {
    /// Reads the body, where it is to be kept and its length is known beforehand. A stream is not waited for: it is sent as it
    /// is, and its record keeps no body.
    pub(crate) async fn of(response: Response<Body>, keeping: KeptResponse) -> Self {
        let (parts, body) = response.into_parts();
        let length = body.size_hint().exact();
        let fits = keeping.limit.zip(length).is_some_and(|(limit, length)| length <= limit as u64);
        if length.is_none() {
            tracing::warn!(
                target: "samekey::rejection",
                "the handler streams its answer: a retry will hear that it cannot be replayed"
            );
        }
        let mut answer = Answer {
            status: parts.status.as_u16(),
            headers: kept_headers(&parts.headers, keeping.cookies),
            body: None,
        };
        if !fits {
            let whole = Some(Response::from_parts(parts, body));
            return Self { answer, whole: Arc::new(Mutex::new(whole)) };
        }
        let Ok(collected) = body.collect().await else { return Self { answer, whole: Arc::default() } };
        let trailers = collected.trailers().is_some();
        let bytes = collected.to_bytes();
        answer.body = (!trailers).then(|| bytes.clone());
        let cookies = keeping.cookies == Cookies::LeaveOut && parts.headers.contains_key(SET_COOKIE);
        let whole = (cookies || trailers).then(|| Response::from_parts(parts, Body::from(bytes)));
        Self { answer, whole: Arc::new(Mutex::new(whole)) }
    }

    /// The first answer.
    pub(crate) fn into_response(self) -> Response<Body> {
        let whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner).take();
        whole.unwrap_or_else(|| response_of(&self.answer))
    }
}

fn kept_headers(headers: &HeaderMap, cookies: Cookies) -> Vec<(String, Vec<u8>)> {
    let named: Vec<&str> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(str::trim))
        .collect();
    let stays = |name: &HeaderName| {
        !HOP_BY_HOP.contains(name)
            && *name != DATE
            && (*name != SET_COOKIE || cookies == Cookies::Keep)
            && !named.iter().any(|other| other.eq_ignore_ascii_case(name.as_str()))
    };
    headers
        .iter()
        .filter(|(name, _)| stays(name))
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect()
}

/// The answer as a response: the same status, headers in order, the same bytes.
pub(crate) fn response_of(answer: &Answer) -> Response<Body> {
    let mut response = Response::new(Body::from(answer.body.clone().unwrap_or_default()));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    for (name, value) in &answer.headers {
        // What was a header when it was kept is one now.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name.as_str()), HeaderValue::from_bytes(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// The proof that an attempt has ended with an answer; only `complete`, `finish` and the like make one.
///
/// As a handler's return value it is that answer.
#[must_use = "return it: it is the answer"]
#[derive(Debug)]
pub struct Completed(Response<Body>);

impl Completed {
    pub(crate) fn plain(response: Response<Body>) -> Self {
        Self(response)
    }

    /// The layer sends what the record says; this is the same, for a handler that is called without the layer.
    pub(crate) fn kept(kept: &Kept) -> Self {
        Self(response_of(&kept.answer))
    }

    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }
}

impl IntoResponse for Completed {
    fn into_response(self) -> Response<Body> {
        self.0
    }
}
