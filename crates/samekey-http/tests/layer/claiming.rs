//! Of any number of requests for one key, one runs.

use std::collections::BTreeSet;

use futures_util::future::join_all;

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::{Heard, Shop};

on_both_stores! {
    fifty_requests_in_two_processes_have_one_effect
    a_duplicate_of_a_running_attempt_hears_when_to_come_back
    a_duplicate_that_prefers_to_wait_gets_the_answer
    a_thousand_waiters_on_one_key_are_woken_by_its_end
    the_same_key_in_two_scopes_is_two_intents
    a_key_must_be_there_and_well_formed
    without_a_key_an_optional_route_runs_and_commits
    a_full_process_says_so_and_does_nothing
}

async fn fifty_requests_in_two_processes_have_one_effect<B: Backend>(place: B) {
    let a = Shop::open(&place);
    let b = a.another().await;
    for round in 0..5 {
        let key = format!("order-{round}");
        let sent =
            (0..50).map(|n| if n % 2 == 0 { &a } else { &b }).map(|shop| shop.post("/orders", &key, "{}"));
        let heard: Vec<Heard> = join_all(sent).await;
        let codes: BTreeSet<u16> = heard.iter().map(|heard| heard.status).collect();
        assert!(codes.is_subset(&BTreeSet::from([201, 409])), "{codes:?}");
        let bodies: BTreeSet<_> =
            heard.iter().filter(|heard| heard.status == 201).map(|heard| heard.body.clone()).collect();
        assert_eq!(bodies.len(), 1, "one answer");
        assert_eq!(place.effects().await, round + 1, "one effect a key");
    }
    assert_eq!(a.script.runs(), 5);
}

async fn a_duplicate_of_a_running_attempt_hears_when_to_come_back<B: Backend>(place: B) {
    let a = Shop::gated(&place);
    let b = a.another().await;
    let first = tokio::spawn({
        let a = a.clone();
        async move { a.post("/orders", "k", "{}").await }
    });
    a.script.at_gate.notified().await;
    for shop in [&a, &b] {
        let second = shop.post("/orders", "k", "{}").await;
        assert_eq!((second.status, second.code().as_str()), (409, "request_in_progress"));
        let seconds: u32 = second.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=2).contains(&seconds), "{seconds}");
        assert!(!second.replayed());
        let other = shop.post("/orders", "k", r#"{"other":1}"#).await;
        assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    }
    a.open_gate(1);
    let first = first.await.unwrap();
    assert_eq!((first.status, first.replayed()), (201, false));
    for shop in [&a, &b] {
        let again = shop.post("/orders", "k", "{}").await;
        assert!(again.replayed());
        assert_eq!((again.status, &again.body), (201, &first.body));
    }
    assert_eq!((a.script.runs(), place.effects().await), (1, 1));
}

async fn a_duplicate_that_prefers_to_wait_gets_the_answer<B: Backend>(place: B) {
    let a = Shop::gated(&place);
    let b = a.another().await;
    let first = tokio::spawn({
        let a = a.clone();
        async move { a.post("/orders", "k", "{}").await }
    });
    a.script.at_gate.notified().await;
    let short = b.send("/orders", &[("idempotency-key", "k"), ("prefer", "wait=0")], "{}").await;
    assert_eq!(short.status, 409, "a wait that is over is no wait");
    let waits = [("idempotency-key", "k"), ("prefer", "wait=15")];
    let (here, there, ()) =
        tokio::join!(a.send("/orders", &waits, "{}"), b.send("/orders", &waits, "{}"), async {
            // The first one and the one that waits beside it; the one that waits elsewhere.
            a.until_running(2).await;
            b.until_running(1).await;
            a.open_gate(1);
        });
    let first = first.await.unwrap();
    for waited in [here, there] {
        assert!(waited.replayed());
        assert_eq!((waited.status, &waited.body), (201, &first.body));
        assert_eq!(waited.headers["preference-applied"], "wait=15");
    }
    assert_eq!(a.script.runs(), 1);
}

