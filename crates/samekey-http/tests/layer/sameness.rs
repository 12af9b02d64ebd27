//! The same key with another request is another request's.

use axum::http::Method;
use samekey_http::IdempotencyLayer;

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::Shop;

on_both_stores! {
    method_path_query_and_body_make_the_request
    spelling_does_not
    a_nested_route_is_known_by_the_path_that_was_asked_for
    members_can_be_left_out_and_a_deploy_that_does_so_still_reads_old_records
    a_body_over_the_limit_is_refused_before_anything_is_claimed
}

async fn method_path_query_and_body_make_the_request<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let key = [("idempotency-key", "k")];
    shop.send("/untouched", &key, r#"{"a":1}"#).await;
    for (method, path, body) in [
        (Method::POST, "/untouched?dry=1", r#"{"a":1}"#),
        (Method::PATCH, "/untouched", r#"{"a":1}"#),
        (Method::POST, "/orders", r#"{"a":1}"#),
        (Method::POST, "/untouched", r#"{"a":9007199254740993}"#),
        (Method::POST, "/untouched", ""),
    ] {
        let heard = shop.request(method.clone(), path, &key, body).await;
        assert_eq!(
            (heard.status, heard.code().as_str()),
            (422, "idempotency_key_reused"),
            "{method} {path} {body}"
        );
    }
    assert_eq!(shop.script.runs(), 1);
}

async fn spelling_does_not<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let first = shop.post("/untouched", "k", r#"{"a":1.0,"b":"é"}"#).await;
    let again = shop.post("/untouched", "k", "{ \"b\": \"\\u00e9\", \"a\": 10e-1 }").await;
    assert_eq!(again.body, first.body);
    assert!(again.replayed());
}

async fn a_nested_route_is_known_by_the_path_that_was_asked_for<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    assert_eq!(shop.post("/api/untouched", "k", "{}").await.status, 201);
    assert_eq!(shop.post("/untouched", "k", "{}").await.status, 422);
    assert!(shop.post("/api/untouched", "k", "{}").await.replayed());
}

async fn members_can_be_left_out_and_a_deploy_that_does_so_still_reads_old_records<B: Backend>(place: B) {
    let before = Shop::open(&place);
    let first = before.post("/untouched", "k", r#"{"at":1}"#).await;
    let ignoring = |layer: IdempotencyLayer<B::Store>| layer.ignoring(["/at"]).unwrap();
    let after = Shop::layered(&place, ignoring);
    assert_eq!(after.post("/untouched", "k", r#"{"at":1}"#).await.body, first.body);
    assert_eq!(
        after.post("/untouched", "k", r#"{"at":2}"#).await.status,
        422,
        "an old record, by its own recipe"
    );
    after.post("/untouched", "n", r#"{"at":1}"#).await;
    assert!(after.post("/untouched", "n", r#"{"at":2}"#).await.replayed());
    assert!(before.post("/untouched", "n", r#"{"at":3}"#).await.replayed(), "an old process reads it too");
}

async fn a_body_over_the_limit_is_refused_before_anything_is_claimed<B: Backend>(place: B) {
    let shop = Shop::layered(&place, |layer| layer.body_limit(100));
    let heard = shop.post("/untouched", "k", &format!("\"{}\"", "x".repeat(99))).await;
    assert_eq!((heard.status, heard.code().as_str()), (413, "payload_too_large"));
    assert_eq!(shop.post("/untouched", "k", "{}").await.status, 201);
    assert_eq!(shop.script.runs(), 1);
}
