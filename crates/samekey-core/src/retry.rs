//! When a delivery is tried again.
//!
//! A provider that is down comes back to everybody at once. Waits therefore grow, and each is drawn evenly from zero to
//! its bound ("full jitter"): a thousand deliveries that failed together do not return together. What the provider asked
//! for (`Retry-After`) is a lower bound; jitter is only added to it.

use std::time::Duration;

/// The bounds of the waits after the first attempt, the second, and so on. One more attempt than there are waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule(Vec<Duration>);

/// The most that jitter adds to a wait that the provider asked for.
const MAX_ADDED: Duration = Duration::from_secs(30);

impl Default for Schedule {
    /// 5 s, 30 s, 2 min, 10 min, 1 h, 4 h.
    fn default() -> Self {
        Self([5, 30, 120, 600, 3_600, 14_400].map(Duration::from_secs).to_vec())
    }
}

impl Schedule {
    /// A schedule of these bounds; an empty one never tries again.
    #[must_use]
    pub fn new(bounds: Vec<Duration>) -> Self {
        Self(bounds)
    }

    /// How many attempts there are in all.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.0.len() + 1
    }

    /// The wait after attempt number `attempt` (from 1), or `None` where that was the last. `random` is drawn evenly
    /// from all 64-bit numbers.
    #[must_use]
    pub fn wait_after(&self, attempt: u32, asked: Option<Duration>, random: u64) -> Option<Duration> {
        let bound = *self.0.get(usize::try_from(attempt.checked_sub(1)?).ok()?)?;
        Some(match asked {
            None => share(bound, random),
            Some(asked) => asked.saturating_add(share(bound.min(MAX_ADDED), random)),
        })
    }
}

/// An even draw from zero to `bound`, by millisecond.
fn share(bound: Duration, random: u64) -> Duration {
    let bound_ms = u64::try_from(bound.as_millis()).unwrap_or(u64::MAX);
    let drawn = (u128::from(bound_ms) * u128::from(random)) >> 64;
    Duration::from_millis(u64::try_from(drawn).expect("a share is no more than the whole"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_wait_stays_within_its_bound_and_never_before_what_was_asked(
            attempt in 1u32..7, random: u64, asked_s in proptest::option::of(0u64..100_000)
        ) {
            let schedule = Schedule::default();
            let asked = asked_s.map(Duration::from_secs);
            let wait = schedule.wait_after(attempt, asked, random).unwrap();
            prop_assert!(wait >= asked.unwrap_or_default());
            prop_assert!(wait <= asked.map_or(schedule.0[attempt as usize - 1], |asked| asked + MAX_ADDED));
        }
    }

    #[test]
    fn jitter_reaches_both_ends_of_the_range() {
        let schedule = Schedule::default();
        assert_eq!(schedule.wait_after(1, None, 0), Some(Duration::ZERO));
        assert_eq!(schedule.wait_after(1, None, u64::MAX), Some(Duration::from_millis(4_999)));
    }

    #[test]
    fn after_the_last_wait_comes_no_attempt() {
        assert_eq!(Schedule::default().attempts(), 7);
        assert_eq!(Schedule::default().wait_after(7, None, 0), None);
        assert_eq!(Schedule::new(Vec::new()).wait_after(1, Some(Duration::ZERO), 0), None);
    }
}
