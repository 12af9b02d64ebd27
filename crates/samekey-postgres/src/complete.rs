//! Complete: state and answer become visible together.

use samekey_core::store::Held;
use samekey_core::{Answer, StoreError};

use crate::Postgres;
use crate::driver::{Driver, Durability};

impl<D: Driver> Postgres<D> {
    /// The statement raises where it finds no row, so the COMMIT behind it cannot commit half of it.
    pub(crate) async fn completed(&self, held: &Held, answer: &Answer) -> Result<(), StoreError> {
        let status = i16::try_from(answer.status).unwrap_or(i16::MAX);
        let blob = answer.encode();
        self.connections
            .write(
                Durability::Durable,
                &self.sql.complete,
                values![held.scope.as_bytes(), held.key.as_bytes(), held.token.0, status, blob.as_slice()],
            )
            .await?;
        Ok(())
    }
}
