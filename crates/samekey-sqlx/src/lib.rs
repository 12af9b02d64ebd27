//! Samekey's records beside a service's own `sqlx`.
//!
//! A service that speaks to its database through `sqlx` keeps its pool and its transactions: a record joins them. The store
//! has connections of its own all the same, for a claim or a heartbeat must not wait for one that a handler holds.
//!
//! - `postgres`, behind a feature of that name: the store speaks `sqlx` too, and nothing else comes into the tree.
//! - `sqlite`, behind a feature of that name: the store has a connection of its own to the same file, with its one writer
//!   thread. Both link one SQLite.

mod delegate;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;
