//! Deliveries: taken, renewed, finished, by lease token.

use std::time::Duration;

use samekey_core::UnixMs;
use samekey_core::delivery::{AmbiguityPolicy, DeliveryState, OutcomeCode, Verdict};
use samekey_core::message::{ChannelKind, MessageView, NewMessage, Settled, Take, Taken};
use samekey_core::store::Messages;

use crate::case::cases;
use crate::harness::{Bench, Harness, Store};
use crate::samples::{HOUR, eventually, finished, keyed, lease, message, short_lease, take, until, verdict};

cases! { over Harness:
    what_was_accepted_comes_back_as_it_was
    no_more_is_taken_than_there_are_slots_oldest_first
    what_is_in_hand_is_not_taken_again
    a_message_is_not_taken_before_its_time
    an_attempt_is_on_record_before_it_ends
    a_sent_delivery_is_final_and_keeps_the_providers_id
    a_deferred_delivery_waits_and_counts_its_attempts
    what_is_handed_back_was_no_attempt
    a_lapsed_lease_may_have_been_sent
    under_at_most_once_a_lapsed_lease_is_unknown
    a_late_yes_settles_an_unknown_delivery
    a_zombie_changes_nothing_but_the_truth_about_its_attempt
    a_refusal_after_an_ambiguous_attempt_is_unknown
    a_finish_that_is_repeated_changes_nothing
    a_message_that_is_too_old_expires_instead_of_being_sent
    a_heartbeat_holds_a_delivery
    many_attempts_are_finished_together
    the_next_due_time_and_the_backlog_are_told
}

async fn accept(store: &impl Store, message: &NewMessage) {
    store.accept(vec![message.clone()]).await.unwrap();
}

async fn take_one(store: &impl Store) -> Taken {
    let mut taken = store.take(take(10)).await.unwrap();
    assert_eq!(taken.len(), 1);
    taken.remove(0)
}

async fn finish(store: &impl Store, taken: &Taken, verdict: Verdict) -> Vec<DeliveryState> {
    let settled = store.finish(&[finished(taken, verdict)]).await.unwrap();
    settled.into_iter().map(|Settled { state, .. }| state).collect()
}

async fn view(store: &impl Store, message: &NewMessage) -> MessageView {
    store.message(message.project, message.id).await.unwrap().unwrap()
}

fn outcomes(view: &MessageView) -> Vec<Option<OutcomeCode>> {
    view.attempts.iter().map(|attempt| attempt.outcome).collect()
}

fn sent() -> Verdict {
    verdict(DeliveryState::Sent, OutcomeCode::Sent)
}

fn short(ambiguity: AmbiguityPolicy) -> Take {
    Take { lease: short_lease(), ambiguity, ..take(10) }
}

/// Takes one delivery under a lease that runs out, and waits until it is handed out again.
async fn lapse(store: &impl Store) -> (Taken, Taken) {
    let zombie = store.take(short(AmbiguityPolicy::AtLeastOnce)).await.unwrap().remove(0);
    let again = eventually("its lease is over", async || store.take(take(10)).await.unwrap().pop()).await;
    (zombie, again)
}

async fn what_was_accepted_comes_back_as_it_was<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = keyed("k");
    accept(&store, &message).await;
    let taken = take_one(&store).await;
    assert_eq!((taken.id, taken.project, taken.attempt, taken.nonce), (message.id, message.project, 1, 0));
    assert_eq!(
        (taken.identity, &taken.sender, &taken.payload),
        (message.identity, &message.sender, &message.payload)
    );
    assert!(!taken.maybe_sent && taken.age < Duration::from_secs(30));
    let view = view(&store, &message).await;
    assert_eq!(view.key, Some(message.key.unwrap().key));
    assert_eq!((&view.payload, view.created_at), (&message.payload, taken.created_at));
}

async fn no_more_is_taken_than_there_are_slots_oldest_first<H: Harness>(Bench { store, .. }: Bench<H>) {
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let message = message();
        accept(&store, &message).await;
        waiting.push(message.id);
        // waits: until the database's clock has moved on, so that "oldest" means something.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let mut taken = Vec::new();
    for slots in [2, 2, 2] {
        let batch = store.take(take(slots)).await.unwrap();
        assert!(batch.len() <= slots);
        taken.extend(batch.into_iter().map(|one| one.id));
    }
    let (mut first, mut second) = (taken[..2].to_vec(), taken[2..4].to_vec());
    first.sort();
    second.sort();
    waiting[..2].sort();
    waiting[2..4].sort();
    assert_eq!((first, second, taken[4]), (waiting[..2].to_vec(), waiting[2..4].to_vec(), waiting[4]));
}

