//! Complete: state and answer become visible together.

use samekey_core::store::Held;
use samekey_core::{Answer, StoreError};

use crate::Sqlite;
use crate::writer::Turn;

/// Also completes what was meanwhile marked unknown, if nobody took a new token; then retention starts anew.
pub(crate) fn complete(turn: &Turn<'_>, held: &Held, answer: &Answer) -> Result<(), StoreError> {
    let rows = turn.execute(
        "UPDATE record SET state = 2, status = ?4, answer = ?5, lease_until = NULL,
                purge_at   = CASE WHEN state = 3 THEN ?6 + retention_ms + purge_at - expires_at ELSE purge_at END,
                expires_at = CASE WHEN state = 3 THEN ?6 + retention_ms ELSE expires_at END
          WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state IN (1, 3)",
        (
            held.scope.as_bytes(),
            held.key.as_bytes(),
            held.token.0,
            answer.status,
            answer.encode(),
            turn.now,
        ),
    )?;
    if rows == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
}

impl Sqlite {
    pub(crate) async fn completed(&self, held: &Held, answer: &Answer) -> Result<(), StoreError> {
        let (held, answer) = (held.clone(), answer.clone());
        self.writer.run(move |turn| complete(turn, &held, &answer)).await
    }
}
