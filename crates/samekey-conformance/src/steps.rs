//! Steps: a named external call inside an intent.

use bytes::Bytes;
use samekey_core::StoreError;
use samekey_core::derived::DerivedKey;
use samekey_core::record::StepInDoubt;
use samekey_core::store::{Records, Reply, StepKind};
use tokio::sync::Barrier;

use crate::harness::{Bench, Harness, cases};
use crate::samples::{abandon, answer, held, win, wish};

cases! {
    a_step_is_new_then_begun_then_kept
    a_resumed_attempt_sends_the_first_input_under_the_same_derived_key
    a_zombie_cannot_end_a_step_that_another_claim_began
    a_step_at_a_side_without_keys_is_in_doubt_until_it_ends
    a_record_with_a_step_is_not_released
    release_and_step_begin_meet_on_one_row
    the_steps_that_were_begun_can_be_named
    a_step_that_never_left_is_taken_back
}

async fn a_step_is_new_then_begun_then_kept<H: Harness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    let begin = async || store.begin_step(&mine, "charge", StepKind::Keyed, b"in\0\xff").await.unwrap();
    let first = begin().await;
    assert_eq!(first.reply, Reply::New);
    assert_eq!(first.derived_key, DerivedKey::new(&wish.scope, &wish.key, 0, "charge"));
    assert_eq!(begin().await.reply, Reply::Begun);
    store.end_step(&mine, "charge", b"out\0\xff").await.unwrap();
    assert_eq!(begin().await.reply, Reply::Kept(Bytes::from_static(b"out\0\xff")));
    assert!(
        matches!(store.end_step(&mine, "charge", b"other").await, Err(StoreError::ClaimLost)),
        "ended twice"
    );
    assert!(matches!(store.end_step(&mine, "never begun", b"").await, Err(StoreError::ClaimLost)));
    store.complete(&mine, &answer()).await.unwrap();
}

async fn a_resumed_attempt_sends_the_first_input_under_the_same_derived_key<H: Harness>(
    Bench { store, .. }: Bench<H>,
) {
    let wish = wish("k");
    let first = held(&wish, win(&store, &wish).await);
    let begun = store.begin_step(&first, "charge", StepKind::Keyed, b"first").await.unwrap();
    assert!(store.end_lease(&first).await.unwrap());
    let taken = store.take_over(&wish, first.token).await.unwrap().unwrap();
    assert_eq!(taken.steps_begun, 1);
    let resumed = store.begin_step(&held(&wish, taken), "charge", StepKind::Keyed, b"second").await.unwrap();
    assert_eq!((&resumed.input[..], resumed.derived_key), (&b"first"[..], begun.derived_key));
    assert_eq!(resumed.reply, Reply::Begun);
}

async fn a_zombie_cannot_end_a_step_that_another_claim_began<H: Harness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let zombie = held(&wish, win(&store, &wish).await);
    store.begin_step(&zombie, "s", StepKind::Keyed, b"").await.unwrap();
    store.end_lease(&zombie).await.unwrap();
    let taken = held(&wish, store.take_over(&wish, zombie.token).await.unwrap().unwrap());
    store.begin_step(&taken, "s", StepKind::Keyed, b"").await.unwrap();
    assert!(matches!(store.end_step(&zombie, "s", b"zombie").await, Err(StoreError::ClaimLost)));
    store.end_step(&taken, "s", b"truth").await.unwrap();
}

async fn a_step_at_a_side_without_keys_is_in_doubt_until_it_ends<H: Harness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    let doubt = async || store.load(&wish.scope, &wish.key).await.unwrap().unwrap().step_in_doubt;
    store.begin_step(&mine, "keyed", StepKind::Keyed, b"").await.unwrap();
    assert_eq!(doubt().await, StepInDoubt::No);
    store.begin_step(&mine, "fax", StepKind::Unkeyed, b"").await.unwrap();
    assert_eq!(doubt().await, StepInDoubt::Yes);
    store.end_step(&mine, "fax", b"").await.unwrap();
    assert_eq!(doubt().await, StepInDoubt::No);
}

async fn a_record_with_a_step_is_not_released<H: Harness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    store.begin_step(&mine, "s", StepKind::Keyed, b"").await.unwrap();
    assert!(!store.release(&mine).await.unwrap());
    let other = abandon(&store, &crate::samples::wish("other")).await;
    assert!(store.release(&other).await.unwrap(), "its lease is over, but the record is still its own");
}

/// 60 times, both let go at once: never may both succeed. How often each was first is counted, so that a race that never
/// was one shows.
async fn release_and_step_begin_meet_on_one_row<H: Harness>(Bench { store, .. }: Bench<H>) {
    let (mut released_first, mut begun_first) = (0, 0);
    for round in 0..60 {
        let wish = wish(&format!("k{round}"));
        let mine = held(&wish, win(&store, &wish).await);
        let barrier = Barrier::new(2);
        let release = async {
            barrier.wait().await;
            store.release(&mine).await.unwrap()
        };
        let begin = async {
            barrier.wait().await;
            store.begin_step(&mine, "s", StepKind::Keyed, b"").await.is_ok()
        };
        // Whoever is polled first has a start; both get it equally often.
        let (released, begun) = if round % 2 == 0 {
            tokio::join!(release, begin)
        } else {
            let (begun, released) = tokio::join!(begin, release);
            (released, begun)
        };
        assert!(released != begun, "round {round}: released {released}, begun {begun}");
        released_first += i32::from(released);
        begun_first += i32::from(begun);
    }
    assert!(
        released_first > 0 && begun_first > 0,
        "released first {released_first}, begun first {begun_first}"
    );
}

async fn the_steps_that_were_begun_can_be_named<H: Harness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    assert!(store.begun_steps(&mine).await.unwrap().is_empty());
    for name in ["notify", "charge"] {
        store.begin_step(&mine, name, StepKind::Keyed, b"").await.unwrap();
    }
    assert_eq!(store.begun_steps(&mine).await.unwrap(), ["charge", "notify"]);
}

async fn a_step_that_never_left_is_taken_back<H: Harness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    store.begin_step(&mine, "sms", StepKind::Unkeyed, b"").await.unwrap();
    store.undo_step(&mine, "sms").await.unwrap();
    assert!(matches!(store.undo_step(&mine, "sms").await, Err(StoreError::ClaimLost)), "twice");
    assert!(store.begun_steps(&mine).await.unwrap().is_empty());
    assert!(store.release(&mine).await.unwrap(), "as if nothing had been begun");
    let mine = held(&wish, win(&store, &wish).await);
    store.begin_step(&mine, "sms", StepKind::Unkeyed, b"").await.unwrap();
    store.end_step(&mine, "sms", b"sent").await.unwrap();
    assert!(
        matches!(store.undo_step(&mine, "sms").await, Err(StoreError::ClaimLost)),
        "what has ended stays"
    );
    assert!(!store.release(&mine).await.unwrap());
}
