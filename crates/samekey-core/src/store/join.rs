//! A record inside somebody else's transaction: how it is claimed there, and how it is completed.
//!
//! The user keeps their own pool and their own transaction. What this library needs of it is little: to run a statement,
//! to read one value, to commit and to roll back. [`Join`] says that, for any driver, in four methods; [`Dialect`] is the
//! store's side, which knows the statements.
//!
//! The store is a parameter of `Join`, not an associated transaction type of the store: a generic associated transaction
//! does not compile in an async handler (rust-lang/rust#100013), and a crate of one's own may implement `Join<MyStore>`
//! for another crate's transaction, which the orphan rule forbids for a trait without it.

use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use super::{ClaimRequest, Held, Records};
use crate::{Answer, FencingToken, StoreError};

/// A parameter of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A small integer (16 bits).
    Small(i16),
    /// An integer (64 bits).
    Big(i64),
    /// Seconds, say.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// An absent `Bytes`.
    NoBytes,
    /// A UUID; in SQLite, its 16 bytes.
    Uuid(Uuid),
}

/// A transaction of yours that a record in `S` can join.
///
/// Implement it for the transaction of a driver that is not among ours; it is not sealed. A statement must leave nothing
/// behind on the connection: no name, no setting beyond the transaction, so that a pooler in transaction mode works.
///
/// # Guarantees
/// Dropped without `commit`, the transaction must roll back, as those of the known drivers do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transaction that a record in `{S}` can join",
    note = "hand over the transaction itself, not a connection or a pool, of the driver that the store uses"
)]
pub trait Join<S>: Send + Sized {
    /// Runs a statement with `$1`, `$2`, … (SQLite: `?1`, …); gives the number of rows that it changed or returned.
    ///
    /// # Errors
    /// The driver's, in the words of the store.
    fn execute(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs a statement; gives the first column of its first row, which is text and may be NULL.
    ///
    /// # Errors
    /// As [`Join::execute`].
    fn text(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<String>, StoreError>> + Send;

    /// Commits.
    ///
    /// # Errors
    /// [`StoreError::Away`] with an unknown effect where the answer was lost: the database may have done it.
    fn commit(self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Rolls back.
    ///
    /// # Errors
    /// Where the connection is lost; then the database rolls back by itself.
    fn rollback(self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The statements of a store, run in a transaction that joins it.
pub trait Dialect: Records {
    /// Claims inside the transaction: the claim is there for others when the transaction commits, and never otherwise.
    /// `None`: the record is there already, or became so while we waited for the other transaction. Waits for `patience` at
    /// most; the database ends the transaction when it idles for longer than the lease.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where another transaction still holds the key after `patience`; the transaction is then of no
    /// use any more.
    fn claim_within<Tx: Join<Self>>(
        &self,
        tx: &mut Tx,
        wish: &ClaimRequest,
        patience: Duration,
    ) -> impl Future<Output = Result<Option<FencingToken>, StoreError>> + Send;

    /// Completes the record as the last thing before the commit, and commits.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`], and [`StoreError::Refused`] for a savepoint, which completes nothing: the transaction was
    /// rolled back, effect included. [`StoreError::Away`] with an unknown effect: [`Records::fence`], then read.
    ///
    /// # Guarantees
    /// The effect, the state and the answer commit together or not at all.
    fn complete_within<Tx: Join<Self>>(
        &self,
        tx: Tx,
        held: &Held,
        answer: &Answer,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Commits a transaction that no record joins: that of a request without a key.
    ///
    /// # Errors
    /// As [`Join::commit`].
    ///
    /// # Guarantees
    /// `Ok` says that the transaction was committed. One that a swallowed error has aborted commits nothing, and some drivers
    /// tell nobody; a statement before the commit raises in it.
    fn commit_alone<Tx: Join<Self>>(
        &self,
        mut tx: Tx,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async move {
            tx.execute("SELECT 1", &[]).await?;
            tx.commit().await
        }
    }
}