async fn what_is_in_hand_is_not_taken_again<H: Harness>(Bench { store, .. }: Bench<H>) {
    accept(&store, &message()).await;
    take_one(&store).await;
    assert_eq!(store.take(take(10)).await.unwrap(), []);
}

async fn a_message_is_not_taken_before_its_time<H: Harness>(Bench { store, .. }: Bench<H>) {
    let now = message();
    accept(&store, &now).await;
    let created_at = view(&store, &now).await.created_at;
    let later = NewMessage { send_at: Some(created_at.after(Duration::from_millis(800))), ..message() };
    let past = NewMessage { send_at: Some(UnixMs(0)), ..message() };
    store.accept(vec![later.clone(), past.clone()]).await.unwrap();
    let first: Vec<_> = store.take(take(10)).await.unwrap().into_iter().map(|taken| taken.id).collect();
    assert!(first.contains(&past.id) && !first.contains(&later.id), "{first:?}");
    let wait = store.next_due(ChannelKind::Email).await.unwrap().unwrap();
    assert!(wait <= Duration::from_millis(800), "{wait:?}");
    until("it is due", async || store.take(take(10)).await.unwrap().iter().any(|taken| taken.id == later.id))
        .await;
}

async fn an_attempt_is_on_record_before_it_ends<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    let taken = take_one(&store).await;
    let view = view(&store, &message).await;
    assert_eq!((view.state, view.attempts_begun), (DeliveryState::Sending, 1));
    assert_eq!(
        (view.attempts.len(), view.attempts[0].token, view.attempts[0].ended_at),
        (1, taken.token, None)
    );
    assert_eq!(outcomes(&view), [None]);
}

async fn a_sent_delivery_is_final_and_keeps_the_providers_id<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    let taken = take_one(&store).await;
    let verdict = Verdict { provider_id: Some("4XyZ".to_owned()), ..sent() };
    assert_eq!(finish(&store, &taken, verdict).await, [DeliveryState::Sent]);
    let view = view(&store, &message).await;
    assert_eq!(
        (view.state, view.wake_at, view.provider_id.as_deref()),
        (DeliveryState::Sent, None, Some("4XyZ"))
    );
    assert_eq!(outcomes(&view), [Some(OutcomeCode::Sent)]);
    assert!(view.attempts[0].ended_at.unwrap() >= view.attempts[0].started_at);
    assert_eq!(store.take(take(10)).await.unwrap(), []);
    assert_eq!(store.next_due(ChannelKind::Email).await.unwrap(), None);
}

async fn a_deferred_delivery_waits_and_counts_its_attempts<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    for attempt in 1..=3 {
        let taken = take_one(&store).await;
        assert_eq!(taken.attempt, attempt);
        let detail = Some("451 later".to_owned());
        let deferred = Verdict { detail, ..verdict(DeliveryState::Waiting, OutcomeCode::Deferred) };
        assert_eq!(finish(&store, &taken, deferred).await, [DeliveryState::Waiting]);
    }
    let taken = take_one(&store).await;
    let far = Verdict { wait: Some(HOUR), ..verdict(DeliveryState::Waiting, OutcomeCode::Deferred) };
    finish(&store, &taken, far).await;
    assert_eq!(store.take(take(10)).await.unwrap(), []);
    let view = view(&store, &message).await;
    assert_eq!((view.attempts.len(), view.attempts_begun, view.maybe_sent), (4, 4, false));
    assert_eq!(view.attempts[0].detail.as_deref(), Some("451 later"));
    assert!(view.attempts.windows(2).all(|pair| pair[0].token < pair[1].token), "oldest first");
    assert!(view.wake_at.unwrap() > view.created_at.after(HOUR / 2));
}

async fn what_is_handed_back_was_no_attempt<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    let back = verdict(DeliveryState::Waiting, OutcomeCode::HandedBack);
    let first = take_one(&store).await;
    assert_eq!(finish(&store, &first, back).await, [DeliveryState::Waiting]);
    let view = view(&store, &message).await;
    assert_eq!((view.attempts_begun, view.attempts.len(), view.maybe_sent), (0, 0, false));
    let second = take_one(&store).await;
    assert_eq!(second.attempt, 1);
    assert!(second.token > first.token);
}

