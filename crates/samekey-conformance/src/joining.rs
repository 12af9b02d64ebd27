//! Joining: a record inside a user's transaction. The key, the effect and the answer commit together or not at all.

use std::time::Duration;

use samekey_core::record::{Age, RecordState};
use samekey_core::store::{ClaimRequest, Dialect, Held, Join, Records};
use samekey_core::{FencingToken, StoreError};
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::join_harness::{JoinBench, JoinHarness, Waiting, join_cases};
use crate::samples::{MOMENT, abandon, answer, held, lease, until, win, wish};

join_cases! {
    a_claim_an_effect_and_an_answer_commit_together
    an_effect_commits_with_the_answer_of_a_claim_that_was_there_before
    a_transaction_that_is_dropped_or_rolled_back_leaves_nothing
    a_completion_without_its_claim_takes_the_effect_with_it
    a_claim_that_meets_a_record_leaves_the_transaction_usable
    a_duplicate_waits_and_then_finds_the_record
    a_duplicate_waits_and_wins_when_the_first_rolls_back
    a_duplicate_is_busy_after_its_patience
    other_keys_do_not_wait
    a_claim_outside_never_wins_beside_one_inside
    of_many_racing_transactions_one_has_its_effect
    a_late_owner_completes_what_was_marked_unknown
    a_record_past_its_tombstone_is_claimed_afresh
    a_savepoint_completes_nothing
}

/// Longer than any case takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Inside a transaction a claim gives its token alone.
fn won(wish: &ClaimRequest, token: Option<FencingToken>) -> Held {
    let token = token.expect("nobody else has it");
    Held { scope: wish.scope.clone(), key: wish.key.clone(), token }
}

async fn claim_within<H: JoinHarness>(store: &H::Store, tx: &mut H::Tx<'_>, wish: &ClaimRequest) -> Held {
    won(wish, store.claim_within(tx, wish, PATIENCE).await.unwrap())
}

/// One effect, completed under a claim that is held.
async fn complete_within<H: JoinHarness>(
    JoinBench { store, address }: &JoinBench<H>,
    held: &Held,
) -> Result<(), StoreError> {
    let mut connection = H::connect(address).await;
    let mut tx = H::begin(&mut connection).await;
    H::insert(&mut tx, "effect").await;
    store.complete_within(tx, held, &answer()).await
}

/// The record has its answer, and the effects are as many as they should be.
async fn assert_completed<H: JoinHarness>(
    JoinBench { store, address }: &JoinBench<H>,
    wish: &ClaimRequest,
    effects: usize,
) {
    let record = store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!((record.state, record.answer), (RecordState::Completed, Some(answer())));
    assert_eq!(H::effects(address).await, effects);
}

async fn a_claim_an_effect_and_an_answer_commit_together<H: JoinHarness>(bench: JoinBench<H>) {
    let (earlier, wish) = (wish("earlier"), wish("k"));
    let earlier = win(&bench.store, &earlier).await;
    let mut connection = H::connect(&bench.address).await;
    let mut tx = H::begin(&mut connection).await;
    let mine = claim_within::<H>(&bench.store, &mut tx, &wish).await;
    assert!(mine.token > earlier.token, "tokens only grow");
    H::insert(&mut tx, "effect").await;
    assert_eq!(bench.store.load(&wish.scope, &wish.key).await.unwrap(), None, "seen before the commit");
    assert_eq!(H::effects(&bench.address).await, 0);

    bench.store.complete_within(tx, &mine, &answer()).await.unwrap();
    assert_completed(&bench, &wish, 1).await;
    let again = bench.store.complete(&mine, &answer()).await;
    assert!(matches!(again, Err(StoreError::ClaimLost)), "{again:?}");
    assert_eq!(bench.store.fence(&mine, lease()).await.unwrap(), None, "it would not know that it is done");
}

async fn an_effect_commits_with_the_answer_of_a_claim_that_was_there_before<H: JoinHarness>(
    bench: JoinBench<H>,
) {
    let wish = wish("k");
    let mine = held(&wish, win(&bench.store, &wish).await);
    complete_within(&bench, &mine).await.unwrap();
    assert_completed(&bench, &wish, 1).await;
}

async fn a_transaction_that_is_dropped_or_rolled_back_leaves_nothing<H: JoinHarness>(bench: JoinBench<H>) {
    let mut connection = H::connect(&bench.address).await;
    let wish = wish("k");
    for dropped in [true, false] {
        let mut tx = H::begin(&mut connection).await;
        claim_within::<H>(&bench.store, &mut tx, &wish).await;
        H::insert(&mut tx, "effect").await;
        if dropped { drop(tx) } else { tx.rollback().await.unwrap() }
    }
    // A driver may roll back behind a drop, not in it.
    until("the key is free", async || bench.store.claim(vec![wish.clone()]).await.is_ok()).await;
    let record = bench.store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!(record.claim, wish.claim);
    assert_eq!(H::effects(&bench.address).await, 0);
}

