//! Leases, fencing tokens, takeover, unknown.

use samekey_core::StoreError;
use samekey_core::record::RecordState;
use samekey_core::store::{Held, Records, StepKind};

use crate::case::cases;
use crate::harness::{Bench, RecordsHarness};
use crate::samples::{abandon, answer, fingerprint, held, lease, short_lease, until, win, wish};

cases! { over RecordsHarness:
    a_lease_runs_out_by_the_databases_clock_and_a_heartbeat_holds_it
    a_live_claim_is_not_taken_over
    one_takes_an_abandoned_record_over_and_the_old_token_is_dead
    another_request_does_not_take_an_abandoned_record_over
    a_heartbeat_renews_what_is_held_and_nothing_else
    an_abandoned_record_becomes_unknown_and_a_late_truth_completes_it
    an_unknown_record_is_neither_taken_over_nor_released
    a_fence_ends_the_old_token_and_only_once
    a_fence_finds_a_completed_record_completed
}

async fn a_lease_runs_out_by_the_databases_clock_and_a_heartbeat_holds_it<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let mut short = wish("k");
    short.lease = short_lease();
    let mine = held(&short, win(&store, &short).await);
    assert_eq!(store.renew(std::slice::from_ref(&mine), lease()).await.unwrap(), [mine.token]);
    let record = store.load(&short.scope, &short.key).await.unwrap().unwrap();
    assert!(record.lease_left > short.lease.length(), "{:?}", record.lease_left);
    assert_eq!(store.renew(std::slice::from_ref(&mine), short_lease()).await.unwrap(), [mine.token]);
    until("the lease is over", async || {
        store.load(&short.scope, &short.key).await.unwrap().unwrap().lease_left.is_zero()
    })
    .await;
}

async fn a_live_claim_is_not_taken_over<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    assert_eq!(store.take_over(&crate::samples::wish("k"), mine.token).await.unwrap(), None);
    assert!(!store.mark_unknown(&mine).await.unwrap());
    store.complete(&mine, &answer()).await.unwrap();
}

/// Case 15: whatever the stalled owner does with its old token finds no row.
async fn one_takes_an_abandoned_record_over_and_the_old_token_is_dead<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let old = abandon(&store, &wish("k")).await;
    let next = wish("k");
    let taken = store.take_over(&next, old.token).await.unwrap().unwrap();
    assert!(taken.token > old.token);
    assert_eq!(store.take_over(&wish("k"), old.token).await.unwrap(), None, "two took it over");
    assert_eq!(store.take_over(&wish("k"), taken.token).await.unwrap(), None, "its lease is not over");

    assert!(matches!(store.complete(&old, &answer()).await, Err(StoreError::ClaimLost)));
    assert!(matches!(store.begin_step(&old, "s", StepKind::Keyed, b"").await, Err(StoreError::ClaimLost)));
    assert_eq!(store.renew(std::slice::from_ref(&old), lease()).await.unwrap(), []);
    assert_eq!(store.fence(&old, lease()).await.unwrap(), None);
    assert!(!store.release(&old).await.unwrap());
    assert!(!store.end_lease(&old).await.unwrap());
    assert!(!store.mark_unknown(&old).await.unwrap());
    store.complete(&held(&next, taken), &answer()).await.unwrap();
}

async fn another_request_does_not_take_an_abandoned_record_over<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let old = abandon(&store, &wish("k")).await;
    let mut other = wish("k");
    other.fingerprint = fingerprint("b");
    assert_eq!(store.take_over(&other, old.token).await.unwrap(), None);
}

async fn a_heartbeat_renews_what_is_held_and_nothing_else<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let (a, b, c) = (wish("a"), wish("b"), wish("c"));
    let mine = held(&a, win(&store, &a).await);
    let done = held(&b, win(&store, &b).await);
    store.complete(&done, &answer()).await.unwrap();
    let stale = Held { token: samekey_core::FencingToken(1_000_000), ..held(&c, win(&store, &c).await) };
    let renewed = store.renew(&[done, stale, mine.clone()], lease()).await.unwrap();
    assert_eq!(renewed, [mine.token]);
    assert_eq!(store.renew(&[], lease()).await.unwrap(), []);
}

async fn an_abandoned_record_becomes_unknown_and_a_late_truth_completes_it<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let wish = wish("k");
    let stalled = abandon(&store, &wish).await;
    assert!(store.mark_unknown(&stalled).await.unwrap());
    assert!(!store.mark_unknown(&stalled).await.unwrap(), "marked twice");
    let unknown = store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!((unknown.state, unknown.token), (RecordState::Unknown, stalled.token));
    store.complete(&stalled, &answer()).await.unwrap();
    let completed = store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!(completed.answer, Some(answer()));
}

async fn an_unknown_record_is_neither_taken_over_nor_released<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let wish = wish("k");
    let stalled = abandon(&store, &wish).await;
    assert!(store.mark_unknown(&stalled).await.unwrap());
    assert_eq!(store.take_over(&wish, stalled.token).await.unwrap(), None);
    assert!(!store.release(&stalled).await.unwrap());
    let fenced = store.fence(&stalled, lease()).await.unwrap().unwrap();
    assert!(matches!(store.complete(&stalled, &answer()).await, Err(StoreError::ClaimLost)));
    let record = store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!((record.state, record.token), (RecordState::Unknown, fenced));
}

async fn a_fence_ends_the_old_token_and_only_once<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    let fenced = store.fence(&mine, lease()).await.unwrap().unwrap();
    assert!(fenced > mine.token);
    assert_eq!(store.fence(&mine, lease()).await.unwrap(), None);
    assert!(matches!(store.complete(&mine, &answer()).await, Err(StoreError::ClaimLost)));
    store.complete(&Held { token: fenced, ..mine }, &answer()).await.unwrap();
}

async fn a_fence_finds_a_completed_record_completed<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    store.complete(&mine, &answer()).await.unwrap();
    assert_eq!(store.fence(&mine, lease()).await.unwrap(), None);
    assert_eq!(store.load(&wish.scope, &wish.key).await.unwrap().unwrap().status, Some(201));
}
