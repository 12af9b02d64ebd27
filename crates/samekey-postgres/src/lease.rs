//! Heartbeats, and the single-row changes that name a token.

use samekey_core::lease::Lease;
use samekey_core::store::Held;
use samekey_core::{FencingToken, StoreError};

use crate::Postgres;
use crate::columns::column;
use crate::driver::{Driver, Durability};

impl<D: Driver> Postgres<D> {
    /// Runs a statement on the record under (scope, key, token); says whether there was one.
    pub(crate) async fn change_held(&self, sql: &str, held: &Held) -> Result<bool, StoreError> {
        let rows = self
            .connections
            .write(
                Durability::Durable,
                sql,
                values![held.scope.as_bytes(), held.key.as_bytes(), held.token.0],
            )
            .await?;
        Ok(!rows.is_empty())
    }

    pub(crate) async fn renew_claims(
        &self,
        held: &[Held],
        lease: Lease,
    ) -> Result<Vec<FencingToken>, StoreError> {
        let scopes: Vec<&[u8]> = held.iter().map(|held| held.scope.as_bytes()).collect();
        let keys: Vec<&[u8]> = held.iter().map(|held| held.key.as_bytes()).collect();
        let tokens: Vec<i64> = held.iter().map(|held| held.token.0).collect();
        let length = lease.length().as_secs_f64();
        let rows = self
            .connections
            .write(Durability::Relaxed, &self.sql.renew, values![&scopes, &keys, &tokens, length])
            .await?;
        rows.iter().map(|row| column(row, "token").map(FencingToken)).collect()
    }

    pub(crate) async fn fenced(&self, held: &Held, lease: Lease) -> Result<Option<FencingToken>, StoreError> {
        let length = lease.length().as_secs_f64();
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.fence,
                values![held.scope.as_bytes(), held.key.as_bytes(), held.token.0, length],
            )
            .await?;
        rows.first().map(|row| column(row, "token").map(FencingToken)).transpose()
    }
}
