//! The verbs over records, handed through to the store inside.
//!
//! The stores here are types of their own because of the orphan rule: only a type of this crate lets it say that a
//! transaction of `sqlx` joins it.

/// Implements `Records` for a type around a store.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
macro_rules! delegate_records {
    ($store:ty) => {
        impl Records for $store {
            async fn recipe(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
                self.0.recipe(recipe).await
            }

            async fn recipe_of(&self, id: RecipeId) -> Result<Recipe, StoreError> {
                self.0.recipe_of(id).await
            }

            async fn claim(&self, wishes: Vec<ClaimRequest>) -> Result<Vec<Claimed>, StoreError> {
                self.0.claim(wishes).await
            }

            async fn load(&self, scope: &Scope, key: &Key) -> Result<Option<Record>, StoreError> {
                self.0.load(scope, key).await
            }

            async fn take_over(
                &self,
                wish: &ClaimRequest,
                seen: FencingToken,
            ) -> Result<Option<Claim>, StoreError> {
                self.0.take_over(wish, seen).await
            }

            async fn mark_unknown(&self, seen: &Held) -> Result<bool, StoreError> {
                self.0.mark_unknown(seen).await
            }

            async fn renew(&self, held: &[Held], lease: Lease) -> Result<Vec<FencingToken>, StoreError> {
                self.0.renew(held, lease).await
            }

            async fn begin_step(
                &self,
                held: &Held,
                name: &str,
                kind: StepKind,
                input: &[u8],
            ) -> Result<BegunStep, StoreError> {
                self.0.begin_step(held, name, kind, input).await
            }

            async fn begun_steps(&self, held: &Held) -> Result<Vec<String>, StoreError> {
                self.0.begun_steps(held).await
            }

            async fn end_step(&self, held: &Held, name: &str, result: &[u8]) -> Result<(), StoreError> {
                self.0.end_step(held, name, result).await
            }

            async fn undo_step(&self, held: &Held, name: &str) -> Result<(), StoreError> {
                self.0.undo_step(held, name).await
            }

            async fn complete(&self, held: &Held, answer: &Answer) -> Result<(), StoreError> {
                self.0.complete(held, answer).await
            }

            async fn release(&self, held: &Held) -> Result<bool, StoreError> {
                self.0.release(held).await
            }

            async fn end_lease(&self, held: &Held) -> Result<bool, StoreError> {
                self.0.end_lease(held).await
            }

            async fn fence(&self, held: &Held, lease: Lease) -> Result<Option<FencingToken>, StoreError> {
                self.0.fence(held, lease).await
            }

            async fn sweep(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
                self.0.sweep(from, limit).await
            }
        }

        impl Dialect for $store {
            async fn claim_within<Tx: Join<Self>>(
                &self,
                tx: &mut Tx,
                wish: &ClaimRequest,
                patience: Duration,
            ) -> Result<Option<FencingToken>, StoreError> {
                self.0.claim_in::<Self, Tx>(tx, wish, patience).await
            }

            async fn complete_within<Tx: Join<Self>>(
                &self,
                tx: Tx,
                held: &Held,
                answer: &Answer,
            ) -> Result<(), StoreError> {
                self.0.complete_in::<Self, Tx>(tx, held, answer).await
            }
        }
    };
}
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use delegate_records;
