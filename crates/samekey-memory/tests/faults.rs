//! What only this store offers: a clock to turn, faults to call for, transactions that end when the test says so.
#![cfg(test)]

use std::time::Duration;

use samekey_core::fingerprint::Request;
use samekey_core::lease::Lease;
use samekey_core::record::{Age, RecordState};
use samekey_core::store::{ClaimRequest, Claimed, Dialect, Effect, Held, Join, RecipeId, Records, Value};
use samekey_core::{Answer, FencingToken, Key, Recipe, Scope, StoreError};
use samekey_memory::{Clock, Fault, Memory, MemoryTransaction};

const LEASE: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3_600);
const PATIENCE: Duration = Duration::from_secs(20);

fn wish(claim: u128) -> ClaimRequest {
    let request = Request { method: "POST", path: "/", query: "", content_type: "", body: b"" };
    ClaimRequest {
        scope: Scope::new("t").unwrap(),
        key: Key::new("k").unwrap(),
        claim: uuid::Uuid::from_u128(claim),
        fingerprint: Recipe::raw().fingerprint(&request),
        recipe: RecipeId(1),
        lease: Lease::new(LEASE).unwrap(),
        retention: HOUR,
        tombstone: HOUR,
    }
}

fn held(token: FencingToken) -> Held {
    Held { scope: Scope::new("t").unwrap(), key: Key::new("k").unwrap(), token }
}

async fn win(memory: &Memory) -> Held {
    let Claimed::Won(claim) = memory.claim(vec![wish(1)]).await.unwrap().remove(0) else { panic!("met") };
    held(claim.token)
}

fn answer() -> Answer {
    Answer::bare(201)
}

fn effect_of<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Effect {
    match result.unwrap_err() {
        StoreError::Away { effect, .. } => effect,
        other => panic!("{other:?}"),
    }
}

