//! What went wrong, and above all: was anything written?

use std::error::Error as StdError;

/// Whether a statement that failed has changed anything. An unknown commit is a value, not an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing was written. A repeat is safe.
    NotApplied,
    /// It was written; only what came afterwards failed.
    Applied,
    /// The answer to the commit was lost. Ask again by id, claim id or token.
    Unknown,
}

/// An error at the boundary of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The claim, step or delivery belongs to somebody else by now. Nothing was written. Do not repeat.
    #[error("the claim is lost: its lease ran out and another attempt took it over")]
    ClaimLost,
    /// The store cannot be reached, or was lost on the way, or its disk is full. Repeat after a pause, by `effect`.
    #[error("the store is away: {source}")]
    Away {
        /// Whether the statement took effect.
        effect: Effect,
        /// What the driver said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A lock was waited for too long, a deadlock, a serialization failure. Nothing was written; repeat.
    #[error("the store is busy: {source}")]
    Busy {
        /// What the driver said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The schema is newer than this binary and says that it must not be worked on by it; or it is not there at all.
    #[error("{0}")]
    Schema(String),
    /// A row holds what this release cannot read. Nothing was written.
    #[error("the store holds what this release cannot read: {0}")]
    Unreadable(String),
    /// The statement was refused: a fault of this library or of its set-up (a missing privilege, say). Nothing was
    /// written.
    #[error("the store refused a statement: {source}")]
    Refused {
        /// What the driver said.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl StoreError {
    /// Whether anything was written.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Away { effect, .. } => *effect,
            _ => Effect::NotApplied,
        }
    }

    /// Whether a repeat after a pause may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Away { .. } | Self::Busy { .. })
    }
}
