//! Look and resolve.

use std::collections::BTreeSet;
use std::time::Duration;

use samekey_core::record::{AbandonedWork, Age, Decision, Record, RecordState, Sameness};
use samekey_core::store::{
    ClaimRequest, Held, ListFilter, Listed, MAX_LOOK, Operators, Outcome, Records, Resolution, StepKind,
    StepState, SweepCursor,
};
use samekey_core::{FencingToken, Scope, StoreError};
use tokio::sync::Barrier;

use crate::harness::{Bench, SendingHarness, cases};
use crate::samples::{abandon, answer, fingerprint, held, lease, until, win, wish};

cases! {
    fn cases<SendingHarness>:
    records_are_listed_page_by_page_each_once
    a_listing_looks_at_a_bounded_number_of_rows
    a_record_is_shown_with_its_steps_and_how_it_was_settled
    a_record_that_is_settled_as_done_replays_the_answer_it_was_given
    a_freed_key_takes_any_request_under_other_derived_keys
    a_freed_key_is_free_once
    a_freed_key_that_is_released_keeps_its_generation
    abandoned_work_is_freed_and_a_live_claim_is_not
    a_completed_record_is_not_settled_again
    of_two_who_settle_a_record_one_wins
    a_step_that_begins_while_its_key_is_freed_is_not_left_behind
    what_nobody_came_back_for_becomes_unknown_or_goes
}

fn by(who: &str) -> Resolution {
    Resolution { who: who.to_owned(), why: "asked the bank: \u{fc}ber 0 €".to_owned() }
}

async fn unknown(store: &(impl Records + Operators), wish: &ClaimRequest) -> Held {
    let stalled = abandon(store, wish).await;
    assert!(store.mark_unknown(&stalled).await.unwrap());
    stalled
}

async fn load(store: &(impl Records + Operators), held: &Held) -> Record {
    store.load(&held.scope, &held.key).await.unwrap().unwrap()
}

async fn all(store: &(impl Records + Operators), filter: ListFilter) -> Vec<Listed> {
    let (mut listed, mut filter) = (Vec::new(), filter);
    loop {
        let page = store.list(&filter).await.unwrap();
        assert!(page.records.len() <= filter.limit);
        listed.extend(page.records);
        match page.next {
            None => return listed,
            next => filter.after = next,
        }
    }
}

/// A wish that is past its time at once.
fn fleeting(key: &str) -> ClaimRequest {
    ClaimRequest { retention: Duration::ZERO, tombstone: Duration::ZERO, ..wish(key) }
}

async fn records_are_listed_page_by_page_each_once<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let scopes = [&b"a"[..], b"a\0", b"b", &[0xff; 64]].map(|bytes| Scope::new(bytes).unwrap());
    let mut expected = BTreeSet::new();
    for scope in &scopes {
        for key in ["1", "10", "2"] {
            let wish = ClaimRequest { scope: scope.clone(), ..wish(key) };
            match key {
                "10" => drop(unknown(&store, &wish).await),
                _ => drop(win(&store, &wish).await),
            }
            expected.insert((wish.scope, wish.key));
        }
    }
    for limit in [1, 2, 5, 12, 100] {
        let listed = all(&store, ListFilter { limit, ..ListFilter::default() }).await;
        let places: Vec<_> = listed.iter().map(|one| (one.scope.clone(), one.key.clone())).collect();
        assert_eq!(places, expected.iter().cloned().collect::<Vec<_>>(), "pages of {limit}");
    }
    let of_one = ListFilter { scope: Some(scopes[0].clone()), limit: 2, ..ListFilter::default() };
    let keys: Vec<_> = all(&store, of_one.clone()).await.into_iter().map(|one| one.key).collect();
    assert_eq!(keys.iter().map(samekey_core::Key::as_str).collect::<Vec<_>>(), ["1", "10", "2"]);
    let in_doubt = all(&store, ListFilter { state: Some(RecordState::Unknown), ..of_one }).await;
    assert_eq!(in_doubt.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["10"]);
}

