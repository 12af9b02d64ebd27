//! Projects and API keys: whose messages they are.
//!
//! A project is the scope of everything the sending service keeps. An API key names its project and is kept only as a
//! hash, so that a copy of the database opens nothing.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::time::UnixMs;

/// Names a project; every query of the sending service carries one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId(pub i64);

impl fmt::Debug for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "project {}", self.0)
    }
}

/// A project as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Its name, unique in the store.
    pub name: String,
    /// When it was created.
    pub created_at: UnixMs,
}

/// SHA-256 of an API key's text. The text has 190 random bits, so a plain hash is enough: there is nothing to guess.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyHash(pub [u8; 32]);

impl ApiKeyHash {
    /// The hash of a key's whole text, `sk_` included.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

impl fmt::Debug for ApiKeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeyHash({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// An API key as operators see it; the key itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Names the key in `revoke`.
    pub id: i64,
    /// Its last four characters, to tell keys apart.
    pub hint: String,
    /// When it was created.
    pub created_at: UnixMs,
    /// When it was revoked, if it was.
    pub revoked_at: Option<UnixMs>,
}
