//! A name for each request, in the log and in the answer.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;

use crate::random;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Takes the caller's name for the request where it is a plain one, else mints one; puts it into the span of everything
/// that is logged, and onto the answer.
pub(super) async fn carry(request: Request, next: Next) -> Response {
    let id = request.headers().get(&X_REQUEST_ID).filter(|id| is_plain(id)).cloned().unwrap_or_else(mint);
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method = %request.method(),
        path = request.uri().path(),
    );
    let mut response = next.run(request).instrument(span).await;
    response.headers_mut().insert(X_REQUEST_ID, id);
    response
}

/// What cannot break a log line or a header of somebody else's.
fn is_plain(id: &HeaderValue) -> bool {
    (1..=64).contains(&id.len())
        && id.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn mint() -> HeaderValue {
    let text = format!("{:016x}", random::number());
    HeaderValue::try_from(text).expect("hexadecimal digits are a header value")
}
