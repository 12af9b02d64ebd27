//! Joining: a record in the user's transaction.
//!
//! [`Join`] hands over statements and values, since that is what drivers of databases take. This store has no language of
//! statements; it needs two, so each is one word, and its values come in a fixed order. The transaction reads the word and
//! does the work. In this way the same path is taken as on a database, through `execute`, `text`, `commit` and `rollback`,
//! and a test may put a transaction of its own around ours.

use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::record::Age;
use samekey_core::store::{ClaimRequest, Dialect, Held, Join, RecipeId, Value};
use samekey_core::{Answer, FencingToken, Fingerprint, Key, Scope, StoreError};

use crate::clock::{as_millis, millis};
use crate::fault::Call;
use crate::row::Row;
use crate::state::Turn;
use crate::{Memory, MemoryTransaction};

/// Scope, key, claim, fingerprint, recipe; lease, retention, tombstone and patience in milliseconds. Gives the token as
/// text, or nothing where the record is there already.
const CLAIM: &str = "claim";

/// Scope, key, token, answer as it is encoded. Gives the number of records that were completed.
const COMPLETE: &str = "complete";

impl Dialect for Memory {
    async fn claim_within<Tx: Join<Self>>(
        &self,
        tx: &mut Tx,
        wish: &ClaimRequest,
        patience: Duration,
    ) -> Result<Option<FencingToken>, StoreError> {
        let values = [
            Value::Bytes(wish.scope.as_bytes()),
            Value::Text(wish.key.as_str()),
            Value::Uuid(wish.claim),
            Value::Bytes(wish.fingerprint.as_bytes()),
            Value::Small(wish.recipe.0),
            Value::Big(as_millis(wish.lease.length())),
            Value::Big(as_millis(wish.retention)),
            Value::Big(as_millis(wish.tombstone)),
            Value::Big(as_millis(patience)),
        ];
        let token = tx.text(CLAIM, &values).await?;
        token.map(|token| token.parse().map(FencingToken).map_err(|_| unreadable("token"))).transpose()
    }

    async fn complete_within<Tx: Join<Self>>(
        &self,
        mut tx: Tx,
        held: &Held,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        let answer = answer.encode();
        let values = [
            Value::Bytes(held.scope.as_bytes()),
            Value::Text(held.key.as_str()),
            Value::Big(held.token.0),
            Value::Bytes(&answer),
        ];
        let completed = match tx.execute(COMPLETE, &values).await {
            Ok(0) => Err(StoreError::ClaimLost),
            completed => completed.map(drop),
        };
        if completed.is_err() {
            // It rolls back by itself where this fails.
            let _ = tx.rollback().await;
            return completed;
        }
        tx.commit().await
    }

    async fn commit_alone<Tx: Join<Self>>(&self, tx: Tx) -> Result<(), StoreError> {
        tx.commit().await
    }
}

impl Join<Memory> for MemoryTransaction {
    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        match sql {
            CLAIM => self.claim(values).await.map(|token| u64::from(token.is_some())),
            COMPLETE => self.complete(values),
            other => Err(no_such_statement(other)),
        }
    }

    async fn text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
        match sql {
            CLAIM => Ok(self.claim(values).await?.map(|token| token.0.to_string())),
            other => Err(no_such_statement(other)),
        }
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.commit_now()
    }

    async fn rollback(self) -> Result<(), StoreError> {
        self.undo();
        Ok(())
    }
}

impl MemoryTransaction {
    async fn claim(&mut self, values: &[Value<'_>]) -> Result<Option<FencingToken>, StoreError> {
        let (wish, patience) = wish(values).ok_or_else(|| unreadable("claim"))?;
        let name = (wish.scope.clone(), wish.key.clone());
        let (id, depth) = (self.id, self.depth());
        let claim = |turn: &mut Turn<'_>| turn.claim_within(id, depth, &wish);
        let claimed = self.store.once_free(&[name], Some(id), patience, Call::Other, claim).await;
        if claimed.is_err() {
            // As a database does after an error: what was done so far is lost.
            self.abort();
        }
        claimed
    }

    fn complete(&mut self, values: &[Value<'_>]) -> Result<u64, StoreError> {
        if self.is_savepoint() {
            self.abort();
            let source = "a savepoint completes nothing: hand over the transaction itself".into();
            return Err(StoreError::Refused { source });
        }
        let (held, answer) = completion(values).ok_or_else(|| unreadable("completion"))?;
        let (id, depth) = (self.id, self.depth());
        self.store.run(Call::Other, |turn| turn.complete_within(id, depth, held, answer))
    }
}

impl Turn<'_> {
    fn claim_within(
        &mut self,
        id: u64,
        depth: usize,
        wish: &ClaimRequest,
    ) -> Result<Option<FencingToken>, StoreError> {
        let (name, now) = ((wish.scope.clone(), wish.key.clone()), self.now);
        let is_there = self.state.rows.get(&name).is_some_and(|row| row.age(now) != Age::Purgeable);
        if self.work(id, depth)?.has_claimed(&name) || is_there {
            return Ok(None);
        }
        let token = self.token();
        self.work(id, depth)?.claim(name, Row::new(wish, token, now));
        self.limit_idling(id, as_millis(wish.lease.length()));
        Ok(Some(token))
    }

    fn complete_within(
        &mut self,
        id: u64,
        depth: usize,
        held: Held,
        answer: Answer,
    ) -> Result<u64, StoreError> {
        let (name, now) = (crate::row::name(&held), self.now);
        let mine = self.state.rows.get(&name).is_some_and(|row| row.can_be_completed_by(held.token));
        let work = self.work(id, depth)?;
        if let Some(row) = work.own_claim(&name, held.token) {
            row.complete(answer, now);
            return Ok(1);
        }
        if mine {
            work.complete(held, answer);
        }
        Ok(u64::from(mine))
    }
}

fn wish(values: &[Value<'_>]) -> Option<(ClaimRequest, Duration)> {
    let &[
        Value::Bytes(scope),
        Value::Text(key),
        Value::Uuid(claim),
        Value::Bytes(fingerprint),
        Value::Small(recipe),
        Value::Big(lease),
        Value::Big(retention),
        Value::Big(tombstone),
        Value::Big(patience),
    ] = values
    else {
        return None;
    };
    let wish = ClaimRequest {
        scope: Scope::from_stored(scope),
        key: Key::new(key).ok()?,
        claim,
        fingerprint: Fingerprint::from_stored(fingerprint.try_into().ok()?),
        recipe: RecipeId(recipe),
        lease: Lease::new(millis(lease))?,
        retention: millis(retention),
        tombstone: millis(tombstone),
    };
    Some((wish, millis(patience)))
}

fn completion(values: &[Value<'_>]) -> Option<(Held, Answer)> {
    let &[Value::Bytes(scope), Value::Text(key), Value::Big(token), Value::Bytes(answer)] = values else {
        return None;
    };
    let key = Key::new(key).ok()?;
    let held = Held { scope: Scope::from_stored(scope), key, token: FencingToken(token) };
    Some((held, Answer::decode(answer.to_vec()).ok()?))
}

fn no_such_statement(statement: &str) -> StoreError {
    StoreError::Refused { source: format!("the store in memory knows no statement `{statement}`").into() }
}

fn unreadable(what: &str) -> StoreError {
    StoreError::Refused { source: format!("the values of a {what} are not as they should be").into() }
}
