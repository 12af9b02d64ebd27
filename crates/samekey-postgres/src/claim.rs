//! Claim: of any number of requests for one key, one wins.

use samekey_core::lease::Lease;
use samekey_core::record::Age;
use samekey_core::record::Record;
use samekey_core::store::{
    BegunStep, Claim, ClaimRequest, Claimed, Held, RecipeId, Records, StepKind, SweepCursor, Swept,
};
use samekey_core::{Answer, FencingToken, Key, Recipe, Scope, StoreError};
use uuid::Uuid;

use crate::Postgres;
use crate::columns::{self, column};
use crate::driver::{Driver, Durability};
use crate::error::unreadable;

/// How often a wish is tried again that found neither a place nor a record: its winner committed, or the record was
/// purged, while the statement ran. Each turn needs a new coincidence.
const TURNS: usize = 8;

/// The wishes of one statement, column by column.
#[derive(Default)]
struct Wishes<'a> {
    ord: Vec<i32>,
    scope: Vec<&'a [u8]>,
    key: Vec<&'a [u8]>,
    claim: Vec<Uuid>,
    fingerprint: Vec<&'a [u8]>,
    recipe: Vec<i16>,
    lease_s: Vec<f64>,
    retention_s: Vec<f64>,
    tombstone_s: Vec<f64>,
}

impl<'a> Wishes<'a> {
    fn of(wishes: &'a [ClaimRequest], indices: &[usize]) -> Self {
        let mut columns = Self::default();
        for &index in indices {
            let wish = &wishes[index];
            columns.ord.push(i32::try_from(index).expect("a batch has fewer than 2^31 wishes"));
            columns.scope.push(wish.scope.as_bytes());
            columns.key.push(wish.key.as_bytes());
            columns.claim.push(wish.claim);
            columns.fingerprint.push(wish.fingerprint.as_bytes());
            columns.recipe.push(wish.recipe.0);
            columns.lease_s.push(wish.lease.length().as_secs_f64());
            columns.retention_s.push(wish.retention.as_secs_f64());
            columns.tombstone_s.push(wish.tombstone.as_secs_f64());
        }
        columns
    }
}

impl<D: Driver> Postgres<D> {
    async fn claim_all(&self, wishes: &[ClaimRequest]) -> Result<Vec<Claimed>, StoreError> {
        let mut answers: Vec<Option<Claimed>> = vec![None; wishes.len()];
        let mut open: Vec<usize> = (0..wishes.len()).collect();
        for _ in 0..TURNS {
            for row in self.claim_some(wishes, &open).await? {
                let index = usize::try_from(column::<i32>(&row, "ord")?).map_err(unreadable)?;
                let wish = wishes.get(index).ok_or_else(|| unreadable("a claim that nobody asked for"))?;
                answers[index] = self.claimed(wish, &row).await?;
            }
            open.retain(|&index| answers[index].is_none());
            if open.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
        }
        Err(StoreError::Busy { source: "the record came and went while it was claimed".into() })
    }

    /// One statement for these wishes; halved where a lock is held for too long, down to one that is alone to wait.
    async fn claim_some(
        &self,
        wishes: &[ClaimRequest],
        indices: &[usize],
    ) -> Result<Vec<D::Row>, StoreError> {
        let columns = Wishes::of(wishes, indices);
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.claim,
                values![
                    &columns.ord,
                    &columns.scope,
                    &columns.key,
                    &columns.claim,
                    &columns.fingerprint,
                    &columns.recipe,
                    &columns.lease_s,
                    &columns.retention_s,
                    &columns.tombstone_s,
                ],
            )
            .await;
        match rows {
            Err(StoreError::Busy { .. }) if indices.len() > 1 => {
                let (left, right) = indices.split_at(indices.len() / 2);
                let mut rows = Box::pin(self.claim_some(wishes, left)).await?;
                rows.extend(Box::pin(self.claim_some(wishes, right)).await?);
                Ok(rows)
            }
            rows => rows,
        }
    }

    /// `None`: run again.
    async fn claimed(&self, wish: &ClaimRequest, row: &D::Row) -> Result<Option<Claimed>, StoreError> {
        if let Some(token) = column(row, "won")? {
            return Ok(Some(won(FencingToken(token), 0, 0)));
        }
        let Some(mine) = column::<Option<bool>>(row, "mine")? else { return Ok(None) };
        let record = columns::record(row)?;
        if mine {
            return Ok(Some(won(record.token, record.generation, record.steps_begun)));
        }
        if record.age == Age::Purgeable {
            let values = values![wish.scope.as_bytes(), wish.key.as_bytes(), record.token.0];
            self.connections.write(Durability::Durable, &self.sql.purge, values).await?;
            return Ok(None);
        }
        Ok(Some(Claimed::Met(Box::new(record))))
    }

    async fn claim_abandoned(
        &self,
        wish: &ClaimRequest,
        seen: FencingToken,
    ) -> Result<Option<Claim>, StoreError> {
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.take_over,
                values![
                    wish.scope.as_bytes(),
                    wish.key.as_bytes(),
                    seen.0,
                    wish.claim,
                    wish.lease.length().as_secs_f64(),
                    wish.fingerprint.as_bytes(),
                    wish.recipe.0,
                    wish.retention.as_secs_f64(),
                    wish.tombstone.as_secs_f64(),
                ],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Claim {
            token: FencingToken(column(row, "token")?),
            generation: columns::count(row, "generation")?,
            steps_begun: columns::count(row, "steps_begun")?,
        }))
    }
}

fn won(token: FencingToken, generation: u32, steps_begun: u32) -> Claimed {
    Claimed::Won(Claim { token, generation, steps_begun })
}

impl<D: Driver> Records for Postgres<D> {
    async fn recipe(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
        self.recipe_id(recipe).await
    }

    async fn recipe_of(&self, id: RecipeId) -> Result<Recipe, StoreError> {
        self.recipe_behind(id).await
    }

    async fn claim(&self, wishes: Vec<ClaimRequest>) -> Result<Vec<Claimed>, StoreError> {
        self.claim_all(&wishes).await
    }

    async fn load(&self, scope: &Scope, key: &Key) -> Result<Option<Record>, StoreError> {
        self.look(scope, key).await
    }

    async fn take_over(&self, wish: &ClaimRequest, seen: FencingToken) -> Result<Option<Claim>, StoreError> {
        self.claim_abandoned(wish, seen).await
    }

    async fn mark_unknown(&self, seen: &Held) -> Result<bool, StoreError> {
        self.change_held(&self.sql.mark_unknown, seen).await
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
        self.change_held(&self.sql.release, held).await
    }

    async fn end_lease(&self, held: &Held) -> Result<bool, StoreError> {
        self.change_held(&self.sql.end_lease, held).await
    }

    async fn fence(&self, held: &Held, lease: Lease) -> Result<Option<FencingToken>, StoreError> {
        self.fenced(held, lease).await
    }

    async fn sweep(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        self.sweep_with(&self.sql.sweep, from, limit).await
    }
}