async fn a_completion_without_its_claim_takes_the_effect_with_it<H: JoinHarness>(bench: JoinBench<H>) {
    let store = &bench.store;
    let (fenced, taken, done) = (wish("fenced"), wish("taken"), wish("done"));
    let mut lost = Vec::new();
    lost.push(held(&fenced, win(store, &fenced).await));
    store.fence(&lost[0], lease()).await.unwrap().unwrap();
    lost.push(abandon(store, &taken).await);
    store.take_over(&wish("taken"), lost[1].token).await.unwrap().unwrap();
    lost.push(held(&done, win(store, &done).await));
    store.complete(&lost[2], &answer()).await.unwrap();
    for lost in &lost {
        let completed = complete_within(&bench, lost).await;
        assert!(matches!(completed, Err(StoreError::ClaimLost)), "{:?}: {completed:?}", lost.key);
    }
    assert_eq!(H::effects(&bench.address).await, 0);
}

async fn a_claim_that_meets_a_record_leaves_the_transaction_usable<H: JoinHarness>(bench: JoinBench<H>) {
    let store = &bench.store;
    let (running, done) = (wish("running"), wish("done"));
    win(store, &running).await;
    let mine = held(&done, win(store, &done).await);
    store.complete(&mine, &answer()).await.unwrap();
    let mut connection = H::connect(&bench.address).await;
    let mut tx = H::begin(&mut connection).await;
    for met in [wish("running"), wish("done")] {
        assert_eq!(store.claim_within(&mut tx, &met, PATIENCE).await.unwrap(), None, "{:?}", met.key);
    }
    H::insert(&mut tx, "effect").await;
    tx.commit().await.unwrap();
    assert_eq!(H::effects(&bench.address).await, 1);
}

/// How the transaction ends that a duplicate waits for.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Completed,
    RolledBack,
}

/// Two transactions claim one key; the first ends while the second waits. Gives what the second got, which then completes it.
async fn duplicate_of<H: JoinHarness>(bench: &JoinBench<H>, end: End) -> Option<FencingToken> {
    let store = &bench.store;
    let (first, second) = (wish("k"), wish("k"));
    let mut connection = H::connect(&bench.address).await;
    let mut tx = H::begin(&mut connection).await;
    let mine = claim_within::<H>(store, &mut tx, &first).await;
    H::insert(&mut tx, "first").await;

    let duplicate = async {
        let mut connection = H::connect(&bench.address).await;
        let mut tx = H::begin(&mut connection).await;
        let claimed = store.claim_within(&mut tx, &second, PATIENCE).await.unwrap();
        if claimed.is_some() {
            H::insert(&mut tx, "second").await;
            store.complete_within(tx, &won(&second, claimed), &answer()).await.unwrap();
        }
        claimed
    };
    let mut duplicate = std::pin::pin!(duplicate);
    // waits: for nothing to happen; there is no signal for that.
    assert!(timeout(MOMENT, duplicate.as_mut()).await.is_err(), "it did not wait for the first");
    match end {
        End::Completed => store.complete_within(tx, &mine, &answer()).await.unwrap(),
        End::RolledBack => tx.rollback().await.unwrap(),
    }
    duplicate.await
}

async fn a_duplicate_waits_and_then_finds_the_record<H: JoinHarness>(bench: JoinBench<H>) {
    assert_eq!(duplicate_of(&bench, End::Completed).await, None);
    assert_completed(&bench, &wish("k"), 1).await;
}

async fn a_duplicate_waits_and_wins_when_the_first_rolls_back<H: JoinHarness>(bench: JoinBench<H>) {
    assert!(duplicate_of(&bench, End::RolledBack).await.is_some());
    assert_completed(&bench, &wish("k"), 1).await;
}

async fn a_duplicate_is_busy_after_its_patience<H: JoinHarness>(bench: JoinBench<H>) {
    if H::WAITING == Waiting::AtTheBegin {
        return;
    }
    let store = &bench.store;
    let (first, second) = (wish("k"), wish("k"));
    let mut connection = H::connect(&bench.address).await;
    let mut tx = H::begin(&mut connection).await;
    let mine = claim_within::<H>(store, &mut tx, &first).await;
    H::insert(&mut tx, "first").await;
    {
        let mut connection = H::connect(&bench.address).await;
        let mut tx = H::begin(&mut connection).await;
        H::insert(&mut tx, "second").await;
        let claim = store.claim_within(&mut tx, &second, MOMENT);
        let claimed = timeout(PATIENCE, claim).await.expect("its patience is shorter");
        assert!(matches!(claimed, Err(StoreError::Busy { .. })), "{claimed:?}");
    }
    store.complete_within(tx, &mine, &answer()).await.unwrap();
    assert_completed(&bench, &first, 1).await;
}

