//! Claim: of any number of requests for one key, one wins.

use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::record::{Age, Record, RecordState};
use samekey_core::store::{
    BegunStep, Claim, ClaimRequest, Claimed, Held, RecipeId, Records, StepKind, SweepCursor, Swept,
};
use samekey_core::{Answer, FencingToken, Key, Recipe, Scope, StoreError};

use crate::Memory;
use crate::clock::as_millis;
use crate::fault::Call;
use crate::row::Row;
use crate::state::Turn;

/// How long a claim waits for a transaction that holds its key, as the stores in databases do.
const PATIENCE: Duration = Duration::from_millis(100);

impl Turn<'_> {
    fn claim(&mut self, wish: &ClaimRequest) -> Claimed {
        let name = (wish.scope.clone(), wish.key.clone());
        if let Some(row) = self.state.rows.get(&name) {
            if row.claim == wish.claim && row.state == RecordState::InProgress {
                return Claimed::Won(row.claim());
            }
            if row.age(self.now) != Age::Purgeable {
                return Claimed::Met(Box::new(row.record(self.now)));
            }
        }
        let row = Row::new(wish, self.token(), self.now);
        let claim = row.claim();
        self.state.rows.insert(name, row);
        Claimed::Won(claim)
    }

    /// Another fingerprint only for a key that an operator freed and nobody has used since. Late in its retention, the
    /// record starts it anew.
    fn take_over(&mut self, wish: &ClaimRequest, seen: FencingToken) -> Option<Claim> {
        let (now, retention) = (self.now, as_millis(wish.retention));
        let name = (wish.scope.clone(), wish.key.clone());
        let abandoned = |row: &Row| row.is_run_by(seen) && row.lease_until <= now;
        let free = |row: &Row| row.generation > 0 && row.steps_begun == 0;
        let mine = |row: &Row| abandoned(row) && (free(row) || row.fingerprint == wish.fingerprint);
        self.state.rows.get(&name).filter(|row| mine(row))?;
        let token = self.token();
        let row = self.state.rows.get_mut(&name)?;
        row.token = token;
        row.claim = wish.claim;
        row.lease_until = now + as_millis(wish.lease.length());
        row.fingerprint = wish.fingerprint;
        row.recipe = wish.recipe;
        if row.expires_at < now + retention / 2 {
            row.expires_at = now + retention;
            row.purge_at = row.expires_at + as_millis(wish.tombstone);
        }
        Some(row.claim())
    }
}

impl Records for Memory {
    async fn recipe(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
        self.recipe_id(recipe)
    }

    async fn recipe_of(&self, id: RecipeId) -> Result<Recipe, StoreError> {
        self.recipe_behind(id)
    }

    async fn claim(&self, wishes: Vec<ClaimRequest>) -> Result<Vec<Claimed>, StoreError> {
        let names: Vec<_> = wishes.iter().map(|wish| (wish.scope.clone(), wish.key.clone())).collect();
        let claim = |turn: &mut Turn<'_>| Ok(wishes.iter().map(|wish| turn.claim(wish)).collect());
        self.once_free(&names, None, PATIENCE, Call::Claim, claim).await
    }

    async fn load(&self, scope: &Scope, key: &Key) -> Result<Option<Record>, StoreError> {
        self.look(scope, key)
    }

    async fn take_over(&self, wish: &ClaimRequest, seen: FencingToken) -> Result<Option<Claim>, StoreError> {
        self.run(Call::Claim, |turn| Ok(turn.take_over(wish, seen)))
    }

    async fn mark_unknown(&self, seen: &Held) -> Result<bool, StoreError> {
        self.mark_abandoned_unknown(seen)
    }

    async fn renew(&self, held: &[Held], lease: Lease) -> Result<Vec<FencingToken>, StoreError> {
        self.renew_claims(held, lease)
    }

    async fn begin_step(
        &self,
        held: &Held,
        name: &str,
        kind: StepKind,
        input: &[u8],
    ) -> Result<BegunStep, StoreError> {
        self.step_begun(held, name, kind, input)
    }

    async fn begun_steps(&self, held: &Held) -> Result<Vec<String>, StoreError> {
        self.step_names(held)
    }

    async fn end_step(&self, held: &Held, name: &str, result: &[u8]) -> Result<(), StoreError> {
        self.step_ended(held, name, result)
    }

    async fn undo_step(&self, held: &Held, name: &str) -> Result<(), StoreError> {
        self.step_undone(held, name)
    }

    async fn complete(&self, held: &Held, answer: &Answer) -> Result<(), StoreError> {
        self.completed(held, answer)
    }

    async fn release(&self, held: &Held) -> Result<bool, StoreError> {
        self.released(held)
    }

    async fn end_lease(&self, held: &Held) -> Result<bool, StoreError> {
        self.lease_ended(held)
    }

    async fn fence(&self, held: &Held, lease: Lease) -> Result<Option<FencingToken>, StoreError> {
        self.fenced(held, lease)
    }

    async fn sweep(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        self.swept(from, limit)
    }
}
