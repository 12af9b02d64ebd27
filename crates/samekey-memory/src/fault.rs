//! Faults on demand: what a network does to a store, at the instant that a test names.

use samekey_core::StoreError;
use samekey_core::store::Effect;

/// What goes wrong once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The next claim (or take-over) is applied, and its answer is lost: [`Effect::Unknown`].
    ClaimAnswerLost,
    /// The next commit is applied, and its answer is lost: [`Effect::Unknown`].
    ///
    /// A commit is that of a transaction, or a completion in a transaction of its own.
    CommitAnswerLost,
    /// The next commit is lost on its way, and nothing is applied. The caller cannot tell: [`Effect::Unknown`].
    CommitLost,
    /// The next call finds no store: [`Effect::NotApplied`].
    Away,
}

/// What a call is, as far as faults go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Claim,
    Commit,
    Other,
}

impl Fault {
    pub(crate) fn strikes(self, call: Call) -> bool {
        match self {
            Self::ClaimAnswerLost => call == Call::Claim,
            Self::CommitAnswerLost | Self::CommitLost => call == Call::Commit,
            Self::Away => true,
        }
    }

    /// Whether the call is applied all the same.
    pub(crate) fn applies(self) -> bool {
        matches!(self, Self::ClaimAnswerLost | Self::CommitAnswerLost)
    }

    /// What the caller hears.
    pub(crate) fn error(self) -> StoreError {
        let (effect, said) = match self {
            Self::ClaimAnswerLost => (Effect::Unknown, "the answer to the claim was lost, as the test asked"),
            Self::CommitAnswerLost | Self::CommitLost => {
                (Effect::Unknown, "the answer to the commit was lost, as the test asked")
            }
            Self::Away => (Effect::NotApplied, "there is no store, as the test asked"),
        };
        StoreError::Away { effect, source: said.into() }
    }
}
