//! The rows of the provider's books.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::fault::Fault;

/// Money that was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Charge {
    /// `ch_` and 24 hexadecimal digits.
    pub(super) id: String,
    pub(super) amount_cents: i64,
    pub(super) currency: String,
    pub(super) account: String,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    InProgress,
    Answered,
    /// The socket was closed without an answer.
    Dropped,
}

/// One call to `POST /charges`; in the file, one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Counts the calls in the order in which they came. Lines of the file lie in the order in which they ended.
    pub(super) seq: u64,
    pub(super) key: Option<String>,
    pub(super) amount_cents: Option<i64>,
    pub(super) stage: Stage,
    /// What left on the wire.
    pub(super) answered: Option<Answer>,
    /// What this call took from the card.
    pub(super) charged: Option<Charge>,
    /// What the key answers from now on, if this call decided it.
    pub(super) kept: Option<Answer>,
    /// SHA-256 of the body that the key stands for, in hexadecimal digits.
    pub(super) body_sha256: Option<String>,
    pub(super) fault: Option<Fault>,
}
