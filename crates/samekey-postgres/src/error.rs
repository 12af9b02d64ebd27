//! What the database said, in the words of the store: above all, whether anything was written.
//!
//! A driver hands over its error with the SQLSTATE that came with it. An error without one is not the server's word but the
//! lack of it.

use std::error::Error as StdError;

use samekey_core::{Effect, StoreError};

/// Raised by `samekey.complete` where it finds no row.
const CLAIM_LOST: &str = "SK001";
/// A lock was waited for too long, a deadlock, a serialization failure.
const BUSY: [&str; 3] = ["55P03", "40P01", "40001"];
/// A restarting primary says that it is read-only until its recovery is over.
const READ_ONLY: &str = "25006";

type Source = Box<dyn StdError + Send + Sync>;

/// An error of a statement that was not committed: whatever it was, nothing stays.
pub fn before_commit(sqlstate: Option<&str>, source: impl Into<Source>) -> StoreError {
    let source = source.into();
    match sqlstate {
        Some(CLAIM_LOST) => StoreError::ClaimLost,
        Some(code) if BUSY.contains(&code) => StoreError::Busy { source },
        Some(code) if !passes(code) => StoreError::Refused { source },
        _ => StoreError::Away { effect: Effect::NotApplied, source },
    }
}

/// An error of a COMMIT that was sent alone, after the statement before it had been answered. The server's no (a deferred
/// constraint, a serialization failure) is definite. A connection that it ends meanwhile may have committed first.
pub fn of_commit(sqlstate: Option<&str>, source: impl Into<Source>) -> StoreError {
    match sqlstate {
        Some(code) if !passes(code) => before_commit(sqlstate, source),
        _ => at_commit(source),
    }
}

/// An error while the commit was under way. The database may have done it.
pub(crate) fn at_commit(source: impl Into<Source>) -> StoreError {
    StoreError::Away { effect: Effect::Unknown, source: source.into() }
}

pub(crate) fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Unreadable(what.to_string())
}

/// Whether the condition is one of the database's own that ends by itself: connections (class 08), resources such as a
/// full disk (53), an operator's doing such as a restart (57), its system (58).
fn passes(code: &str) -> bool {
    matches!(code.get(..2), Some("08" | "53" | "57" | "58")) || code == READ_ONLY
}

#[cfg(test)]
mod tests {
    use super::{before_commit, of_commit};
    use samekey_core::{Effect, StoreError};

    #[test]
    fn a_definite_no_is_one_before_and_at_the_commit_and_silence_is_not() {
        for code in ["23503", "SK002", "42501"] {
            assert!(matches!(before_commit(Some(code), "no"), StoreError::Refused { .. }), "{code}");
            assert!(matches!(of_commit(Some(code), "no"), StoreError::Refused { .. }), "{code}");
        }
        assert!(matches!(before_commit(Some("SK001"), "no"), StoreError::ClaimLost));
        assert!(matches!(of_commit(Some("40001"), "no"), StoreError::Busy { .. }));
        for code in [None, Some("57P01"), Some("08006")] {
            assert_eq!(before_commit(code, "gone").effect(), Effect::NotApplied, "{code:?}");
            assert_eq!(of_commit(code, "gone").effect(), Effect::Unknown, "{code:?}");
        }
    }
}
