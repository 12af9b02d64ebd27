//! The verbs over records: claim, renew, complete, release, load, sweep.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::derived::DerivedKey;
use crate::lease::Lease;
use crate::record::Record;
use crate::{Answer, FencingToken, Fingerprint, Key, Recipe, Scope, StoreError, UnixMs};

/// Names a recipe in a store; handed out by [`Records::recipe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecipeId(pub i16);

/// A wish to own the record for (scope, key).
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// Whose key.
    pub scope: Scope,
    /// The key.
    pub key: Key,
    /// Minted beforehand, so that a claim whose answer was lost can be recognised as one's own.
    pub claim: Uuid,
    /// Of the request.
    pub fingerprint: Fingerprint,
    /// How it was made.
    pub recipe: RecipeId,
    /// How long the claim holds without a heartbeat.
    pub lease: Lease,
    /// How long the answer is kept, counted from the claim.
    pub retention: Duration,
    /// How long after that the key is refused as expired.
    pub tombstone: Duration,
}

/// A claim that was won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Names it in every later write.
    pub token: FencingToken,
    /// Part of the derived keys.
    pub generation: u32,
    /// Steps that earlier claims began: this claim resumes after them, and may not release.
    pub steps_begun: u32,
}

/// What a claim found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The record is this request's, by this statement or by an earlier one whose answer was lost.
    Won(Claim),
    /// It was there before.
    Met(Box<Record>),
}

/// A claim that is being worked under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// Whose key.
    pub scope: Scope,
    /// The key.
    pub key: Key,
    /// The claim's token.
    pub token: FencingToken,
}

/// What kind of side a step calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// It takes a derived key: a begun step may be called again.
    Keyed,
    /// It takes none: a begun step without an end is in doubt.
    Unkeyed,
}

/// A step as it stands after it was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunStep {
    /// What the other side is given as its key.
    pub derived_key: DerivedKey,
    /// What is, or was, sent: a resumed attempt sends what the first one did, not a new computation.
    pub input: Bytes,
    /// What the other side said, where an earlier attempt has heard it.
    pub reply: Reply,
}

/// Whether a step has been answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Never called before.
    New,
    /// Begun before, and not ended: it may have been called.
    Begun,
    /// Ended, with this result.
    Kept(Bytes),
}

/// How far a sweep has come. Start with the default; hand back what the last batch gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCursor(pub Option<UnixMs>);

/// What one batch of a sweep removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Rows removed.
    pub removed: usize,
    /// Where to go on; the next batch does not read the removed rows' index entries again.
    pub cursor: SweepCursor,
}

/// The verbs over records. Each is one transaction.
pub trait Records: Clone + Send + Sync + 'static {
    /// The id of a recipe; writes it where it is new.
    fn recipe(&self, recipe: &Recipe) -> impl Future<Output = Result<RecipeId, StoreError>> + Send;

    /// The recipe behind an id.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] where a newer release wrote it: answer 503, not 422.
    fn recipe_of(&self, id: RecipeId) -> impl Future<Output = Result<Recipe, StoreError>> + Send;

    /// Claims many records at once, before any work; the answers come in the order of the wishes.
    ///
    /// A tombstone is met, not removed. A record that outlived its tombstone is removed and claimed afresh.
    ///
    /// # Guarantees
    /// Of any number of claims for one (scope, key), in any processes, one wins. After a crash the record is in progress
    /// until its lease runs out. After an error with an unknown effect, the same wish (same claim id) finds its own claim.
    fn claim(
        &self,
        wishes: Vec<ClaimRequest>,
    ) -> impl Future<Output = Result<Vec<Claimed>, StoreError>> + Send;

    /// Looks without claiming; `None` where there is no record, or one that outlived its tombstone.
    fn load(
        &self,
        scope: &Scope,
        key: &Key,
    ) -> impl Future<Output = Result<Option<Record>, StoreError>> + Send;

    /// Claims a record whose lease is over, naming the token that was seen. `None`: somebody else was faster; look again.
    ///
    /// Another fingerprint is taken only where an operator freed the key and nobody has used it since.
    fn take_over(
        &self,
        wish: &ClaimRequest,
        seen: FencingToken,
    ) -> impl Future<Output = Result<Option<Claim>, StoreError>> + Send;

    /// Marks an abandoned record unknown, naming the token that was seen. The token stays, so that a stalled owner can
    /// still bring the true answer by completing. Says whether it did.
    fn mark_unknown(&self, seen: &Held) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Heartbeat for all live claims of a process; gives the tokens that were renewed.
    ///
    /// A row that a completing transaction holds is skipped, not waited for: a token that does not come back is lost only
    /// when its owner's own deadline passes. A lost heartbeat ends a lease early; it corrupts nothing.
    fn renew(
        &self,
        held: &[Held],
        lease: Lease,
    ) -> impl Future<Output = Result<Vec<FencingToken>, StoreError>> + Send;

    /// Begins a step: counts it on the record, keeps its input, and gives what is known of it.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`]: do not call the other side.
    ///
    /// # Guarantees
    /// Committed before it returns. A crash afterwards leaves the step begun; a keyed one is called again under the same
    /// derived key and with the same input, an unkeyed one makes the record unknown.
    fn begin_step(
        &self,
        held: &Held,
        name: &str,
        kind: StepKind,
        input: &[u8],
    ) -> impl Future<Output = Result<BegunStep, StoreError>> + Send;

    /// The names of the steps that the record's claims have begun, in order.
    ///
    /// An attempt that resumes must ask for each of them before it begins one of another name: what a deploy has renamed
    /// was done under its old name.
    fn begun_steps(&self, held: &Held) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Ends a step with what the other side said.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`] where another claim has begun the step since.
    fn end_step(
        &self,
        held: &Held,
        name: &str,
        result: &[u8],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Takes back a step that was begun and of which it is certain that its call never left this process: as if it had not
    /// been begun.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`] where the record, or the step, is in other hands by now, or the step has ended.
    fn undo_step(&self, held: &Held, name: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Completes the record with its answer, in a transaction of its own. Also one that was meanwhile marked unknown, if
    /// nobody took a new token.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`] where the token is not the record's any more, or it is completed already.
    ///
    /// # Guarantees
    /// State and answer become visible together. After an unknown effect: [`Records::fence`], then read.
    fn complete(&self, held: &Held, answer: &Answer) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Gives the key back because nothing happened. Says whether it did: not once a step was begun.
    ///
    /// A record whose key an operator freed before stays, and is free again: without it, the next attempt would have the
    /// derived keys of the one that failed.
    fn release(&self, held: &Held) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Ends the lease at once, so that the next attempt resumes without waiting. Says whether it did.
    fn end_lease(&self, held: &Held) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// After a commit without an answer: takes a new token, so that the old transaction can never complete. `None`: the
    /// record is not in progress under the old token; read it, it says what became of it.
    fn fence(
        &self,
        held: &Held,
        lease: Lease,
    ) -> impl Future<Output = Result<Option<FencingToken>, StoreError>> + Send;

    /// Removes one bounded batch of records past their time: completed ones with their steps and answers, and abandoned ones
    /// that have begun no step.
    fn sweep(
        &self,
        from: SweepCursor,
        limit: usize,
    ) -> impl Future<Output = Result<Swept, StoreError>> + Send;
}
