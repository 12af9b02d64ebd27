//! Length-prefixed framing: the reason why `a:b` + `c` and `a` + `b:c` never meet.
//!
//! Everything that is hashed from several parts is written as `LP(part)`, a 4-byte big-endian length and the bytes.
//! A separator would have to be escaped; a length cannot be forged.

use sha2::{Digest, Sha256};

/// A SHA-256 over length-prefixed parts.
#[derive(Default)]
pub(crate) struct FramedHash(Sha256);

impl FramedHash {
    /// Adds `LP(part)`.
    pub(crate) fn part(mut self, part: &[u8]) -> Self {
        let length = u32::try_from(part.len()).expect("bodies are bounded far below 4 GiB");
        self.0.update(length.to_be_bytes());
        self.0.update(part);
        self
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
