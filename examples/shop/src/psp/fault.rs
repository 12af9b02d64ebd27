//! Faults on demand, one per coming call.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest that an answer can be held back: longer than any caller's patience.
const SLOWEST_MS: u64 = 60_000;

/// What goes wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) enum Fault {
    /// The card is charged, and the socket closed without an answer.
    Drop,
    /// The call is worked on after this time.
    Slow(Duration),
    /// The card is charged, and the answer is a 500. The key keeps the truth, so that the next call hears it.
    ErrorAfter,
    /// A 500, nothing charged and nothing kept: the next call with the key is the first.
    ErrorBefore,
    /// The bank says no.
    Declined,
}

impl TryFrom<String> for Fault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "drop" => Ok(Self::Drop),
            None if text == "error_after" => Ok(Self::ErrorAfter),
            None if text == "error_before" => Ok(Self::ErrorBefore),
            None if text == "declined" => Ok(Self::Declined),
            Some(("slow", ms)) => match ms.parse() {
                Ok(ms) if ms <= SLOWEST_MS => Ok(Self::Slow(Duration::from_millis(ms))),
                _ => Err(format!("`slow:` takes milliseconds, {SLOWEST_MS} at the most")),
            },
            _ => Err("a fault is one of drop, slow:MS, error_after, error_before, declined".to_owned()),
        }
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Drop => "drop".to_owned(),
            Fault::Slow(time) => format!("slow:{}", time.as_millis()),
            Fault::ErrorAfter => "error_after".to_owned(),
            Fault::ErrorBefore => "error_before".to_owned(),
            Fault::Declined => "declined".to_owned(),
        }
    }
}
