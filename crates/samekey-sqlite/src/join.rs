//! A record inside a transaction of another driver on the same file: the statements that claim it there and that complete
//! it.
//!
//! SQLite has one writer at a time. The first statement here writes, so from there on nobody else does, and what is read
//! afterwards still holds when it is written. A frozen owner cannot be ended from outside, as a server could: its
//! transaction holds up every writer until its process ends, like any other of SQLite.

use std::time::Duration;

use samekey_core::store::{ClaimRequest, Dialect, Held, Join, Value};
use samekey_core::{Answer, FencingToken, StoreError};

use crate::Sqlite;
use crate::columns::as_millis;
use crate::error::unreadable;

const TOKEN: &str = "UPDATE meta SET token = token + 1 RETURNING CAST(token AS TEXT)";
const CLAIM: &str = "INSERT INTO record
  (scope, key, token, claim, state, lease_until, expires_at, purge_at, retention_ms, recipe, fingerprint)
  VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (scope, key) DO NOTHING";
const MINE: &str =
    "SELECT CAST(token AS TEXT) FROM record WHERE scope = ?1 AND key = ?2 AND claim = ?3 AND state = 1";
const PURGE_STEPS: &str = "DELETE FROM step WHERE record IN
  (SELECT id FROM record WHERE scope = ?1 AND key = ?2 AND state = 2 AND purge_at <= ?3)";
const PURGE_RESOLUTIONS: &str = "DELETE FROM resolution WHERE record IN
  (SELECT id FROM record WHERE scope = ?1 AND key = ?2 AND state = 2 AND purge_at <= ?3)";
const PURGE: &str = "DELETE FROM record WHERE scope = ?1 AND key = ?2 AND state = 2 AND purge_at <= ?3";
const COMPLETE: &str = "UPDATE record SET state = 2, status = ?4, answer = ?5, lease_until = NULL,
         purge_at   = CASE WHEN state = 3 THEN ?6 + retention_ms + purge_at - expires_at ELSE purge_at END,
         expires_at = CASE WHEN state = 3 THEN ?6 + retention_ms ELSE expires_at END
   WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state IN (1, 3)";

impl Dialect for Sqlite {
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
impl Sqlite {
    /// The database's time, in milliseconds since 1970: what a statement in somebody else's transaction is given.
    ///
    /// # Errors
    /// [`StoreError::Away`].
    pub async fn now_ms(&self) -> Result<i64, StoreError> {
        self.readers.run(|look| Ok(look.now)).await
    }

    /// See [`Dialect::claim_within`]. It should be the transaction's first statement: one that has read before cannot wait
    /// for the writer, and is [`StoreError::Busy`] at once where somebody wrote since.
    ///
    /// # Errors
    /// As there.
    pub async fn claim_in<S, Tx: Join<S>>(
        &self,
        tx: &mut Tx,
        wish: &ClaimRequest,
        patience: Duration,
    ) -> Result<Option<FencingToken>, StoreError> {
        let token = wait_for_turn(tx, patience).await?;
        // Only now: whoever waited meets records that are younger than the moment it came.
        let now = self.now_ms().await?;
        if insert(tx, wish, token, now).await? {
            return Ok(Some(FencingToken(token)));
        }
        let (scope, key) = (Value::Bytes(wish.scope.as_bytes()), Value::Bytes(wish.key.as_bytes()));
        if let Some(mine) = tx.text(MINE, &[scope, key, Value::Uuid(wish.claim)]).await? {
            return Ok(Some(FencingToken(number(&mine)?)));
        }
        for of_the_record in [PURGE_STEPS, PURGE_RESOLUTIONS] {
            tx.execute(of_the_record, &[scope, key, Value::Big(now)]).await?;
        }
        let purged = tx.execute(PURGE, &[scope, key, Value::Big(now)]).await? > 0;
        Ok((purged && insert(tx, wish, token, now).await?).then_some(FencingToken(token)))
    }

    /// See [`Dialect::complete_within`]. That a savepoint is refused is left to the transaction's own `commit`.
    ///
    /// # Errors
    /// As there.
    pub async fn complete_in<S, Tx: Join<S>>(
        &self,
        mut tx: Tx,
        held: &Held,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        match self.complete_row(&mut tx, held, answer).await {
            Ok(1) => tx.commit().await,
            outcome => {
                // Where this fails, the connection is lost, and the transaction with it.
                let _ = tx.rollback().await;
                outcome.and(Err(StoreError::ClaimLost))
            }
        }
    }

    async fn complete_row<S, Tx: Join<S>>(
        &self,
        tx: &mut Tx,
        held: &Held,
        answer: &Answer,
    ) -> Result<u64, StoreError> {
        let now = self.now_ms().await?;
        let blob = answer.encode();
        let values = [
            Value::Bytes(held.scope.as_bytes()),
            Value::Bytes(held.key.as_bytes()),
            Value::Big(held.token.0),
            Value::Big(i64::from(answer.status)),
            Value::Bytes(&blob),
            Value::Big(now),
        ];
        tx.execute(COMPLETE, &values).await
    }
}

async fn insert<S, Tx: Join<S>>(
    tx: &mut Tx,
    wish: &ClaimRequest,
    token: i64,
    now: i64,
) -> Result<bool, StoreError> {
    let expires_at = now + as_millis(wish.retention);
    let values = [
        Value::Bytes(wish.scope.as_bytes()),
        Value::Bytes(wish.key.as_bytes()),
        Value::Big(token),
        Value::Uuid(wish.claim),
        Value::Big(now + as_millis(wish.lease.length())),
        Value::Big(expires_at),
        Value::Big(expires_at + as_millis(wish.tombstone)),
        Value::Big(as_millis(wish.retention)),
        Value::Small(wish.recipe.0),
        Value::Bytes(wish.fingerprint.as_bytes()),
    ];
    Ok(tx.execute(CLAIM, &values).await? > 0)
}

/// A fencing token, and with it the right to write. The connection's own `busy_timeout` bounds the wait too; to set another
/// would leave it behind for whoever has the connection next.
async fn wait_for_turn<S, Tx: Join<S>>(tx: &mut Tx, patience: Duration) -> Result<i64, StoreError> {
    let busy = |_| StoreError::Busy { source: "another transaction writes".into() };
    let token = tokio::time::timeout(patience, tx.text(TOKEN, &[])).await.map_err(busy)??;
    number(&token.ok_or_else(|| unreadable("the table `meta` is empty"))?)
}

fn number(text: &str) -> Result<i64, StoreError> {
    text.parse().map_err(unreadable)
}
