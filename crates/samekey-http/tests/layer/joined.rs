//! Routes whose claim rides in the handler's own transaction.

use std::time::Duration;

use futures_util::future::join_all;

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::Shop;

on_both_stores! {
    a_joined_effect_is_done_once_and_replayed
    a_joined_race_in_two_processes_has_one_effect
    success_without_completion_is_an_error_and_frees_the_key
    a_step_before_the_transaction_leases_the_record_until_the_attempt_ends
    a_duplicate_that_fails_after_the_winner_hears_the_winners_answer
    a_duplicate_in_the_same_process_hears_when_to_come_back_and_holds_no_connection
}

async fn a_joined_effect_is_done_once_and_replayed<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let first = shop.post("/notes", "k", "{}").await;
    let again = shop.another().await.post("/notes", "k", "{}").await;
    assert_eq!((first.status, first.replayed(), again.status, again.replayed()), (201, false, 201, true));
    assert_eq!(again.body, first.body);
    assert_eq!((shop.script.runs(), place.effects().await), (1, 1), "looked up before the handler runs");
    assert_eq!(shop.post("/notes", "k", r#"{"a":1}"#).await.status, 422);
}

async fn a_joined_race_in_two_processes_has_one_effect<B: Backend>(place: B) {
    let a = Shop::open(&place);
    let b = a.another().await;
    for round in 0..5 {
        let key = format!("note-{round}");
        let sent =
            (0..20).map(|n| if n % 2 == 0 { &a } else { &b }).map(|shop| shop.post("/notes", &key, "{}"));
        let heard = join_all(sent).await;
        let mut bodies: Vec<_> =
            heard.iter().filter(|heard| heard.status == 201).map(|heard| heard.body.clone()).collect();
        bodies.dedup();
        assert!(heard.iter().all(|heard| [201, 409].contains(&heard.status)), "{heard:?}");
        assert_eq!((bodies.len(), place.effects().await), (1, round + 1));
    }
}

async fn success_without_completion_is_an_error_and_frees_the_key<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    for _ in 0..2 {
        let heard = shop.post("/forgotten", "k", "{}").await;
        assert_eq!((heard.status, heard.code().as_str()), (500, "attempt_not_completed"));
    }
    assert_eq!((shop.script.runs(), place.effects().await), (2, 0));
}

async fn a_step_before_the_transaction_leases_the_record_until_the_attempt_ends<B: Backend>(place: B) {
    let lease = Duration::from_millis(600);
    let shop = Shop::layered(&place, move |layer| layer.lease(lease));
    let wanted = r#"{"after":500}"#;
    assert_eq!(shop.post("/paid-joined", "k", wanted).await.status, 503);
    // waits: for two heartbeats, which must not bring the ended lease back.
    tokio::time::sleep(lease.mul_f64(0.7)).await;
    let second = shop.post("/paid-joined", "k", wanted).await;
    assert_eq!((second.status, second.replayed()), (201, false), "resumed at once");
    assert!(shop.post("/paid-joined", "k", wanted).await.replayed());
    assert_eq!((shop.script.calls.lock().await.len(), place.effects().await), (1, 1));
}

async fn a_duplicate_that_fails_after_the_winner_hears_the_winners_answer<B: Backend>(place: B) {
    let late = Shop::gated(&place);
    let loser = tokio::spawn({
        let late = late.clone();
        async move { late.send("/notes", &[("idempotency-key", "k"), ("panics", "1")], "{}").await }
    });
    late.script.at_gate.notified().await;
    let winner = Shop::open(&place.another().await).post("/notes", "k", "{}").await;
    late.open_gate(1);
    let loser = loser.await.unwrap();
    assert_eq!((winner.status, loser.status, loser.replayed()), (201, 201, true));
    assert_eq!((&loser.body, place.effects().await), (&winner.body, 1));
}

async fn a_duplicate_in_the_same_process_hears_when_to_come_back_and_holds_no_connection<B: Backend>(
    place: B,
) {
    let shop = Shop::gated(&place);
    let first = tokio::spawn({
        let shop = shop.clone();
        async move { shop.post("/notes", "k", "{}").await }
    });
    shop.script.at_gate.notified().await;
    let second = shop.post("/notes", "k", "{}").await;
    assert_eq!((second.status, second.code().as_str()), (409, "request_in_progress"));
    assert_eq!(shop.post("/notes", "k", r#"{"a":1}"#).await.status, 422);
    assert_eq!(shop.script.runs(), 1, "no handler ran for them, so no transaction was begun");
    shop.open_gate(1);
    assert_eq!(first.await.unwrap().status, 201);
}