async fn a_lapsed_lease_may_have_been_sent<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    let (zombie, again) = lapse(&store).await;
    assert!(again.maybe_sent && again.token > zombie.token && again.attempt == 2);
    assert_eq!(outcomes(&view(&store, &message).await), [Some(OutcomeCode::Lapsed), None]);
    finish(&store, &again, sent()).await;
    let view = view(&store, &message).await;
    assert_eq!((view.state, view.maybe_sent), (DeliveryState::Sent, true), "never cleared");
}

async fn under_at_most_once_a_lapsed_lease_is_unknown<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    assert_eq!(store.take(short(AmbiguityPolicy::AtMostOnce)).await.unwrap().len(), 1);
    until("it is unknown", async || {
        assert_eq!(store.take(short(AmbiguityPolicy::AtMostOnce)).await.unwrap(), [], "handed out again");
        view(&store, &message).await.state == DeliveryState::Unknown
    })
    .await;
    let view = view(&store, &message).await;
    assert_eq!((view.maybe_sent, view.wake_at, view.attempts_begun), (true, None, 1));
    assert_eq!(outcomes(&view), [Some(OutcomeCode::Lapsed)]);
}

async fn a_late_yes_settles_an_unknown_delivery<H: Harness>(Bench { store, .. }: Bench<H>) {
    for (late, state) in [
        (sent(), DeliveryState::Sent),
        (verdict(DeliveryState::Failed, OutcomeCode::Refused), DeliveryState::Unknown),
    ] {
        let message = message();
        accept(&store, &message).await;
        let stalled = store.take(short(AmbiguityPolicy::AtMostOnce)).await.unwrap().remove(0);
        until("it is unknown", async || {
            store.take(short(AmbiguityPolicy::AtMostOnce)).await.unwrap();
            view(&store, &message).await.state == DeliveryState::Unknown
        })
        .await;
        let outcome = late.outcome;
        finish(&store, &stalled, late).await;
        let view = view(&store, &message).await;
        assert_eq!(
            (view.state, outcomes(&view)),
            (state, vec![Some(outcome)]),
            "its attempt is told truthfully"
        );
    }
}

/// Cases 56 and 57.
async fn a_zombie_changes_nothing_but_the_truth_about_its_attempt<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    let (zombie, again) = lapse(&store).await;
    assert_eq!(finish(&store, &zombie, verdict(DeliveryState::Failed, OutcomeCode::Refused)).await, []);
    let seen = view(&store, &message).await;
    assert_eq!(
        (seen.state, outcomes(&seen)),
        (DeliveryState::Sending, vec![Some(OutcomeCode::Refused), None])
    );
    assert_eq!(finish(&store, &again, sent()).await, [DeliveryState::Sent]);
    assert_eq!(finish(&store, &zombie, verdict(DeliveryState::Waiting, OutcomeCode::Deferred)).await, []);
    let seen = view(&store, &message).await;
    assert_eq!(seen.state, DeliveryState::Sent, "a late attempt flipped a finished row");
    assert_eq!(
        outcomes(&seen),
        [Some(OutcomeCode::Refused), Some(OutcomeCode::Sent)],
        "told once, and not again"
    );
}

async fn a_refusal_after_an_ambiguous_attempt_is_unknown<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    let first = take_one(&store).await;
    let ambiguous = verdict(DeliveryState::Waiting, OutcomeCode::Ambiguous);
    assert_eq!(finish(&store, &first, ambiguous).await, [DeliveryState::Waiting]);
    let second = take_one(&store).await;
    assert!(second.maybe_sent);
    let refused = verdict(DeliveryState::Failed, OutcomeCode::Refused);
    assert_eq!(finish(&store, &second, refused).await, [DeliveryState::Unknown]);
    assert!(view(&store, &message).await.maybe_sent);
}

async fn a_finish_that_is_repeated_changes_nothing<H: Harness>(Bench { store, .. }: Bench<H>) {
    let message = message();
    accept(&store, &message).await;
    let taken = take_one(&store).await;
    finish(&store, &taken, sent()).await;
    let before = view(&store, &message).await;
    assert_eq!(finish(&store, &taken, sent()).await, []);
    assert_eq!(finish(&store, &taken, verdict(DeliveryState::Waiting, OutcomeCode::HandedBack)).await, []);
    assert_eq!(view(&store, &message).await, before);
    assert_eq!(store.finish(&[]).await.unwrap(), []);
}

