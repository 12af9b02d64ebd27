//! Heartbeats, and the single-row changes that name a token.

use samekey_core::lease::Lease;
use samekey_core::store::Held;
use samekey_core::{FencingToken, StoreError};

use crate::Sqlite;
use crate::columns::as_millis;
use crate::writer::Turn;

/// Runs a statement on the record under (scope, key, token) at `now`; says whether there was one.
fn change(turn: &Turn<'_>, sql: &str, held: &Held) -> Result<bool, StoreError> {
    let values = (held.scope.as_bytes(), held.key.as_bytes(), held.token.0, turn.now);
    turn.execute(sql, values).map(|rows| rows > 0)
}

fn delete_released(turn: &Turn<'_>, held: &Held) -> Result<bool, StoreError> {
    let rows = turn.execute(
        "DELETE FROM record
          WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state = 1 AND steps_begun = 0 AND generation = 0",
        (held.scope.as_bytes(), held.key.as_bytes(), held.token.0),
    )?;
    Ok(rows > 0)
}

/// A key that an operator freed before is free again instead: its generation must not be forgotten, or the next attempt would
/// have the derived keys of the one that failed.
fn free_again(turn: &Turn<'_>, held: &Held) -> Result<bool, StoreError> {
    let rows = turn.execute(
        "UPDATE record SET token = ?4, claim = zeroblob(16), lease_until = ?5
          WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state = 1 AND steps_begun = 0 AND generation > 0",
        (held.scope.as_bytes(), held.key.as_bytes(), held.token.0, turn.tokens(1)?, turn.now),
    )?;
    Ok(rows > 0)
}

impl Sqlite {
    /// The token stays, so that a stalled owner can still bring the true answer by completing.
    pub(crate) async fn mark_abandoned_unknown(&self, seen: &Held) -> Result<bool, StoreError> {
        let seen = seen.clone();
        let sql = "UPDATE record SET state = 3, lease_until = NULL
                    WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state = 1 AND lease_until <= ?4";
        self.writer.run(move |turn| change(turn, sql, &seen)).await
    }

    pub(crate) async fn lease_ended(&self, held: &Held) -> Result<bool, StoreError> {
        let held = held.clone();
        let sql =
            "UPDATE record SET lease_until = ?4 WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state = 1";
        self.writer.run(move |turn| change(turn, sql, &held)).await
    }

    pub(crate) async fn released(&self, held: &Held) -> Result<bool, StoreError> {
        let held = held.clone();
        self.writer.run(move |turn| Ok(delete_released(turn, &held)? || free_again(turn, &held)?)).await
    }

    pub(crate) async fn renew_claims(
        &self,
        held: &[Held],
        lease: Lease,
    ) -> Result<Vec<FencingToken>, StoreError> {
        let held = held.to_vec();
        self.writer
            .run(move |turn| {
                let until = turn.now + as_millis(lease.length());
                let mut renewed = Vec::new();
                for one in &held {
                    let rows = turn.execute(
                        "UPDATE record SET lease_until = ?4 WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state = 1",
                        (one.scope.as_bytes(), one.key.as_bytes(), one.token.0, until),
                    )?;
                    renewed.extend((rows > 0).then_some(one.token));
                }
                Ok(renewed)
            })
            .await
    }

    /// A row that was meanwhile marked unknown keeps that state under its new token.
    pub(crate) async fn fenced(&self, held: &Held, lease: Lease) -> Result<Option<FencingToken>, StoreError> {
        let held = held.clone();
        self.writer
            .run(move |turn| {
                let token = turn.tokens(1)?;
                let rows = turn.execute(
                    "UPDATE record SET token = ?4, lease_until = CASE WHEN state = 1 THEN ?5 END
                      WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state IN (1, 3)",
                    (
                        held.scope.as_bytes(),
                        held.key.as_bytes(),
                        held.token.0,
                        token,
                        turn.now + as_millis(lease.length()),
                    ),
                )?;
                Ok((rows > 0).then_some(FencingToken(token)))
            })
            .await
    }
}
