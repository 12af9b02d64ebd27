//! The stored response, byte for byte.
//!
//! A replay must be the first answer, not something like it: the same status, the same header values in the same order
//! (they may be binary), the same body bytes. So the store keeps one opaque blob in a form of our own, length-prefixed,
//! with a version byte in front.

use bytes::{Buf, BufMut, Bytes};

/// The version that this release writes.
const VERSION: u8 = 1;

/// A response as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The kept headers: name and value, in order; a name may come more than once.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body; `None` where the route keeps none or it was too long. An empty body is `Some`.
    pub body: Option<Bytes>,
}

/// The blob is not one that this release can read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a kept answer cannot be read: {0}")]
pub struct Unreadable(&'static str);

impl Answer {
    /// An answer with a status and nothing else.
    #[must_use]
    pub fn bare(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Some(Bytes::new()) }
    }

    /// Version byte, status, count of headers, each header as two length-prefixed strings, then a byte that says
    /// whether a body follows, then the body to the end. Integers are big-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len() + 8).sum();
        let mut out = Vec::with_capacity(8 + headers + self.body.as_ref().map_or(0, Bytes::len));
        out.put_u8(VERSION);
        out.put_u16(self.status);
        out.put_u32(length(self.headers.len()));
        for (name, value) in &self.headers {
            put_prefixed(&mut out, name.as_bytes());
            put_prefixed(&mut out, value);
        }
        out.put_u8(u8::from(self.body.is_some()));
        out.extend_from_slice(self.body.as_deref().unwrap_or_default());
        out
    }

    /// The inverse of [`Answer::encode`].
    ///
    /// # Errors
    /// [`Unreadable`] for a blob of another version or one that was cut; it never panics.
    pub fn decode(blob: impl Into<Bytes>) -> Result<Self, Unreadable> {
        let mut rest = blob.into();
        if rest.try_get_u8().map_err(cut)? != VERSION {
            return Err(Unreadable("it was written by another version"));
        }
        let status = rest.try_get_u16().map_err(cut)?;
        let count = rest.try_get_u32().map_err(cut)?;
        let mut headers = Vec::new();
        for _ in 0..count {
            let name = String::from_utf8(take_prefixed(&mut rest)?.to_vec())
                .map_err(|_| Unreadable("a header name is not text"))?;
            headers.push((name, take_prefixed(&mut rest)?.to_vec()));
        }
        let body = (rest.try_get_u8().map_err(cut)? == 1).then_some(rest);
        Ok(Self { status, headers, body })
    }
}

fn length(length: usize) -> u32 {
    u32::try_from(length).expect("answers are bounded far below 4 GiB")
}

fn put_prefixed(out: &mut Vec<u8>, part: &[u8]) {
    out.put_u32(length(part.len()));
    out.extend_from_slice(part);
}

fn take_prefixed(rest: &mut Bytes) -> Result<Bytes, Unreadable> {
    let length = rest.try_get_u32().map_err(cut)? as usize;
    if rest.len() < length {
        return Err(Unreadable("it was cut"));
    }
    Ok(rest.split_to(length))
}

fn cut(_: bytes::TryGetError) -> Unreadable {
    Unreadable("it was cut")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_kept_comes_back(
            status in 100u16..600,
            headers in proptest::collection::vec(("[a-z-]{1,20}", proptest::collection::vec(any::<u8>(), 0..40)), 0..8),
            body in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..200)),
        ) {
            let answer = Answer { status, headers, body: body.map(Bytes::from) };
            prop_assert_eq!(Answer::decode(answer.encode()).unwrap(), answer);
        }

        #[test]
        fn a_blob_that_was_cut_or_garbled_never_panics(blob in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Answer::decode(blob);
        }
    }

    #[test]
    fn an_empty_body_is_not_a_missing_one() {
        let empty = Answer::bare(204);
        let missing = Answer { body: None, ..empty.clone() };
        assert_ne!(Answer::decode(empty.encode()), Answer::decode(missing.encode()));
    }
}
