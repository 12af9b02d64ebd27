//! Leases and fencing tokens: who may still write.
//!
//! A claim lasts as long as its lease; a heartbeat renews it. A lease alone does not exclude two owners: a process
//! that was stopped past the end of its lease wakes up believing that it still owns the record. So every claim takes a
//! [`FencingToken`] from one ever-growing sequence, and every later write names it. The stalled owner's write then
//! finds no row.
//!
//! The end of a lease is judged by the database's clock only. What this module computes is how often to renew, and how
//! long a duplicate should wait.

use std::fmt;
use std::time::Duration;

/// Drawn from one sequence per store; no token is ever used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub i64);

impl fmt::Debug for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token {}", self.0)
    }
}

/// How long a claim lasts without a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(Duration);

impl Lease {
    /// The default for records: 30 s.
    pub const RECORD: Self = Self(Duration::from_secs(30));
    /// The default for deliveries: 90 s, since a send is bounded at 60 s.
    pub const DELIVERY: Self = Self(Duration::from_secs(90));
    /// The shortest lease that heartbeats can hold across a slow commit.
    pub const SHORTEST: Duration = Duration::from_millis(300);

    /// A lease of this length; `None` below [`Lease::SHORTEST`].
    #[must_use]
    pub fn new(length: Duration) -> Option<Self> {
        (length >= Self::SHORTEST).then_some(Self(length))
    }

    /// Its length.
    #[must_use]
    pub fn length(self) -> Duration {
        self.0
    }

    /// A third of the length: two heartbeats may fail before the lease does.
    #[must_use]
    pub fn heartbeat_every(self) -> Duration {
        self.0 / 3
    }

    /// When the owner itself must stop, counted from the moment before the claim or the renewal was sent: a sixth of
    /// the lease earlier than the database, so that it is never late by the database's clock.
    #[must_use]
    pub fn stop_after(self) -> Duration {
        self.0 - self.0 / 6
    }
}

/// `Retry-After` for a duplicate that meets a live claim: what is left of the lease in whole seconds, rounded up, at
/// least 1 and at most 2.
#[must_use]
pub fn retry_after_s(lease_left: Duration) -> u32 {
    if lease_left > Duration::from_secs(1) { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_waits_one_or_two_seconds() {
        for (left_ms, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (25_000, 2)] {
            assert_eq!(retry_after_s(Duration::from_millis(left_ms)), seconds, "{left_ms} ms left");
        }
    }

    #[test]
    fn the_owner_stops_before_its_lease_ends_and_after_two_heartbeats() {
        let lease = Lease::RECORD;
        assert!(lease.stop_after() < lease.length());
        assert!(lease.heartbeat_every() * 2 < lease.stop_after());
        assert_eq!(Lease::new(Duration::from_millis(299)), None);
    }
}
