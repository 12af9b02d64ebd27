//! Time and random bits, the only place where this crate takes them from.

use std::cell::RefCell;
use std::time::{Duration, SystemTime};

use samekey_core::UnixMs;
use samekey_core::message::MessageId;

/// The process's wall clock. Good for minting ids and for dates in front of people; no lease is ever judged by it.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn wall_clock() -> UnixMs {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Bytes fetched at once: a call into the operating system for each id would be a measurable part of a request.
const STOCK: usize = 1024;

thread_local! {
    /// Bytes not yet handed out, of this thread.
    static RANDOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Random bytes of the operating system; none is handed out twice.
#[must_use]
pub fn bytes<const N: usize>() -> [u8; N] {
    RANDOM.with_borrow_mut(|stock| {
        if stock.len() < N {
            stock.resize(STOCK.max(N), 0);
            getrandom::fill(stock).expect("the operating system has random bytes once it runs programs");
        }
        let rest = stock.len() - N;
        let taken = stock[rest..].try_into().expect("N bytes are N bytes");
        stock.truncate(rest);
        taken
    })
}

/// An even draw from all 64-bit numbers.
#[must_use]
pub fn number() -> u64 {
    u64::from_ne_bytes(bytes())
}

/// A new message id.
#[must_use]
pub fn message_id() -> MessageId {
    MessageId::mint(wall_clock(), bytes())
}