async fn a_message_that_is_too_old_expires_instead_of_being_sent<H: Harness>(Bench { store, .. }: Bench<H>) {
    let old = NewMessage { expires_at: Some(UnixMs(1)), ..message() };
    accept(&store, &old).await;
    assert_eq!(store.take(take(10)).await.unwrap(), []);
    let seen = view(&store, &old).await;
    assert_eq!((seen.state, seen.attempts_begun, seen.attempts.len()), (DeliveryState::Expired, 0, 0));

    let probe = message();
    accept(&store, &probe).await;
    let soon = view(&store, &probe).await.created_at.after(Duration::from_millis(600));
    finish(&store, &take_one(&store).await, sent()).await;
    let doubtful = NewMessage { expires_at: Some(soon), ..message() };
    accept(&store, &doubtful).await;
    let taken = take_one(&store).await;
    finish(&store, &taken, verdict(DeliveryState::Waiting, OutcomeCode::Ambiguous)).await;
    until("it is too old", async || {
        for taken in store.take(take(10)).await.unwrap() {
            finish(&store, &taken, verdict(DeliveryState::Waiting, OutcomeCode::HandedBack)).await;
        }
        view(&store, &doubtful).await.state == DeliveryState::Unknown
    })
    .await;
}

async fn a_heartbeat_holds_a_delivery<H: Harness>(Bench { store, .. }: Bench<H>) {
    let (held, other) = (message(), message());
    accept(&store, &held).await;
    accept(&store, &other).await;
    let taken = store.take(short(AmbiguityPolicy::AtLeastOnce)).await.unwrap();
    let mine = taken.iter().find(|taken| taken.id == held.id).unwrap();
    let wrong = samekey_core::FencingToken(mine.token.0 + 1_000);
    let renewed = store.renew_deliveries(&[(mine.id, mine.token), (other.id, wrong)], lease()).await.unwrap();
    assert_eq!(renewed, [held.id]);
    until("the other one has lapsed", async || {
        let again = store.take(take(10)).await.unwrap();
        assert!(again.iter().all(|taken| taken.id == other.id), "taken in spite of its heartbeat");
        !again.is_empty()
    })
    .await;
}

async fn many_attempts_are_finished_together<H: Harness>(Bench { store, .. }: Bench<H>) {
    let messages: Vec<_> = (0..20).map(|_| message()).collect();
    store.accept(messages.clone()).await.unwrap();
    let taken = store.take(take(100)).await.unwrap();
    assert_eq!(taken.len(), 20);
    let verdicts = [
        sent(),
        verdict(DeliveryState::Failed, OutcomeCode::Refused),
        verdict(DeliveryState::Failed, OutcomeCode::Ambiguous),
        Verdict { wait: Some(HOUR), ..verdict(DeliveryState::Waiting, OutcomeCode::Deferred) },
    ];
    let states = [DeliveryState::Sent, DeliveryState::Failed, DeliveryState::Unknown, DeliveryState::Waiting];
    let all: Vec<_> =
        taken.iter().enumerate().map(|(index, one)| finished(one, verdicts[index % 4].clone())).collect();
    let settled = store.finish(&all).await.unwrap();
    assert_eq!(settled.len(), 20);
    for (index, one) in taken.iter().enumerate() {
        let found = settled.iter().find(|settled| settled.id == one.id).unwrap();
        assert_eq!(found.state, states[index % 4]);
    }
}

async fn the_next_due_time_and_the_backlog_are_told<H: Harness>(Bench { store, .. }: Bench<H>) {
    assert_eq!(store.next_due(ChannelKind::Email).await.unwrap(), None);
    let probe = message();
    store.accept(vec![probe.clone(), message(), message()]).await.unwrap();
    assert_eq!(store.next_due(ChannelKind::Email).await.unwrap(), Some(Duration::ZERO));
    store.take(take(1)).await.unwrap();
    let backlog = store.backlog(ChannelKind::Email).await.unwrap();
    assert_eq!((backlog.due, backlog.sending), (2, 1));
    assert!(backlog.oldest_due < Duration::from_secs(30));
    store.ping().await.unwrap();
}
