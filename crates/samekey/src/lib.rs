//! Samekey makes retries harmless.
//!
//! You send a request that triggers an e-mail, a push, an SMS or a payment; the connection drops; you do not know whether
//! the server got it. You must retry, so a repeat must do nothing.
//!
//! This is the crate that a Rust service adds. It re-exports the rules ([`core`]) and, behind a feature each, the stores
//! that keep them: `postgres` and `sqlite`. The sending service with its binary is the crate `samekey-server`.
//!
//! ```
//! use samekey::{Key, Recipe};
//! use samekey::core::fingerprint::Request;
//!
//! // Both spellings of a header name the same key.
//! let quoted = Key::from_header_lines([b"\"order-1042-shipped\"".as_slice()])?;
//! assert_eq!(quoted, Key::new("order-1042-shipped")?);
//!
//! // Two spellings of one body are one request; a changed amount is another, however close.
//! let request = |body| Request { method: "POST", path: "/orders", query: "", content_type: "application/json", body };
//! let of = |body: &'static str| Recipe::canonical().fingerprint(&request(body.as_bytes()));
//! assert_eq!(of(r#"{"amount":1.0,"sku":"a"}"#), of(r#"{ "sku": "a", "amount": 1 }"#));
//! assert_ne!(of(r#"{"amount":9007199254740992}"#), of(r#"{"amount":9007199254740993}"#));
//! # Ok::<(), samekey::core::key::KeyError>(())
//! ```

pub use samekey_core as core;
pub use samekey_core::{Effect, Fingerprint, Key, Recipe, Scope, StoreError};
#[cfg(feature = "postgres")]
pub use samekey_postgres as postgres;
#[cfg(feature = "sqlite")]
pub use samekey_sqlite as sqlite;
