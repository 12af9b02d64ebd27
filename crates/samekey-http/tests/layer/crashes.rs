//! Attempts that die, stall, or come back from the dead.

use std::time::Duration;

use samekey_core::store::{Held, Records};
use samekey_core::{Key, Scope};

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::Shop;

on_both_stores! {
    a_stalled_owner_cannot_complete_what_another_has_taken_over
    a_handler_that_takes_too_long_is_given_up
    abandoned_work_is_run_again_or_unknown_as_the_route_says
    a_failure_on_an_at_most_once_route_is_unknown
    a_handler_that_lives_keeps_its_claim
    a_short_lease_is_renewed_beside_a_long_one
}

async fn held(store: &impl Records, key: &str) -> Held {
    let (scope, key) = (Scope::new("ada").unwrap(), Key::new(key).unwrap());
    let record = store.load(&scope, &key).await.unwrap().unwrap();
    Held { scope, key, token: record.token }
}

async fn a_stalled_owner_cannot_complete_what_another_has_taken_over<B: Backend>(place: B) {
    let a = Shop::gated(&place);
    let b = Shop::open(&place.another().await);
    let stalled = tokio::spawn({
        let a = a.clone();
        async move { a.post("/orders", "k", "{}").await }
    });
    a.script.at_gate.notified().await;
    // As if its process had stopped past its lease.
    let store = place.store();
    assert!(store.end_lease(&held(&store, "k").await).await.unwrap());
    let second = b.post("/orders", "k", "{}").await;
    assert_eq!((second.status, second.replayed()), (201, false));
    a.open_gate(1);
    let stalled = stalled.await.unwrap();
    assert_eq!((stalled.status, &stalled.body), (201, &second.body), "it hears its successor's answer");
    assert!(stalled.replayed());
    assert_eq!(place.effects().await, 1, "its own effect was rolled back");
    assert_eq!((a.keys.counts().lost_lease, b.keys.counts().taken_over), (1, 1));
}

async fn a_handler_that_takes_too_long_is_given_up<B: Backend>(place: B) {
    let gated = Shop::gated(&place);
    let keys = samekey_http::Keys::new(place.store());
    let shop =
        Shop::with(&place, gated.script.clone(), keys, |layer| layer.deadline(Duration::from_millis(50)));
    let late = shop.post("/orders", "k", "{}").await;
    assert_eq!((late.status, late.headers["retry-after"].to_str().unwrap()), (503, "1"));
    shop.open_gate(2);
    assert_eq!(shop.post("/orders", "k", "{}").await.status, 201, "its key was free");
    assert_eq!(place.effects().await, 1);
}

async fn abandoned_work_is_run_again_or_unknown_as_the_route_says<B: Backend>(place: B) {
    for (least, status) in [(true, 201), (false, 409)] {
        let gated = Shop::gated(&place);
        let keys = samekey_http::Keys::new(place.store());
        let shop = Shop::with(&place, gated.script.clone(), keys, move |layer| {
            if least { layer.at_least_once() } else { layer.at_most_once() }
        });
        let key = format!("k{least}");
        let dead = tokio::spawn({
            let (shop, key) = (shop.clone(), key.clone());
            async move { shop.post("/untouched", &key, "{}").await }
        });
        shop.script.at_gate.notified().await;
        let store = place.store();
        assert!(store.end_lease(&held(&store, &key).await).await.unwrap());
        let other = shop.another_of(least).await;
        let heard = other.post("/untouched", &key, "{}").await;
        assert_eq!(heard.status, status);
        if !least {
            assert_eq!(heard.code(), "outcome_unknown");
            shop.open_gate(1);
            assert_eq!(dead.await.unwrap().status, 201, "the owner returns with the truth");
            assert!(other.post("/untouched", &key, "{}").await.replayed());
        }
    }
}

async fn a_failure_on_an_at_most_once_route_is_unknown<B: Backend>(place: B) {
    for wanted in [r#"{"first":500}"#, r#"{"panic":true}"#] {
        let shop = Shop::layered(&place, samekey_http::IdempotencyLayer::at_most_once);
        let key = format!("k{}", wanted.len());
        for _ in 0..2 {
            let heard = shop.post("/untouched", &key, wanted).await;
            assert_eq!((heard.status, heard.code().as_str()), (409, "outcome_unknown"));
        }
        assert_eq!(shop.script.runs(), 1);
    }
}

async fn a_handler_that_lives_keeps_its_claim<B: Backend>(place: B) {
    let gated = Shop::gated(&place);
    let keys = samekey_http::Keys::new(place.store());
    let lease = Duration::from_millis(600);
    let shop = Shop::with(&place, gated.script.clone(), keys, move |layer| layer.lease(lease));
    let first = tokio::spawn({
        let shop = shop.clone();
        async move { shop.post("/orders", "k", "{}").await }
    });
    shop.script.at_gate.notified().await;
    // waits: for three times the lease, by the database's clock, which is not ours to turn.
    tokio::time::sleep(lease * 3).await;
    let second = Shop::open(&place.another().await).post("/orders", "k", "{}").await;
    assert_eq!((second.status, second.code().as_str()), (409, "request_in_progress"));
    shop.open_gate(1);
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!(place.effects().await, 1);
}

async fn a_short_lease_is_renewed_beside_a_long_one<B: Backend>(place: B) {
    let gated = Shop::gated(&place);
    let keys = samekey_http::Keys::new(place.store());
    let long = Shop::with(&place, gated.script.clone(), keys.clone(), |layer| layer);
    let lease = Duration::from_millis(600);
    let short = Shop::with(&place, gated.script.clone(), keys, move |layer| layer.lease(lease));
    let mut running = Vec::new();
    for (shop, key) in [(&long, "long"), (&short, "short")] {
        let (shop, key) = (shop.clone(), key.to_owned());
        running.push(tokio::spawn(async move { shop.post("/orders", &key, "{}").await }));
        gated.script.at_gate.notified().await;
    }
    // waits: for three times the short lease, while the long one's next renewal is ten seconds away.
    tokio::time::sleep(lease * 3).await;
    let second = Shop::open(&place.another().await).post("/orders", "short", "{}").await;
    assert_eq!((second.status, second.code().as_str()), (409, "request_in_progress"));
    gated.open_gate(2);
    for one in running {
        let heard = one.await.unwrap();
        assert_eq!((heard.status, heard.replayed()), (201, false));
    }
    assert_eq!(place.effects().await, 2);
}
