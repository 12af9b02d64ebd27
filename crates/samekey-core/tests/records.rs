//! The decision table, row by row, and as a property over every record.
#![cfg(test)]

use std::time::Duration;

use proptest::prelude::*;
use samekey_core::record::{AbandonedWork, Age, Decision, Record, RecordState, Sameness, StepInDoubt};
use samekey_core::store::RecipeId;
use samekey_core::{Answer, FencingToken, Fingerprint};

const SEEN: FencingToken = FencingToken(7);

fn in_progress() -> Record {
    Record {
        claim: uuid::Uuid::from_u128(1),
        token: SEEN,
        state: RecordState::InProgress,
        generation: 0,
        steps_begun: 0,
        step_in_doubt: StepInDoubt::No,
        fingerprint: Fingerprint::from_stored([1; 32]),
        recipe: RecipeId(1),
        lease_left: Duration::from_secs(20),
        status: None,
        answer: None,
        age: Age::Current,
    }
}

fn abandoned() -> Record {
    Record { lease_left: Duration::ZERO, ..in_progress() }
}

fn completed() -> Record {
    Record {
        state: RecordState::Completed,
        lease_left: Duration::ZERO,
        status: Some(201),
        answer: Some(Answer::bare(201)),
        ..in_progress()
    }
}

fn same(record: Record) -> Decision {
    record.decide(Sameness::Same, AbandonedWork::AtLeastOnce)
}

#[test]
fn a_live_claim_asks_for_one_or_two_seconds() {
    assert_eq!(same(in_progress()), Decision::InProgress { retry_after_s: 2 });
    let nearly = Record { lease_left: Duration::from_millis(300), ..in_progress() };
    assert_eq!(same(nearly), Decision::InProgress { retry_after_s: 1 });
}

#[test]
fn another_request_under_the_key_is_refused_in_every_live_state() {
    for record in
        [in_progress(), abandoned(), completed(), Record { state: RecordState::Unknown, ..abandoned() }]
    {
        assert_eq!(record.decide(Sameness::Differs, AbandonedWork::AtLeastOnce), Decision::Reused);
    }
}

#[test]
fn abandoned_work_runs_again_only_where_that_is_harmless() {
    let keyed = Record { steps_begun: 2, ..abandoned() };
    let in_doubt = Record { steps_begun: 2, step_in_doubt: StepInDoubt::Yes, ..abandoned() };
    assert_eq!(same(abandoned()), Decision::TakeOver { seen: SEEN });
    assert_eq!(same(keyed.clone()), Decision::TakeOver { seen: SEEN });
    assert_eq!(same(in_doubt), Decision::BecomesUnknown { seen: SEEN });
    assert_eq!(
        abandoned().decide(Sameness::Same, AbandonedWork::AtMostOnce),
        Decision::BecomesUnknown { seen: SEEN }
    );
    assert_eq!(keyed.decide(Sameness::Same, AbandonedWork::AtMostOnce), Decision::TakeOver { seen: SEEN });
}

#[test]
fn a_freed_key_takes_any_request_until_somebody_uses_it() {
    let freed = Record { generation: 1, claim: uuid::Uuid::nil(), ..abandoned() };
    let used = Record { generation: 1, ..abandoned() };
    let policy = AbandonedWork::AtMostOnce;
    assert_eq!(freed.decide(Sameness::Differs, policy), Decision::TakeOver { seen: SEEN });
    assert_eq!(used.clone().decide(Sameness::Differs, policy), Decision::Reused);
    assert_eq!(used.decide(Sameness::Same, policy), Decision::BecomesUnknown { seen: SEEN });
}

#[test]
fn an_unknown_outcome_does_not_age() {
    assert_eq!(same(Record { state: RecordState::Unknown, ..abandoned() }), Decision::Unknown);
}

#[test]
fn a_completed_record_replays_and_then_refuses_whatever_comes() {
    assert_eq!(same(completed()), Decision::Replay(Answer::bare(201)));
    let kept_without_body = Record { answer: None, ..completed() };
    assert_eq!(same(kept_without_body), Decision::Replay(Answer { body: None, ..Answer::bare(201) }));
    for sameness in [Sameness::Same, Sameness::Differs] {
        let tombstone = Record { age: Age::Tombstone, answer: None, ..completed() };
        let expired = Decision::Expired { original_status: 201 };
        assert_eq!(tombstone.decide(sameness, AbandonedWork::AtLeastOnce), expired);
        let purgeable = Record { age: Age::Purgeable, ..completed() };
        assert_eq!(purgeable.decide(sameness, AbandonedWork::AtLeastOnce), Decision::Gone { seen: SEEN });
    }
}

prop_compose! {
    fn any_record()(
        state in 1i16..=3, generation in 0u32..2, steps_begun in 0u32..2, doubt: bool, left_ms in 0u64..40_000
    ) -> Record {
        let state = RecordState::from_code(state).unwrap();
        let step_in_doubt = if doubt && steps_begun > 0 { StepInDoubt::Yes } else { StepInDoubt::No };
        let lease_left = Duration::from_millis(if state == RecordState::InProgress { left_ms / 20_000 * left_ms } else { 0 });
        let answer = (state == RecordState::Completed).then(|| Answer::bare(200));
        Record { state, generation, steps_begun, step_in_doubt, lease_left, status: answer.as_ref().map(|a| a.status), answer, ..in_progress() }
    }
}

proptest! {
    /// The property that everything rests on: whatever the row, work runs again only if its lease is over and nothing
    /// that was begun is in doubt.
    #[test]
    fn nothing_runs_again_that_may_have_happened(record in any_record(), differs: bool, at_most_once: bool) {
        let sameness = if differs { Sameness::Differs } else { Sameness::Same };
        let policy = if at_most_once { AbandonedWork::AtMostOnce } else { AbandonedWork::AtLeastOnce };
        if let Decision::TakeOver { .. } = record.clone().decide(sameness, policy) {
            prop_assert_eq!(record.state, RecordState::InProgress);
            prop_assert!(record.lease_left.is_zero());
            prop_assert_eq!(record.step_in_doubt, StepInDoubt::No);
        }
    }
}
