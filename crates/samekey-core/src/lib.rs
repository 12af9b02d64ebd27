//! The rules of Samekey, and nothing else.
//!
//! A retried request must not do its work twice. Whether it does is decided by a handful of small rules: what a key
//! is, when two requests are the same, what a record says to the next attempt, who may still write once a lease has
//! run out, what follows an answer that never came. They are kept apart from every database, socket and clock, so
//! that each of them is a function that a test can call with any input in any order.
//!
//! **Architecture invariant:** this crate does no I/O, knows no async runtime and reads no clock and no source of
//! randomness. Time and random bits come in as arguments; the stores implement the traits of [`store`].
//!
//! | module | the rule |
//! |---|---|
//! | [`key`] | which bytes name an intent, and both ways to write them in a header |
//! | [`scope`] | whose key it is |
//! | [`fingerprint`] | when two requests are "the same" |
//! | [`record`] | what a keyed request hears: the decision table |
//! | [`lease`] | fencing tokens, heartbeats, how long a duplicate should wait |
//! | [`answer`] | the stored response, byte for byte |
//! | [`derived`] | the keys and ids given to the other side |
//! | [`message`], [`delivery`], [`retry`] | the sending service: what is accepted, its states, what follows an attempt |
//! | [`tenant`] | projects and API keys |
//! | [`store`] | the verbs that every store offers, and what their errors mean |

pub mod answer;
pub mod delivery;
pub mod derived;
pub mod fingerprint;
mod framing;
pub mod key;
pub mod lease;
pub mod message;
pub mod record;
pub mod retry;
pub mod scope;
pub mod store;
pub mod tenant;
pub mod time;

pub use answer::Answer;
pub use fingerprint::{Fingerprint, Recipe};
pub use key::Key;
pub use lease::FencingToken;
pub use scope::Scope;
pub use store::{Effect, StoreError};
pub use time::UnixMs;
