//! Claim: of any number of requests for one key, one wins.

use samekey_core::lease::Lease;
use samekey_core::record::{Age, Record, RecordState};
use samekey_core::store::{
    BegunStep, Claim, ClaimRequest, Claimed, Held, RecipeId, Records, StepKind, SweepCursor, Swept,
};
use samekey_core::{Answer, FencingToken, Key, Recipe, Scope, StoreError};

use crate::columns::as_millis;
use crate::look::{Found, find};
use crate::writer::Turn;
use crate::{Sqlite, sweep};

/// Claims one record. Nobody else writes meanwhile, so what was read still holds when the insert comes.
pub(crate) fn claim(turn: &Turn<'_>, wish: &ClaimRequest) -> Result<Claimed, StoreError> {
    if let Some(Found { id, record }) = find(turn.db, turn.now, &wish.scope, &wish.key)? {
        if record.claim == wish.claim && record.state == RecordState::InProgress {
            let (generation, steps_begun) = (record.generation, record.steps_begun);
            return Ok(Claimed::Won(Claim { token: record.token, generation, steps_begun }));
        }
        if record.age != Age::Purgeable {
            return Ok(Claimed::Met(Box::new(record)));
        }
        sweep::remove_record(turn, id)?;
    }
    let token = turn.tokens(1)?;
    let expires_at = turn.now + as_millis(wish.retention);
    turn.execute(
        "INSERT INTO record (scope, key, token, claim, state, lease_until, expires_at, purge_at, retention_ms, recipe, fingerprint)
         VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10)",
        (
            wish.scope.as_bytes(),
            wish.key.as_bytes(),
            token,
            wish.claim.as_bytes(),
            turn.now + as_millis(wish.lease.length()),
            expires_at,
            expires_at + as_millis(wish.tombstone),
            as_millis(wish.retention),
            wish.recipe.0,
            wish.fingerprint.as_bytes(),
        ),
    )?;
    Ok(Claimed::Won(Claim { token: FencingToken(token), generation: 0, steps_begun: 0 }))
}

/// Another fingerprint only for a key that an operator freed and nobody has claimed since. Late in its retention, the record
/// starts it anew.
fn take_over(turn: &Turn<'_>, wish: &ClaimRequest, seen: FencingToken) -> Result<Option<Claim>, StoreError> {
    let Some(Found { id, record, .. }) = find(turn.db, turn.now, &wish.scope, &wish.key)? else {
        return Ok(None);
    };
    let abandoned =
        record.token == seen && record.state == RecordState::InProgress && record.lease_left.is_zero();
    let free = record.claim.is_nil();
    if !abandoned || !(free || record.fingerprint == wish.fingerprint) {
        return Ok(None);
    }
    let token = turn.tokens(1)?;
    let (retention, tombstone) = (as_millis(wish.retention), as_millis(wish.tombstone));
    turn.execute(
        "UPDATE record SET token = ?2, claim = ?3, lease_until = ?4, fingerprint = ?5, recipe = ?6,
                purge_at   = CASE WHEN expires_at < ?7 + ?8 / 2 THEN ?7 + ?8 + ?9 ELSE purge_at END,
                expires_at = CASE WHEN expires_at < ?7 + ?8 / 2 THEN ?7 + ?8 ELSE expires_at END
          WHERE id = ?1",
        (
            id,
            token,
            wish.claim.as_bytes(),
            turn.now + as_millis(wish.lease.length()),
            wish.fingerprint.as_bytes(),
            wish.recipe.0,
            turn.now,
            retention,
            tombstone,
        ),
    )?;
    let (generation, steps_begun) = (record.generation, record.steps_begun);
    Ok(Some(Claim { token: FencingToken(token), generation, steps_begun }))
}

impl Records for Sqlite {
    async fn recipe(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
        self.recipe_id(recipe).await
    }

    async fn recipe_of(&self, id: RecipeId) -> Result<Recipe, StoreError> {
        self.recipe_behind(id).await
    }

    async fn claim(&self, wishes: Vec<ClaimRequest>) -> Result<Vec<Claimed>, StoreError> {
        self.writer.run(move |turn| wishes.iter().map(|wish| claim(turn, wish)).collect()).await
    }

    async fn load(&self, scope: &Scope, key: &Key) -> Result<Option<Record>, StoreError> {
        self.look(scope.clone(), key.clone()).await
    }

    async fn take_over(&self, wish: &ClaimRequest, seen: FencingToken) -> Result<Option<Claim>, StoreError> {
        let wish = wish.clone();
        self.writer.run(move |turn| take_over(turn, &wish, seen)).await
    }

    async fn mark_unknown(&self, seen: &Held) -> Result<bool, StoreError> {
        self.mark_abandoned_unknown(seen).await
    }

    async fn renew(&self, held: &[Held], lease: Lease) -> Result<Vec<FencingToken>, StoreError> {
        self.renew_claims(held, lease).await
    }

    async fn begin_step(
        &self,
        held: &Held,
        name: &str,
        kind: StepKind,
        input: &[u8],
    ) -> Result<BegunStep, StoreError> {
        self.step_begun(held, name, kind, input).await
    }

    async fn begun_steps(&self, held: &Held) -> Result<Vec<String>, StoreError> {
        self.step_names(held).await
    }

    async fn end_step(&self, held: &Held, name: &str, result: &[u8]) -> Result<(), StoreError> {
        self.step_ended(held, name, result).await
    }

    async fn undo_step(&self, held: &Held, name: &str) -> Result<(), StoreError> {
        self.step_undone(held, name).await
    }

    async fn complete(&self, held: &Held, answer: &Answer) -> Result<(), StoreError> {
        self.completed(held, answer).await
    }

    async fn release(&self, held: &Held) -> Result<bool, StoreError> {
        self.released(held).await
    }

    async fn end_lease(&self, held: &Held) -> Result<bool, StoreError> {
        self.lease_ended(held).await
    }

    async fn fence(&self, held: &Held, lease: Lease) -> Result<Option<FencingToken>, StoreError> {
        self.fenced(held, lease).await
    }

    async fn sweep(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        self.sweep_with(sweep::Kept::Records, from, limit).await
    }
}
