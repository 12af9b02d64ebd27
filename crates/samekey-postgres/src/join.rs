//! A record inside somebody else's transaction: the statements that claim it there and that complete it.
//!
//! Each is one call of a function in the database, so one round trip, and none leaves anything behind on the connection: no
//! name, no setting that outlives the transaction.

use std::time::Duration;

use samekey_core::store::{ClaimRequest, Dialect, Held, Join, Value};
use samekey_core::{Answer, FencingToken, StoreError};

use crate::Postgres;
use crate::driver::Driver;
use crate::error::unreadable;

impl<D: Driver> Dialect for Postgres<D> {
    async fn claim_within<Tx: Join<Self>>(
        &self,
        tx: &mut Tx,
        wish: &ClaimRequest,
        patience: Duration,
    ) -> Result<Option<FencingToken>, StoreError> {
        self.claim_in(tx, wish, patience).await
    }

    async fn complete_within<Tx: Join<Self>>(
        &self,
        tx: Tx,
        held: &Held,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        self.complete_in(tx, held, answer).await
    }
}

/// For a store `S` that wraps this one, whose transactions join `S`: it brings the orphan rule what it asks for.
impl<D: Driver> Postgres<D> {
    /// See [`Dialect::claim_within`].
    ///
    /// # Errors
    /// As there.
    pub async fn claim_in<S, Tx: Join<S>>(
        &self,
        tx: &mut Tx,
        wish: &ClaimRequest,
        patience: Duration,
    ) -> Result<Option<FencingToken>, StoreError> {
        let values = [
            Value::Bytes(wish.scope.as_bytes()),
            Value::Bytes(wish.key.as_bytes()),
            Value::Uuid(wish.claim),
            Value::Bytes(wish.fingerprint.as_bytes()),
            Value::Small(wish.recipe.0),
            Value::Float(wish.lease.length().as_secs_f64()),
            Value::Float(wish.retention.as_secs_f64()),
            Value::Float(wish.tombstone.as_secs_f64()),
            Value::Float(patience.as_secs_f64()),
        ];
        let token = tx.text(&self.sql.claim_within, &values).await?;
        token.map(|token| token.parse().map(FencingToken).map_err(unreadable)).transpose()
    }

    /// See [`Dialect::complete_within`].
    ///
    /// COMMIT leaves only after the completing statement was answered: a driver may say that an aborted transaction was
    /// committed, and ours raises in one.
    ///
    /// # Errors
    /// As there.
    pub async fn complete_in<S, Tx: Join<S>>(
        &self,
        mut tx: Tx,
        held: &Held,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        let blob = answer.encode();
        let values = [
            Value::Bytes(held.scope.as_bytes()),
            Value::Bytes(held.key.as_bytes()),
            Value::Big(held.token.0),
            Value::Small(i16::try_from(answer.status).unwrap_or(i16::MAX)),
            Value::Bytes(&blob),
        ];
        match tx.execute(&self.sql.complete, &values).await {
            Ok(_) => tx.commit().await,
            Err(error) => {
                // All of it, also what is around a savepoint: a user who swallows the error and commits the rest would keep an
                // effect without its record. The driver's own `rollback` would only go back to the savepoint. Where this
                // fails, the connection is lost and the database rolls back by itself.
                let _ = tx.execute("ROLLBACK", &[]).await;
                Err(error)
            }
        }
    }
}