async fn a_listing_looks_at_a_bounded_number_of_rows<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let keys: Vec<String> = (0..MAX_LOOK + 10).map(|number| format!("{number:06}")).collect();
    for batch in keys.chunks(500) {
        store.claim(batch.iter().map(|key| wish(key)).collect()).await.unwrap();
    }
    let in_doubt = unknown(&store, &wish("rare")).await;
    let filter = ListFilter { state: Some(RecordState::Unknown), limit: 10, ..ListFilter::default() };
    let first = store.list(&filter).await.unwrap();
    assert_eq!(first.records, []);
    assert_eq!(first.next.as_ref().map(|place| place.key.as_str()), Some(keys[MAX_LOOK - 1].as_str()));
    let second = store.list(&ListFilter { after: first.next, ..filter }).await.unwrap();
    assert_eq!(second.records.iter().map(|one| &one.key).collect::<Vec<_>>(), [&in_doubt.key]);
    assert_eq!(second.next, None);
}

async fn a_record_is_shown_with_its_steps_and_how_it_was_settled<H: SendingHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let wish = wish("k");
    assert_eq!(store.show(&wish.scope, &wish.key).await.unwrap(), None);
    let mine = held(&wish, win(&store, &wish).await);
    store.begin_step(&mine, "charge", StepKind::Keyed, b"in").await.unwrap();
    store.end_step(&mine, "charge", b"paid").await.unwrap();
    store.begin_step(&mine, "fax", StepKind::Unkeyed, b"in").await.unwrap();
    store.end_lease(&mine).await.unwrap();
    store.mark_unknown(&mine).await.unwrap();
    let shown = store.show(&wish.scope, &wish.key).await.unwrap().unwrap();
    let steps: Vec<_> = shown
        .steps
        .iter()
        .map(|step| (step.name.as_str(), step.kind, step.state, step.result_bytes))
        .collect();
    assert_eq!(
        steps,
        [
            ("charge", StepKind::Keyed, StepState::Ended, Some(4)),
            ("fax", StepKind::Unkeyed, StepState::Begun, None)
        ]
    );
    let record = &shown.record;
    assert_eq!((record.state, record.token, record.steps_begun), (RecordState::Unknown, mine.token, 2));
    assert_eq!((record.age, record.status), (Age::Current, None));
    assert_eq!(record.purge_at.since(record.expires_at), wish.tombstone);

    assert!(store.resolve_failed(&mine, &by("ada")).await.unwrap());
    let shown = store.show(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!(shown.steps, []);
    let [resolved] = &shown.resolutions[..] else { panic!("{shown:?}") };
    assert_eq!((resolved.outcome, &resolved.by), (Outcome::Failed, &by("ada")));
    assert_eq!((resolved.token, shown.record.token > mine.token), (shown.record.token, true));
}

async fn a_record_that_is_settled_as_done_replays_the_answer_it_was_given<H: SendingHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let mut late = wish("k");
    (late.retention, late.tombstone) = (Duration::from_secs(2), Duration::ZERO);
    let stalled = unknown(&store, &late).await;
    let before = store.show(&late.scope, &late.key).await.unwrap().unwrap().record;
    // waits: for the database's clock to move on, so that "anew" means something.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(store.resolve_succeeded(&stalled, &answer(), &by("ada")).await.unwrap());
    let record = load(&store, &stalled).await;
    assert!(record.token > stalled.token);
    assert_eq!(
        record.decide(Sameness::Same, AbandonedWork::AtMostOnce),
        Decision::Replay(answer()),
        "settled, and yet it does not replay"
    );
    let shown = store.show(&late.scope, &late.key).await.unwrap().unwrap();
    assert!(shown.record.expires_at > before.expires_at, "its retention starts anew");
    assert_eq!(shown.resolutions[0].outcome, Outcome::Succeeded);
    let truth = store.complete(&stalled, &answer()).await;
    assert!(matches!(truth, Err(StoreError::ClaimLost)), "{truth:?}");
}

