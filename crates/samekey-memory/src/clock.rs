//! The clock of the store, which a test may turn.
//!
//! Leases, retention and tombstones are told by it alone. How long a claim waits for another transaction is not: that is a
//! wait of the caller's, and with a stopped clock it would never end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A clock that goes by itself or stands still, and that can be put forward. Clones are one clock.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Dial>);

#[derive(Debug)]
struct Dial {
    /// `None`: it stands still.
    started: Option<Instant>,
    advanced_ms: AtomicI64,
    advanced: Notify,
}

impl Clock {
    /// Goes by itself. Under a paused tokio runtime it goes with that runtime's time.
    #[must_use]
    pub fn running() -> Self {
        Self::with(Some(Instant::now()))
    }

    /// Stands still until it is put forward.
    #[must_use]
    pub fn stopped() -> Self {
        Self::with(None)
    }

    fn with(started: Option<Instant>) -> Self {
        Self(Arc::new(Dial { started, advanced_ms: AtomicI64::new(0), advanced: Notify::new() }))
    }

    /// Puts it forward, by whole milliseconds.
    pub fn advance(&self, by: Duration) {
        self.0.advanced_ms.fetch_add(as_millis(by), Ordering::SeqCst);
        self.0.advanced.notify_waiters();
    }

    /// Milliseconds since it was made.
    pub(crate) fn now(&self) -> i64 {
        let passed = self.0.started.map_or(0, |started| as_millis(started.elapsed()));
        passed + self.0.advanced_ms.load(Ordering::SeqCst)
    }

    /// Wakes those who wait when it is put forward.
    pub(crate) fn advanced(&self) -> &Notify {
        &self.0.advanced
    }
}

/// A duration as the store keeps it. A quarter of the range is for ever, and two of them can be added.
pub(crate) fn as_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

/// Milliseconds; a negative number of them is nought.
pub(crate) fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}
