//! What the layer reads of a request.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderMap, Method, Uri};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use samekey_core::fingerprint::Request;
use samekey_core::key::KeyError;
use samekey_core::{Fingerprint, Key, Recipe};

use crate::Problem;
use crate::keys::Identify;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The key, in both of its spellings; nothing where there is no such header.
pub(super) fn key(headers: &HeaderMap) -> Option<Result<Key, KeyError>> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter().map(http::HeaderValue::as_bytes).peekable();
    lines.peek()?;
    Some(Key::from_header_lines(lines))
}

/// `Prefer: wait=n` (RFC 7240, section 4.3), in seconds.
pub(super) fn wait(headers: &HeaderMap) -> Option<Duration> {
    headers
        .get_all(PREFER)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next())
        .find_map(|preference| {
            let (name, value) = preference.split_once('=')?;
            name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"').parse().ok())?
        })
        .map(Duration::from_secs)
}

/// Reads the whole body.
pub(super) async fn body<B>(body: B, limit: usize) -> Result<Bytes, Problem>
where
    B: HttpBody,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(Problem::too_large(limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::too_large(limit)),
        Err(_) => Err(Problem::body_cut()),
    }
}

/// What makes two requests the same.
pub(super) struct Identity {
    method: Method,
    uri: Uri,
    content_type: String,
    body: Bytes,
}

impl Identity {
    pub(super) fn of(parts: &Parts, body: Bytes) -> Self {
        let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Self {
            method: parts.method.clone(),
            uri: original_uri(parts),
            content_type: content_type.unwrap_or_default().to_owned(),
            body,
        }
    }
}

/// As the caller wrote it: `Router::nest` strips a prefix, and moving the layer must not make a retry another request.
fn original_uri(parts: &Parts) -> Uri {
    #[cfg(feature = "axum")]
    if let Some(original) = parts.extensions.get::<axum::extract::OriginalUri>() {
        return original.0.clone();
    }
    parts.uri.clone()
}

impl Identify for Identity {
    fn fingerprint(&self, recipe: &Recipe) -> Fingerprint {
        recipe.fingerprint(&Request {
            method: self.method.as_str(),
            path: self.uri.path(),
            query: self.uri.query().unwrap_or_default(),
            content_type: &self.content_type,
            body: &self.body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_to_wait_is_found_among_others() {
        for (text, seconds) in [
            ("wait=10", Some(10)),
            ("respond-async, wait=5", Some(5)),
            ("Wait = \"7\"; foo", Some(7)),
            ("handling=lenient", None),
            ("wait=-1", None),
            ("wait", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(PREFER, text.parse().unwrap());
            assert_eq!(wait(&headers), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