async fn a_freed_key_takes_any_request_under_other_derived_keys<H: SendingHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let first = wish("k");
    let stalled = held(&first, win(&store, &first).await);
    let charged = store.begin_step(&stalled, "charge", StepKind::Keyed, b"first").await.unwrap();
    assert!(store.end_lease(&stalled).await.unwrap() && store.mark_unknown(&stalled).await.unwrap());
    assert!(store.resolve_failed(&stalled, &by("ada")).await.unwrap());
    let late = store.complete(&stalled, &answer()).await;
    assert!(matches!(late, Err(StoreError::ClaimLost)), "{late:?}");

    let freed = load(&store, &stalled).await;
    assert_eq!((freed.state, freed.generation, freed.steps_begun), (RecordState::InProgress, 1, 0));
    let seen = freed.token;
    for sameness in [Sameness::Same, Sameness::Differs] {
        let decision = freed.clone().decide(sameness, AbandonedWork::AtMostOnce);
        assert_eq!(decision, Decision::TakeOver { seen });
    }
    let other = ClaimRequest { fingerprint: fingerprint("b"), ..wish("k") };
    let taken = store.take_over(&other, seen).await.unwrap().unwrap();
    assert_eq!((taken.generation, taken.steps_begun), (1, 0));
    let mine = held(&other, taken);
    let again = store.begin_step(&mine, "charge", StepKind::Keyed, b"second").await.unwrap();
    assert_eq!(&again.input[..], b"second", "the freed key's step was found");
    assert_ne!(again.derived_key, charged.derived_key);
    store.complete(&mine, &answer()).await.unwrap();
    assert_eq!(load(&store, &mine).await.fingerprint, other.fingerprint);
}

/// Whoever has claimed a freed key may have done something, steps or none.
async fn a_freed_key_is_free_once<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let stalled = unknown(&store, &wish("k")).await;
    assert!(store.resolve_failed(&stalled, &by("ada")).await.unwrap());
    let seen = load(&store, &stalled).await.token;
    let other = ClaimRequest { fingerprint: fingerprint("b"), ..wish("k") };
    let mine = held(&other, store.take_over(&other, seen).await.unwrap().unwrap());
    assert!(store.end_lease(&mine).await.unwrap());
    let abandoned = load(&store, &mine).await;
    let decision = abandoned.decide(Sameness::Same, AbandonedWork::AtMostOnce);
    assert_eq!(decision, Decision::BecomesUnknown { seen: mine.token });
    assert_eq!(store.take_over(&wish("k"), mine.token).await.unwrap(), None, "another request took it");
    assert!(store.take_over(&other, mine.token).await.unwrap().is_some());
}

async fn a_freed_key_that_is_released_keeps_its_generation<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let stalled = unknown(&store, &wish("k")).await;
    assert!(store.resolve_failed(&stalled, &by("ada")).await.unwrap());
    for other in ["b", "c"] {
        let seen = load(&store, &stalled).await.token;
        let other = ClaimRequest { fingerprint: fingerprint(other), ..wish("k") };
        let taken = store.take_over(&other, seen).await.unwrap().unwrap();
        assert_eq!(taken.generation, 1);
        assert!(store.release(&held(&other, taken)).await.unwrap());
        assert!(!store.release(&held(&other, taken)).await.unwrap(), "released twice");
    }
}

async fn abandoned_work_is_freed_and_a_live_claim_is_not<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    assert!(!store.resolve_failed(&mine, &by("ada")).await.unwrap(), "its owner lives");
    assert!(!store.resolve_succeeded(&mine, &answer(), &by("ada")).await.unwrap());
    assert!(store.end_lease(&mine).await.unwrap());
    assert!(!store.resolve_succeeded(&mine, &answer(), &by("ada")).await.unwrap(), "it may run again");
    let other = Held { token: FencingToken(mine.token.0 + 1), ..mine.clone() };
    assert!(!store.resolve_failed(&other, &by("ada")).await.unwrap(), "another token was seen");
    assert!(store.resolve_failed(&mine, &by("ada")).await.unwrap());
    assert_eq!(store.renew(std::slice::from_ref(&mine), lease()).await.unwrap(), []);
}

async fn a_completed_record_is_not_settled_again<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    store.complete(&mine, &answer()).await.unwrap();
    assert!(!store.resolve_failed(&mine, &by("ada")).await.unwrap());
    assert!(!store.resolve_succeeded(&mine, &samekey_core::Answer::bare(500), &by("ada")).await.unwrap());
    assert_eq!(load(&store, &mine).await.answer, Some(answer()));
    assert_eq!(store.show(&mine.scope, &mine.key).await.unwrap().unwrap().resolutions, []);
}

