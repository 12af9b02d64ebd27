//! Faults on command, one for each coming call.

use std::collections::VecDeque;
use std::time::Duration;

const MAX_ORDERED: usize = 1_000;
const MAX_SLOW_MS: u64 = 60_000;

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It charges, and the connection breaks before the answer.
    Drop,
    /// It answers late.
    Slow(Duration),
    /// It charges, and answers 500.
    ErrorAfter,
    /// It answers 500 without having charged.
    ErrorBefore,
    /// The card is declined.
    Declined,
}

/// What was ordered and has not happened yet.
#[derive(Debug, Default)]
pub(super) struct Faults(VecDeque<Fault>);

impl Faults {
    pub(super) fn next(&mut self) -> Option<Fault> {
        self.0.pop_front()
    }

    /// All of them or none.
    pub(super) fn order(&mut self, names: &[String]) -> Result<(), String> {
        let faults = names.iter().map(|name| read(name)).collect::<Result<Vec<_>, _>>()?;
        if self.0.len() + faults.len() > MAX_ORDERED {
            return Err(format!("more than {MAX_ORDERED} faults wait already"));
        }
        self.0.extend(faults);
        Ok(())
    }
}

fn read(name: &str) -> Result<Fault, String> {
    let slow = |ms: &str| ms.parse().ok().filter(|ms| *ms <= MAX_SLOW_MS).map(Duration::from_millis);
    match (name, name.strip_prefix("slow:")) {
        ("drop", _) => Ok(Fault::Drop),
        ("error_after", _) => Ok(Fault::ErrorAfter),
        ("error_before", _) => Ok(Fault::ErrorBefore),
        ("declined", _) => Ok(Fault::Declined),
        (_, Some(ms)) => {
            slow(ms).map(Fault::Slow).ok_or_else(|| format!("`slow:` takes 0 to {MAX_SLOW_MS} ms"))
        }
        _ => Err(format!("`{name}` is no fault: drop, slow:MS, error_after, error_before, declined")),
    }
}
