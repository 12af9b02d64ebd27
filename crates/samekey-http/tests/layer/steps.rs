//! External calls inside an intent.

use samekey_core::derived::DerivedKey;
use samekey_core::{Key, Scope};

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::Shop;

on_both_stores! {
    a_kept_answer_is_not_asked_for_again
    a_refusal_after_a_step_is_an_answer
    a_finished_refusal_is_kept
    a_renamed_step_is_not_a_second_call
    a_side_without_keys_is_called_at_most_once
    a_call_without_an_answer_at_a_side_without_keys_is_unknown
    a_call_that_never_left_leaves_nothing_begun
}

async fn a_kept_answer_is_not_asked_for_again<B: Backend>(place: B) {
    for (n, wanted) in [r#"{"after":500}"#, r#"{"after":503}"#, r#"{"panic":true}"#].iter().enumerate() {
        let shop = Shop::open(&place);
        let key = format!("k{n}");
        let first = shop.post("/paid", &key, wanted).await;
        assert_eq!((first.status, first.headers["retry-after"].to_str().unwrap()), (503, "1"), "{wanted}");
        let second = shop.another().await.post("/paid", &key, wanted).await;
        assert_eq!(second.status, 201, "resumed at once, without waiting for the lease");
        let calls = shop.script.calls.lock().await.clone();
        let derived = DerivedKey::new(&Scope::new("ada").unwrap(), &Key::new(&key).unwrap(), 0, "charge");
        assert_eq!(calls, [derived.to_string()], "{wanted}");
        assert_eq!(shop.keys.counts().interrupted, 1);
        assert!(shop.post("/paid", &key, wanted).await.replayed());
    }
    assert_eq!(place.effects().await, 3);
}

async fn a_refusal_after_a_step_is_an_answer<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let first = shop.post("/paid", "k", r#"{"after":422}"#).await;
    let again = shop.post("/paid", "k", r#"{"after":422}"#).await;
    assert_eq!((first.status, again.status, again.replayed()), (422, 422, true));
    assert_eq!(shop.script.runs(), 1);
}

async fn a_finished_refusal_is_kept<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let first = shop.post("/paid", "k", r#"{"declined":true}"#).await;
    let again = shop.post("/paid", "k", r#"{"declined":true}"#).await;
    assert_eq!((first.status, again.status), (402, 402));
    assert_eq!((&first.body[..], again.replayed()), (&b"ch_1 declined"[..], true));
    assert_eq!((shop.script.runs(), place.effects().await), (1, 0));
}

async fn a_renamed_step_is_not_a_second_call<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let wanted = r#"{"after":500,"renamed":true}"#;
    assert_eq!(shop.post("/paid", "k", wanted).await.status, 503);
    for _ in 0..2 {
        let heard = shop.post("/paid", "k", wanted).await;
        assert_eq!((heard.status, heard.code().as_str()), (409, "outcome_unknown"));
        assert!(heard.headers.get("retry-after").is_none(), "it ends when somebody settles it");
    }
    assert_eq!(shop.script.calls.lock().await.len(), 1);
}

async fn a_side_without_keys_is_called_at_most_once<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let wanted = r#"{"panic":true}"#;
    assert_eq!(shop.post("/sms", "k", wanted).await.status, 503);
    for _ in 0..3 {
        let heard = shop.post("/sms", "k", wanted).await;
        assert_eq!((heard.status, heard.code().as_str()), (409, "outcome_unknown"));
    }
    assert_eq!((shop.script.calls.lock().await.len(), shop.script.runs()), (1, 1));
    assert_eq!(shop.post("/sms", "m", "{}").await.status, 201);
    assert!(shop.post("/sms", "m", "{}").await.replayed());
}

async fn a_call_without_an_answer_at_a_side_without_keys_is_unknown<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    for _ in 0..2 {
        let heard = shop.post("/sms", "k", r#"{"fails":true}"#).await;
        assert_eq!((heard.status, heard.code().as_str()), (409, "outcome_unknown"));
    }
    assert_eq!((shop.script.calls.lock().await.len(), place.effects().await), (1, 0));
}

async fn a_call_that_never_left_leaves_nothing_begun<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let wanted = r#"{"not_sent":true}"#;
    assert_eq!(
        shop.post("/sms", "k", wanted).await.status,
        500,
        "the handler's own answer, and the key is free"
    );
    assert_eq!(shop.post("/sms", "k", wanted).await.status, 201);
    assert_eq!((shop.keys.counts().released, place.effects().await), (1, 1));
}
