//! The scope: the tenant a key belongs to.
//!
//! A key means nothing outside its scope. Two customers who both name an intent `1` have two intents; a library that
//! forgets this shows one customer the other's answer.

use std::fmt;
use std::sync::Arc;

use crate::framing::FramedHash;

/// The longest scope that is kept as it is; a longer one is kept as a hash.
pub const MAX_SCOPE_BYTES: usize = 64;

/// First byte of a scope that is kept as a hash. A scope that starts with this byte is hashed too, so that nobody can
/// write down the hash of another's scope as a scope of their own.
const HASHED: u8 = 0;

/// 1 to 64 bytes that name a tenant, as stores keep them.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope(Arc<[u8]>);

impl Scope {
    /// The scope named by `bytes`; `None` where they are empty, since an empty name is a forgotten one.
    ///
    /// Up to 64 bytes are kept as they are, more as a tagged SHA-256.
    #[must_use]
    pub fn new(bytes: impl AsRef<[u8]>) -> Option<Self> {
        let bytes = bytes.as_ref();
        match bytes.first()? {
            &first if first != HASHED && bytes.len() <= MAX_SCOPE_BYTES => Some(Self(bytes.into())),
            _ => {
                let mut tagged = vec![HASHED];
                tagged.extend(FramedHash::default().part(b"scope").part(bytes).finish());
                Some(Self(tagged.into()))
            }
        }
    }

    /// A scope from bytes that a store kept.
    #[must_use]
    pub fn from_stored(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// As stores keep and compare it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_scopes_are_kept_long_ones_hashed_and_none_can_pose_as_a_hash() {
        let long = vec![b'x'; 65];
        let hashed = Scope::new(&long).unwrap();
        assert_eq!(Scope::new("t").unwrap().as_bytes(), b"t");
        assert_eq!(Scope::new([b'x'; 64]).unwrap().as_bytes().len(), 64);
        assert_eq!(hashed.as_bytes().len(), 33);
        assert_ne!(Scope::new(hashed.as_bytes()), Some(hashed));
        assert_eq!(Scope::new(""), None);
    }
}
