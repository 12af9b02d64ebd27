//! The idempotency key: the caller's name for one intent.
//!
//! Two spellings are in use. The IETF draft (draft-ietf-httpapi-idempotency-key-header-07) asks for a structured-field
//! string, `"order-1042-shipped"`; nearly everybody sends the bare text. A strict structured-field parser rejects most
//! bare UUIDs and reads some as numbers, so both spellings are read here, by one grammar, and name the same key.
//!
//! What is malformed is refused with a reason. It is never ignored: a request whose key was silently dropped is a
//! request that runs twice.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The longest key, in bytes after unquoting.
pub const MAX_KEY_BYTES: usize = 255;

/// 1 to 255 bytes, each 0x20 to 0x7E. Compared byte for byte: case counts, a trailing space counts.
///
/// `Debug` shows a hash, not the key: keys carry customers' data and do not belong in logs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

/// Why a key was refused. `Display` is a sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// No `Idempotency-Key` line where one is needed.
    #[error("the Idempotency-Key header is missing; send one key per intent, the same with every attempt")]
    Missing,
    /// Nothing between the quotes, or nothing at all.
    #[error("the idempotency key is empty; give it 1 to 255 printable ASCII characters")]
    Empty,
    /// Longer than [`MAX_KEY_BYTES`].
    #[error("the idempotency key has {bytes} bytes; the most is 255")]
    TooLong {
        /// Its length after unquoting.
        bytes: usize,
    },
    /// A control character or a byte outside ASCII.
    #[error(
        "the idempotency key holds the byte 0x{byte:02x}; only printable ASCII (0x20 to 0x7e) is allowed"
    )]
    ForbiddenByte {
        /// The first such byte.
        byte: u8,
    },
    /// More than one header line, even if they agree.
    #[error("there are several Idempotency-Key headers; send exactly one")]
    SeveralLines,
    /// `"a", "b"` or `a, b`.
    #[error("the Idempotency-Key header is a list; send exactly one key")]
    List,
    /// `"a";p=1`.
    #[error("the idempotency key carries parameters; send the key alone")]
    Parameters,
    /// An opening quote without a closing one.
    #[error("the idempotency key opens a quote and does not close it")]
    Unterminated,
    /// A backslash inside quotes before anything but a quote or a backslash.
    #[error("inside quotes only \\\" and \\\\ are escapes")]
    BadEscape,
    /// Something after the closing quote.
    #[error("the idempotency key goes on after its closing quote")]
    AfterQuote,
    /// A space, quote or parenthesis in a key without quotes.
    #[error("the unquoted idempotency key holds {character:?}; put the key in double quotes")]
    NeedsQuotes {
        /// The character that an unquoted key may not hold.
        character: char,
    },
}

impl KeyError {
    /// The problem code of the contract.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "idempotency_key_missing",
            _ => "idempotency_key_invalid",
        }
    }
}

impl Key {
    /// A key from its text as it is: nothing is unquoted (this is how a JSON member names a key).
    ///
    /// # Errors
    /// [`KeyError::Empty`], [`KeyError::TooLong`] or [`KeyError::ForbiddenByte`].
    pub fn new(text: &str) -> Result<Self, KeyError> {
        check(text.as_bytes())?;
        Ok(Self(text.into()))
    }

    /// A key from bytes that a store kept.
    ///
    /// # Errors
    /// As [`Key::new`]; it cannot happen for a row that this library wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        check(bytes)?;
        let text = std::str::from_utf8(bytes).expect("printable ASCII is UTF-8");
        Ok(Self(text.into()))
    }

    /// A key from the `Idempotency-Key` field lines of a request, one element a line, each as received.
    ///
    /// # Errors
    /// Every [`KeyError`]; [`KeyError::Missing`] where there is no line.
    pub fn from_header_lines<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, KeyError> {
        let mut lines = lines.into_iter();
        let line = lines.next().ok_or(KeyError::Missing)?;
        if lines.next().is_some() {
            return Err(KeyError::SeveralLines);
        }
        let line = line.trim_ascii();
        match line.split_first() {
            None => Err(KeyError::Empty),
            Some((b'"', quoted)) => Self::from_bytes(&unquote(quoted)?),
            Some(_) => bare(line),
        }
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key's bytes, as stores keep and compare them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash: [u8; 32] = Sha256::digest(self.as_bytes()).into();
        write!(f, "Key(#{:02x}{:02x}{:02x}{:02x})", hash[0], hash[1], hash[2], hash[3])
    }
}

fn check(bytes: &[u8]) -> Result<(), KeyError> {
    if bytes.is_empty() {
        return Err(KeyError::Empty);
    }
    if bytes.len() > MAX_KEY_BYTES {
        return Err(KeyError::TooLong { bytes: bytes.len() });
    }
    bytes
        .iter()
        .find(|byte| !(0x20..=0x7e).contains(*byte))
        .map_or(Ok(()), |&byte| Err(KeyError::ForbiddenByte { byte }))
}

/// RFC 9651, section 4.2.5, for what follows the opening quote.
fn unquote(quoted: &[u8]) -> Result<Vec<u8>, KeyError> {
    let mut text = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter();
    loop {
        match bytes.next().ok_or(KeyError::Unterminated)? {
            b'"' => break,
            b'\\' => match bytes.next() {
                Some(&escaped @ (b'"' | b'\\')) => text.push(escaped),
                Some(_) => return Err(KeyError::BadEscape),
                None => return Err(KeyError::Unterminated),
            },
            &byte => text.push(byte),
        }
    }
    match bytes.as_slice().trim_ascii_start().first() {
        None => Ok(text),
        Some(b';') => Err(KeyError::Parameters),
        Some(b',') => Err(KeyError::List),
        Some(_) => Err(KeyError::AfterQuote),
    }
}

fn bare(line: &[u8]) -> Result<Key, KeyError> {
    match line.iter().find(|byte| matches!(byte, b' ' | b'"' | b',' | b';' | b'(' | b')')) {
        Some(b',') => Err(KeyError::List),
        Some(b';') => Err(KeyError::Parameters),
        Some(&byte) => Err(KeyError::NeedsQuotes { character: char::from(byte) }),
        None => Key::from_bytes(line),
    }
}
