//! When two requests are "the same".
//!
//! A key that comes back with another request is a programming fault of the caller, and answering it from the record
//! would hide it: the second operation would never run. So the record keeps a hash of the first request.
//!
//! Two mistakes are common. A hash of the raw bytes refuses honest retries whose client wrote the members in another
//! order. A hash of *parsed* JSON accepts changed ones: most parsers fold `9007199254740993` and `…992` into one double
//! and keep the last of two members of one name, so a changed amount replays. The canonical form here keeps every digit
//! (see [`canonical_json`]), and gives up on what is ambiguous: then the raw bytes count. An uploaded form is taken apart for
//! the same reason: its boundary is drawn anew for each attempt, and means nothing.
//!
//! How a fingerprint was made is part of the record: its [`Recipe`]. A later release, or a route whose options have
//! changed, compares by the recipe of the record.

mod json;
mod multipart;
mod recipe;

use std::fmt;

pub use json::canonical_json;
pub use recipe::{InvalidPointer, Pointer, Recipe, UnknownRecipe};

use crate::framing::FramedHash;

/// SHA-256 over the length-prefixed parts of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// From bytes that a store kept.
    #[must_use]
    pub fn from_stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// As stores keep and compare it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// The parts of a request that a fingerprint covers, as they were received.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method, upper case as received.
    pub method: &'a str,
    /// The path as received, before any router stripped a prefix.
    pub path: &'a str,
    /// The raw query without its `?`; empty where there is none.
    pub query: &'a str,
    /// The Content-Type with its parameters; they and its case do not count. Empty where there is none.
    pub content_type: &'a str,
    /// The body, after Content-Encoding was undone.
    pub body: &'a [u8],
}

/// The form in which a body was hashed; its name is one of the hashed parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Multipart,
    Raw,
}

impl Form {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Json => b"json",
            Self::Multipart => b"multipart",
            Self::Raw => b"raw",
        }
    }
}

impl Recipe {
    /// The fingerprint of `request` by this recipe.
    #[must_use]
    pub fn fingerprint(&self, request: &Request<'_>) -> Fingerprint {
        let media_type = media_type(request.content_type);
        let canonical = self.canonical_form(&media_type, request);
        let (form, body) = canonical.as_ref().map_or((Form::Raw, request.body), |(form, text)| (*form, text));
        let hash = FramedHash::default()
            .part(self.version().as_bytes())
            .part(request.method.as_bytes())
            .part(request.path.as_bytes())
            .part(request.query.as_bytes())
            .part(media_type.as_bytes())
            .part(form.name())
            .part(body);
        Fingerprint(hash.finish())
    }

    /// `None` where the raw bytes count: by the recipe, or since the body has no other form.
    fn canonical_form(&self, media_type: &str, request: &Request<'_>) -> Option<(Form, Vec<u8>)> {
        if !self.is_canonical() {
            None
        } else if is_json(media_type) {
            canonical_json(request.body, self.ignored()).map(|text| (Form::Json, text))
        } else if media_type == "multipart/form-data" {
            multipart::canonical(request.content_type, request.body).map(|text| (Form::Multipart, text))
        } else {
            None
        }
    }
}

/// The media type in lower case, without its parameters (RFC 9110, section 8.3.1).
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}