async fn other_keys_do_not_wait<H: JoinHarness>(bench: JoinBench<H>) {
    if H::WAITING == Waiting::AtTheBegin {
        return;
    }
    let (first, second) = (wish("a"), wish("b"));
    let mut connections = [H::connect(&bench.address).await, H::connect(&bench.address).await];
    let [one, other] = &mut connections;
    let (mut one, mut other) = (H::begin(one).await, H::begin(other).await);
    let first = claim_within::<H>(&bench.store, &mut one, &first).await;
    let second = claim_within::<H>(&bench.store, &mut other, &second).await;
    bench.store.complete_within(one, &first, &answer()).await.unwrap();
    bench.store.complete_within(other, &second, &answer()).await.unwrap();
}

async fn a_claim_outside_never_wins_beside_one_inside<H: JoinHarness>(bench: JoinBench<H>) {
    let (inside, outside) = (wish("k"), wish("k"));
    let mut connection = H::connect(&bench.address).await;
    let mut tx = H::begin(&mut connection).await;
    let mine = claim_within::<H>(&bench.store, &mut tx, &inside).await;
    let claimed = bench.store.claim(vec![outside]).await;
    assert!(matches!(&claimed, Err(error) if error.is_passing()), "{claimed:?}");
    H::insert(&mut tx, "effect").await;
    bench.store.complete_within(tx, &mine, &answer()).await.unwrap();
    assert_completed(&bench, &inside, 1).await;
}

/// Eight at once, each on a connection of its own; the losers find the record.
async fn of_many_racing_transactions_one_has_its_effect<H: JoinHarness>(bench: JoinBench<H>) {
    let racers = LocalSet::new();
    let handles: Vec<_> = (0..8)
        .map(|racer| {
            let (store, address) = (bench.store.clone(), bench.address.clone());
            racers.spawn_local(async move {
                let wish = wish("k");
                let mut connection = H::connect(&address).await;
                let mut tx = H::begin(&mut connection).await;
                let claimed = store.claim_within(&mut tx, &wish, PATIENCE).await.unwrap();
                if claimed.is_some() {
                    H::insert(&mut tx, &format!("racer {racer}")).await;
                    store.complete_within(tx, &won(&wish, claimed), &answer()).await.unwrap();
                }
                claimed.is_some()
            })
        })
        .collect();
    racers.await;
    let mut winners = 0;
    for handle in handles {
        winners += usize::from(handle.await.unwrap());
    }
    assert_eq!(winners, 1);
    assert_completed(&bench, &wish("k"), 1).await;
}

async fn a_late_owner_completes_what_was_marked_unknown<H: JoinHarness>(bench: JoinBench<H>) {
    let wish = wish("k");
    let late = abandon(&bench.store, &wish).await;
    assert!(bench.store.mark_unknown(&late).await.unwrap());
    complete_within(&bench, &late).await.unwrap();
    assert_completed(&bench, &wish, 1).await;
}

async fn a_record_past_its_tombstone_is_claimed_afresh<H: JoinHarness>(bench: JoinBench<H>) {
    let mut old = wish("k");
    (old.retention, old.tombstone) = (Duration::ZERO, Duration::ZERO);
    let first = held(&old, win(&bench.store, &old).await);
    bench.store.complete(&first, &answer()).await.unwrap();
    until("it is gone", async || bench.store.load(&old.scope, &old.key).await.unwrap().is_none()).await;

    let wish = wish("k");
    let mut connection = H::connect(&bench.address).await;
    let mut tx = H::begin(&mut connection).await;
    let mine = claim_within::<H>(&bench.store, &mut tx, &wish).await;
    assert!(mine.token > first.token);
    H::insert(&mut tx, "effect").await;
    bench.store.complete_within(tx, &mine, &answer()).await.unwrap();
    assert_completed(&bench, &wish, 1).await;
    let record = bench.store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!((record.age, record.claim), (Age::Current, wish.claim));
}

/// The driver would say yes to the savepoint's commit, and the client would hear of an effect that the outer transaction
/// may still take back. So it is refused, and nothing of it stays, whatever the user does with the outer one.
async fn a_savepoint_completes_nothing<H: JoinHarness>(bench: JoinBench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&bench.store, &wish).await);
    let mut connection = H::connect(&bench.address).await;
    let mut tx = H::begin(&mut connection).await;
    H::insert(&mut tx, "outer").await;
    {
        let Some(mut savepoint) = H::savepoint(&mut tx).await else { return };
        H::insert(&mut savepoint, "inner").await;
        let completed = bench.store.complete_within(savepoint, &mine, &answer()).await;
        assert!(matches!(completed, Err(StoreError::Refused { .. })), "{completed:?}");
    }
    // Drivers differ in what they say of a transaction that is over already.
    let _ = tx.commit().await;
    assert_eq!(H::effects(&bench.address).await, 0);
    let record = bench.store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!((record.state, record.token), (RecordState::InProgress, mine.token));
}