async fn a_thousand_waiters_on_one_key_are_woken_by_its_end<B: Backend>(place: B) {
    let shop = Shop::gated(&place);
    let waits = [("idempotency-key", "k"), ("prefer", "wait=19")];
    let sent = (0..1_000).map(|_| shop.send("/orders", &waits, "{}"));
    let (heard, ()) = tokio::join!(join_all(sent), async {
        shop.script.at_gate.notified().await;
        shop.open_gate(1);
    });
    assert!(heard.iter().all(|heard| heard.status == 201));
    assert_eq!(heard.iter().filter(|heard| !heard.replayed()).count(), 1);
    let counts = shop.keys.counts();
    assert_eq!((counts.fresh, counts.replayed, counts.completed), (1, 999, 1));
    assert_eq!((shop.script.runs(), place.effects().await), (1, 1));
}

async fn the_same_key_in_two_scopes_is_two_intents<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let of = |account| {
        let shop = shop.clone();
        async move { shop.send("/orders", &[("idempotency-key", "1"), ("account", account)], "{}").await }
    };
    let (ada, bob) = (of("ada").await, of("bob").await);
    assert_ne!(ada.body, bob.body);
    assert_eq!(of("ada").await.body, ada.body);
    assert_eq!(place.effects().await, 2);
}

async fn a_key_must_be_there_and_well_formed<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let missing = shop.send("/orders", &[], "{}").await;
    assert_eq!((missing.status, missing.code().as_str()), (400, "idempotency_key_missing"));
    assert_eq!(missing.headers["content-type"], "application/problem+json");
    let long = "x".repeat(256);
    for key in ["", "\"\"", "a b", "a,b", "\"a\";p=1", "\"a", long.as_str()] {
        let bad = shop.post("/orders", key, "{}").await;
        assert_eq!((bad.status, bad.code().as_str()), (400, "idempotency_key_invalid"), "{key:?}");
    }
    let twice = shop.send("/orders", &[("idempotency-key", "a"), ("idempotency-key", "a")], "{}").await;
    assert_eq!(twice.status, 400);
    assert_eq!(shop.script.runs(), 0);
    let (bare, quoted) =
        (shop.post("/orders", "a-1", "{}").await, shop.post("/orders", "\"a-1\"", "{}").await);
    assert_eq!(bare.body, quoted.body);
    assert!(quoted.replayed());
}

async fn without_a_key_an_optional_route_runs_and_commits<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    for effects in 1..=2 {
        let heard = shop.send("/optional", &[], "{}").await;
        assert_eq!((heard.status, place.effects().await), (201, effects));
    }
    shop.post("/optional", "k", "{}").await;
    assert!(shop.post("/optional", "k", "{}").await.replayed());
    assert_eq!(place.effects().await, 3);
}

async fn a_full_process_says_so_and_does_nothing<B: Backend>(place: B) {
    let gated = Shop::gated(&place);
    let keys = samekey_http::Keys::new(place.store()).with_max_running(1);
    let shop = Shop::with(&place, gated.script.clone(), keys, |layer| layer);
    let (first, second) = tokio::join!(shop.post("/orders", "a", "{}"), async {
        shop.script.at_gate.notified().await;
        let second = shop.post("/orders", "b", "{}").await;
        shop.open_gate(1);
        second
    });
    assert_eq!((first.status, second.status), (201, 503));
    assert_eq!(second.headers["retry-after"], "1");
    shop.open_gate(1);
    assert_eq!(shop.post("/orders", "b", "{}").await.status, 201, "and later it is done");
    assert_eq!(shop.keys.shutdown(std::time::Duration::from_secs(5)).await, 0);
    assert_eq!(shop.post("/orders", "c", "{}").await.status, 503, "after the shutdown nothing begins");
}
