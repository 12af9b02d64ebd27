//! Steps: a named external call inside an intent.

use samekey_core::StoreError;
use samekey_core::derived::DerivedKey;
use samekey_core::store::{BegunStep, Held, Reply, StepKind};

use crate::Postgres;
use crate::columns::{bytes, column, count};
use crate::driver::{Driver, Durability};

impl<D: Driver> Postgres<D> {
    pub(crate) async fn step_begun(
        &self,
        held: &Held,
        name: &str,
        kind: StepKind,
        input: &[u8],
    ) -> Result<BegunStep, StoreError> {
        let (scope, key) = (held.scope.as_bytes(), held.key.as_bytes());
        let unkeyed = kind == StepKind::Unkeyed;
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.begin_step,
                values![scope, key, held.token.0, name, unkeyed, input],
            )
            .await?;
        let row = rows.first().ok_or(StoreError::ClaimLost)?;
        let reply = match (column::<i16>(row, "state")?, column::<bool>(row, "again")?) {
            (2, _) => Reply::Kept(bytes(row, "result")?),
            (_, true) => Reply::Begun,
            (_, false) => Reply::New,
        };
        let derived_key = DerivedKey::new(&held.scope, &held.key, count(row, "generation")?, name);
        Ok(BegunStep { derived_key, input: bytes(row, "input")?, reply })
    }

    pub(crate) async fn step_names(&self, held: &Held) -> Result<Vec<String>, StoreError> {
        let (scope, key) = (held.scope.as_bytes(), held.key.as_bytes());
        let rows = self.connections.read(&self.sql.begun_steps, values![scope, key]).await?;
        rows.iter().map(|row| column(row, "name")).collect()
    }

    pub(crate) async fn step_ended(&self, held: &Held, name: &str, result: &[u8]) -> Result<(), StoreError> {
        let (scope, key) = (held.scope.as_bytes(), held.key.as_bytes());
        let rows = self
            .connections
            .write(Durability::Durable, &self.sql.end_step, values![scope, key, held.token.0, name, result])
            .await?;
        rows.first().map(drop).ok_or(StoreError::ClaimLost)
    }

    pub(crate) async fn step_undone(&self, held: &Held, name: &str) -> Result<(), StoreError> {
        let (scope, key) = (held.scope.as_bytes(), held.key.as_bytes());
        let rows = self
            .connections
            .write(Durability::Durable, &self.sql.undo_step, values![scope, key, held.token.0, name])
            .await?;
        rows.first().map(drop).ok_or(StoreError::ClaimLost)
    }
}