/// 40 times, both let go at once, each first equally often.
async fn of_two_who_settle_a_record_one_wins<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let (mut as_done, mut as_failed) = (0, 0);
    for round in 0..40 {
        let stalled = unknown(&store, &wish(&format!("k{round}"))).await;
        let barrier = Barrier::new(2);
        let succeed = async {
            barrier.wait().await;
            store.resolve_succeeded(&stalled, &answer(), &by("ada")).await.unwrap()
        };
        let fail = async {
            barrier.wait().await;
            store.resolve_failed(&stalled, &by("bob")).await.unwrap()
        };
        let (succeeded, failed) = if round % 2 == 0 {
            tokio::join!(succeed, fail)
        } else {
            let (failed, succeeded) = tokio::join!(fail, succeed);
            (succeeded, failed)
        };
        assert!(succeeded != failed, "round {round}: succeeded {succeeded}, failed {failed}");
        let shown = store.show(&stalled.scope, &stalled.key).await.unwrap().unwrap();
        let outcomes: Vec<_> = shown.resolutions.iter().map(|resolved| resolved.outcome).collect();
        assert_eq!(outcomes, [if succeeded { Outcome::Succeeded } else { Outcome::Failed }]);
        as_done += i32::from(succeeded);
        as_failed += i32::from(failed);
    }
    assert!(as_done > 0 && as_failed > 0, "done first {as_done}, failed first {as_failed}");
}

/// 60 times, a stalled owner and an operator at once. If the owner's step came first it goes with the others.
async fn a_step_that_begins_while_its_key_is_freed_is_not_left_behind<H: SendingHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let (mut begun_first, mut freed_first) = (0, 0);
    for round in 0..60 {
        let stalled = abandon(&store, &wish(&format!("k{round}"))).await;
        let barrier = Barrier::new(2);
        let begin = async {
            barrier.wait().await;
            store.begin_step(&stalled, "s", StepKind::Keyed, b"stalled").await.is_ok()
        };
        let free = async {
            barrier.wait().await;
            store.resolve_failed(&stalled, &by("ada")).await.unwrap()
        };
        let (begun, freed) = if round % 2 == 0 {
            tokio::join!(begin, free)
        } else {
            let (freed, begun) = tokio::join!(free, begin);
            (begun, freed)
        };
        assert!(freed, "round {round}");
        let shown = store.show(&stalled.scope, &stalled.key).await.unwrap().unwrap();
        assert_eq!((shown.record.steps_begun, shown.steps), (0, Vec::new()), "round {round}, begun {begun}");
        begun_first += i32::from(begun);
        freed_first += i32::from(!begun);
    }
    assert!(begun_first > 0 && freed_first > 0, "begun first {begun_first}, freed first {freed_first}");
}

async fn what_nobody_came_back_for_becomes_unknown_or_goes<H: SendingHarness>(Bench { store, .. }: Bench<H>) {
    let stepless = abandon(&store, &fleeting("stepless")).await;
    let mut with_steps = Vec::new();
    for key in ["begun", "begun too"] {
        let wish = fleeting(key);
        let mine = held(&wish, win(&store, &wish).await);
        store.begin_step(&mine, "charge", StepKind::Keyed, b"").await.unwrap();
        assert!(store.end_lease(&mine).await.unwrap());
        with_steps.push(mine);
    }
    let alive = fleeting("alive");
    let alive = held(&alive, win(&store, &alive).await);
    store.begin_step(&alive, "charge", StepKind::Keyed, b"").await.unwrap();
    let current = wish("current");
    let current = held(&current, win(&store, &current).await);
    store.begin_step(&current, "charge", StepKind::Keyed, b"").await.unwrap();
    assert!(store.end_lease(&current).await.unwrap());

    until("the stepless one is removed", async || {
        store.sweep(SweepCursor::default(), 100).await.unwrap().removed == 1
    })
    .await;
    assert_eq!(store.load(&stepless.scope, &stepless.key).await.unwrap(), None);
    for marked in [1, 1, 0] {
        assert_eq!(store.mark_abandoned(1).await.unwrap(), marked);
    }
    for mine in &with_steps {
        let record = load(&store, mine).await;
        assert_eq!((record.state, record.token), (RecordState::Unknown, mine.token));
    }
    for mine in [&alive, &current] {
        assert_eq!(load(&store, mine).await.state, RecordState::InProgress);
    }
    assert_eq!(store.sweep(SweepCursor::default(), 100).await.unwrap().removed, 0);
    assert!(store.resolve_failed(&with_steps[0], &by("ada")).await.unwrap());
}
