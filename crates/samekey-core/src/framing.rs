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
        self.0.update(length(part));
        self.0.update(part);
        self
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Writes `LP(part)`.
pub(crate) fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&length(part));
    out.extend_from_slice(part);
}

fn length(part: &[u8]) -> [u8; 4] {
    u32::try_from(part.len()).expect("bodies are bounded far below 4 GiB").to_be_bytes()
}
