//! The names we give to the other side.
//!
//! A retry is harmless only if the provider at the end can see that it is one. So the provider gets a key, and the
//! receiver an id, that are the same for every attempt of one intent and different for any two intents. They are
//! hashed over length-prefixed parts: two tenants with one key never meet at the provider, nor do `a:b` + `c` and
//! `a` + `b:c`.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::framing::FramedHash;
use crate::tenant::ProjectId;
use crate::{Fingerprint, Key, Scope};

/// What the other side of a step is given as its idempotency key: `dk_` and 32 characters of base64url.
///
/// 35 characters are safe in any header and under every provider's limit (64 at the strictest).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DerivedKey(Arc<str>);

impl DerivedKey {
    /// The key of `step` inside the intent (`scope`, `key`). `generation` grows only when an operator frees the key.
    #[must_use]
    pub fn new(scope: &Scope, key: &Key, generation: u32, step: &str) -> Self {
        let hash = FramedHash::default()
            .part(scope.as_bytes())
            .part(key.as_bytes())
            .part(generation.to_string().as_bytes())
            .part(step.as_bytes())
            .finish();
        Self::of_hash(&hash)
    }

    /// A key for a call outside any intent: never the same twice, if the bytes are random.
    #[must_use]
    pub fn random(bytes: [u8; 32]) -> Self {
        Self::of_hash(&bytes)
    }

    fn of_hash(hash: &[u8; 32]) -> Self {
        let text = URL_SAFE_NO_PAD.encode(hash);
        Self(format!("dk_{}", &text[..32]).into())
    }
}

impl Deref for DerivedKey {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DerivedKey({})", &**self)
    }
}

/// What makes a message the same message to its receiver, whatever happens to our rows.
///
/// For a keyed message it is hashed from what the *caller* said. Should the database forget an acknowledged message
/// (a primary lost, with an asynchronous replica), the caller's retry is accepted as new and goes out a second time,
/// but under the same id, so that the receiver can still tell.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity([u8; 32]);

impl Identity {
    /// Of a message that carries a key.
    #[must_use]
    pub fn keyed(project: ProjectId, key: &Key, fingerprint: &Fingerprint) -> Self {
        let hash = FramedHash::default()
            .part(b"keyed")
            .part(project.0.to_string().as_bytes())
            .part(key.as_bytes())
            .part(fingerprint.as_bytes());
        Self(hash.finish())
    }

    /// Of a message without one: nothing but its own id can name it.
    #[must_use]
    pub fn unkeyed(message: &[u8; 16]) -> Self {
        Self(FramedHash::default().part(b"unkeyed").part(message).finish())
    }

    /// From bytes that a store kept.
    #[must_use]
    pub fn from_stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// As stores keep it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The id that goes out with the message: 32 characters of base64url, the same for every attempt. `nonce` counts
    /// the retries by hand, which are meant to be new to the receiver.
    #[must_use]
    pub fn outgoing_id(&self, nonce: u32) -> String {
        let hash = FramedHash::default().part(&self.0).part(nonce.to_string().as_bytes()).finish();
        let mut text = URL_SAFE_NO_PAD.encode(hash);
        text.truncate(32);
        text
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.outgoing_id(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(scope: &str, key: &str, generation: u32, step: &str) -> DerivedKey {
        DerivedKey::new(&Scope::new(scope).unwrap(), &Key::new(key).unwrap(), generation, step)
    }

    #[test]
    fn the_golden_derived_key_holds() {
        assert_eq!(&*derived("t", "order-1042-shipped", 0, "charge"), "dk_787u7AUoDot2MzB4NHUTN89ZgqX3WntS");
    }

    #[test]
    fn neighbouring_parts_never_meet() {
        assert_ne!(derived("a", "b:c", 0, "s"), derived("a:b", "c", 0, "s"));
        assert_ne!(derived("a", "b", 0, "cs"), derived("a", "bc", 0, "s"));
        assert_ne!(derived("a", "b", 1, "s"), derived("a", "b", 0, "s"));
    }

    #[test]
    fn an_outgoing_id_changes_with_the_nonce_alone() {
        let identity = Identity::unkeyed(&[7; 16]);
        assert_eq!(identity.outgoing_id(0), identity.outgoing_id(0));
        assert_ne!(identity.outgoing_id(0), identity.outgoing_id(1));
        assert_eq!(identity.outgoing_id(0).len(), 32);
    }
}
