//! Retention: completed, tombstone, gone; by arithmetic, and by sweeping.

use std::time::Duration;

use samekey_core::record::Age;
use samekey_core::store::{Claimed, Held, Records, StepKind, SweepCursor};

use crate::case::cases;
use crate::harness::{Bench, RecordsHarness};
use crate::samples::{HOUR, MOMENT, abandon, answer, claim, held, until, win, wish};

cases! { over RecordsHarness:
    an_answer_expires_into_a_tombstone_that_still_knows_its_status
    a_record_past_its_tombstone_is_claimed_afresh_without_a_sweep
    a_sweep_removes_what_is_past_its_time_in_bounded_batches
    a_sweep_leaves_what_is_in_progress_or_unknown
    a_late_completion_starts_retention_anew
}

async fn complete_with(store: &impl Records, key: &str, retention: Duration, tombstone: Duration) -> Held {
    let mut wish = wish(key);
    (wish.retention, wish.tombstone) = (retention, tombstone);
    let mine = held(&wish, win(store, &wish).await);
    store.begin_step(&mine, "s", StepKind::Keyed, b"").await.unwrap();
    store.complete(&mine, &answer()).await.unwrap();
    mine
}

async fn an_answer_expires_into_a_tombstone_that_still_knows_its_status<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let mine = complete_with(&store, "k", MOMENT, HOUR).await;
    until("it is a tombstone", async || {
        store.load(&mine.scope, &mine.key).await.unwrap().unwrap().age == Age::Tombstone
    })
    .await;
    let Claimed::Met(record) = claim(&store, &wish("k")).await else { panic!("it ran again silently") };
    assert_eq!((record.age, record.status, record.answer), (Age::Tombstone, Some(201), None));
}

async fn a_record_past_its_tombstone_is_claimed_afresh_without_a_sweep<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let mine = complete_with(&store, "k", Duration::ZERO, MOMENT).await;
    until("it is gone", async || store.load(&mine.scope, &mine.key).await.unwrap().is_none()).await;
    let wish = wish("k");
    let again = win(&store, &wish).await;
    assert_eq!(again.steps_begun, 0);
    let begun = store.begin_step(&held(&wish, again), "s", StepKind::Keyed, b"new").await.unwrap();
    assert_eq!(&begun.input[..], b"new", "an older record's step was found");
}

async fn a_sweep_removes_what_is_past_its_time_in_bounded_batches<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let mut last = None;
    for number in 0..25 {
        last = Some(complete_with(&store, &format!("old-{number}"), Duration::ZERO, MOMENT).await);
    }
    let current = complete_with(&store, "current", HOUR, HOUR).await;
    let last = last.unwrap();
    until("the last is past its time", async || store.load(&last.scope, &last.key).await.unwrap().is_none())
        .await;
    let (mut cursor, mut batches) = (SweepCursor::default(), Vec::new());
    loop {
        let swept = store.sweep(cursor, 10).await.unwrap();
        batches.push(swept.removed);
        if swept.removed == 0 {
            break;
        }
        assert!(swept.cursor.0 >= cursor.0);
        cursor = swept.cursor;
    }
    assert_eq!(batches, [10, 10, 5, 0]);
    assert!(store.load(&current.scope, &current.key).await.unwrap().is_some());
}

async fn a_sweep_leaves_what_is_in_progress_or_unknown<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let old = |key| {
        let mut wish = wish(key);
        (wish.retention, wish.tombstone) = (Duration::ZERO, Duration::ZERO);
        wish
    };
    let running = old("running");
    win(&store, &running).await;
    let unknown = old("unknown");
    let stalled = abandon(&store, &unknown).await;
    assert!(store.mark_unknown(&stalled).await.unwrap());
    let done = complete_with(&store, "done", Duration::ZERO, Duration::ZERO).await;
    until("the completed one is past its time", async || {
        store.load(&done.scope, &done.key).await.unwrap().is_none()
    })
    .await;
    assert_eq!(store.sweep(SweepCursor::default(), 100).await.unwrap().removed, 1);
    for wish in [running, unknown] {
        assert!(store.load(&wish.scope, &wish.key).await.unwrap().is_some(), "{:?}", wish.key);
    }
}

async fn a_late_completion_starts_retention_anew<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let mut late = wish("k");
    (late.retention, late.tombstone) = (Duration::from_secs(2), Duration::ZERO);
    let stalled = abandon(&store, &late).await;
    assert!(store.mark_unknown(&stalled).await.unwrap());
    let witness = complete_with(&store, "claimed later", late.retention, Duration::ZERO).await;
    until("the later claim is past its time", async || {
        store.load(&witness.scope, &witness.key).await.unwrap().is_none()
    })
    .await;
    store.complete(&stalled, &answer()).await.unwrap();
    let record = store.load(&late.scope, &late.key).await.unwrap().unwrap();
    assert_eq!((record.age, record.answer), (Age::Current, Some(answer())));
}