async fn state(memory: &Memory) -> Option<RecordState> {
    let record = memory.load(&wish(0).scope, &wish(0).key).await.unwrap();
    record.map(|record| record.state)
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_there() {
    let memory = Memory::new();
    memory.fail_next(Fault::ClaimAnswerLost);
    assert_eq!(memory.load(&wish(0).scope, &wish(0).key).await.unwrap(), None, "a look is no claim");
    assert_eq!(effect_of(memory.claim(vec![wish(1)]).await), Effect::Unknown);
    assert!(matches!(memory.claim(vec![wish(2)]).await.unwrap()[0], Claimed::Met(_)));
    assert!(matches!(memory.claim(vec![wish(1)]).await.unwrap()[0], Claimed::Won(_)));
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_has_happened() {
    let memory = Memory::new();
    let mine = win(&memory).await;
    let mut tx = memory.begin();
    tx.put("orders", "one");
    memory.fail_next(Fault::CommitAnswerLost);
    assert_eq!(effect_of(memory.complete_within(tx, &mine, &answer()).await), Effect::Unknown);
    assert_eq!(memory.fence(&mine, Lease::RECORD).await.unwrap(), None);
    assert_eq!(state(&memory).await, Some(RecordState::Completed));
    assert_eq!(memory.rows("orders"), ["one"]);
}

#[tokio::test]
async fn a_commit_that_was_lost_can_never_happen_after_a_fence() {
    let memory = Memory::new();
    let mine = win(&memory).await;
    for fault in [Fault::CommitLost, Fault::Away] {
        let mut tx = memory.begin();
        tx.put("orders", "one");
        memory.fail_next(fault);
        effect_of(memory.complete_within(tx, &mine, &answer()).await);
    }
    memory.fail_next(Fault::CommitLost);
    assert_eq!(effect_of(memory.complete(&mine, &answer()).await), Effect::Unknown);
    assert_eq!(state(&memory).await, Some(RecordState::InProgress));
    assert!(memory.rows("orders").is_empty());
    assert!(memory.fence(&mine, Lease::RECORD).await.unwrap().is_some());
    assert!(matches!(memory.complete(&mine, &answer()).await, Err(StoreError::ClaimLost)));
}

#[tokio::test]
async fn a_store_that_is_away_keeps_what_it_held() {
    let memory = Memory::new();
    memory.fail_next(Fault::Away);
    assert_eq!(effect_of(memory.claim(vec![wish(1)]).await), Effect::NotApplied);
    let mine = win(&memory).await;
    memory.go_away();
    for _ in 0..3 {
        assert_eq!(
            effect_of(memory.renew(std::slice::from_ref(&mine), Lease::RECORD).await),
            Effect::NotApplied
        );
    }
    memory.come_back();
    memory.complete(&mine, &answer()).await.unwrap();
}

#[tokio::test]
async fn a_stopped_clock_moves_when_it_is_put_forward() {
    let clock = Clock::stopped();
    let memory = Memory::with_clock(clock.clone());
    let mine = win(&memory).await;
    assert_eq!(memory.take_over(&wish(2), mine.token).await.unwrap(), None);
    clock.advance(LEASE);
    let taken = memory.take_over(&wish(2), mine.token).await.unwrap().unwrap();
    memory.complete(&held(taken.token), &answer()).await.unwrap();
    let age = async || memory.load(&mine.scope, &mine.key).await.unwrap().map(|record| record.age);
    assert_eq!(age().await, Some(Age::Current));
    clock.advance(HOUR - LEASE);
    assert_eq!(age().await, Some(Age::Tombstone));
    clock.advance(HOUR);
    assert_eq!(age().await, None);
}

#[tokio::test]
async fn a_transaction_that_idles_past_its_lease_is_ended() {
    let clock = Clock::stopped();
    let memory = Memory::with_clock(clock.clone());
    let mut first = memory.begin();
    let mine = memory.claim_within(&mut first, &wish(1), PATIENCE).await.unwrap().unwrap();
    clock.advance(LEASE / 2);
    first.put("orders", "a sign of life");
    clock.advance(LEASE / 2);

    let mut second = memory.begin();
    let two = wish(2);
    let mut waiting = Box::pin(memory.claim_within(&mut second, &two, PATIENCE));
    assert!(is_pending(&mut waiting).await, "the first has shown a sign of life");
    clock.advance(LEASE / 2);
    assert!(waiting.await.unwrap().is_some());
    assert_eq!(effect_of(memory.complete_within(first, &held(mine), &answer()).await), Effect::NotApplied);
    assert!(memory.rows("orders").is_empty());
}

/// Polls it once.
async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
    })
    .await
}

/// Whose claim somebody fences after its last statement and before its commit.
struct Overtaken(MemoryTransaction, Memory, Held);

impl Join<Memory> for Overtaken {
    async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.0.execute(sql, values).await
    }

    async fn text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<String>, StoreError> {
        self.0.text(sql, values).await
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.1.fence(&self.2, Lease::RECORD).await?;
        self.0.commit().await
    }

    async fn rollback(self) -> Result<(), StoreError> {
        self.0.rollback().await
    }
}

#[tokio::test]
async fn a_claim_that_is_lost_just_before_the_commit_takes_the_effect_with_it() {
    let memory = Memory::new();
    let mine = win(&memory).await;
    let mut tx = memory.begin();
    tx.put("orders", "one");
    let overtaken = Overtaken(tx, memory.clone(), mine.clone());
    let completed = memory.complete_within(overtaken, &mine, &answer()).await;
    assert!(matches!(completed, Err(StoreError::ClaimLost)), "{completed:?}");
    assert!(memory.rows("orders").is_empty());
    assert_eq!(state(&memory).await, Some(RecordState::InProgress));
}

#[tokio::test]
async fn a_savepoint_that_is_rolled_back_takes_its_own_effects_and_no_others() {
    let memory = Memory::new();
    let mut tx = memory.begin();
    tx.put("orders", "outer");
    let mut lost = tx.savepoint();
    lost.put("orders", "lost");
    drop(lost);
    let mut kept = tx.savepoint();
    kept.put("orders", "kept");
    kept.commit().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(memory.rows("orders"), ["outer", "kept"]);
}
