//! Samekey makes retries harmless.
//!
//! You send a request that triggers an e-mail, a push, an SMS or a payment; the connection drops; you do not know whether
//! the server got it. You must retry, so a repeat must do nothing.
//!
//! This is the crate that a Rust service adds. Choose the store beside the driver that your handlers use: the features
//! `postgres` (tokio-postgres), `sqlite` (rusqlite), `sqlx-postgres` and `sqlx-sqlite`. Each has a module of its own here with
//! the store and the `Attempt` that handlers take; [`IdempotencyLayer`] goes around the route. The sending service with its
//! binary is the crate `samekey-server`.
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
#[cfg(feature = "http")]
pub use samekey_http::{
    Attempt as HttpAttempt, Completed, Counts, Error, IdempotencyLayer, Keys, Problem, Ran, RunError,
};

/// Records in PostgreSQL, beside handlers that use `tokio-postgres`, with any pool.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use samekey_postgres::*;

    /// One request that carries a key, in the handler's hands.
    #[cfg(feature = "http")]
    pub type Attempt = samekey_http::Attempt<Postgres>;
}

/// Records in an SQLite file, beside handlers that use `rusqlite`.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    pub use samekey_sqlite::*;

    /// One request that carries a key, in the handler's hands.
    #[cfg(feature = "http")]
    pub type Attempt = samekey_http::Attempt<Sqlite>;
}

/// Records beside handlers that use `sqlx`, whose transactions they join.
#[cfg(any(feature = "sqlx-postgres", feature = "sqlx-sqlite"))]
pub mod sqlx {
    /// In PostgreSQL.
    #[cfg(feature = "sqlx-postgres")]
    pub mod postgres {
        pub use samekey_sqlx::postgres::*;

        /// One request that carries a key, in the handler's hands.
        #[cfg(feature = "http")]
        pub type Attempt = samekey_http::Attempt<Postgres>;
    }

    /// In an SQLite file.
    #[cfg(feature = "sqlx-sqlite")]
    pub mod sqlite {
        pub use samekey_sqlx::sqlite::*;

        /// One request that carries a key, in the handler's hands.
        #[cfg(feature = "http")]
        pub type Attempt = samekey_http::Attempt<Sqlite>;
    }
}
