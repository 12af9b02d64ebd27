//! A replay is the first answer, byte for byte.

use crate::backend::Backend;
use crate::on_both_stores;
use crate::shop::Shop;

on_both_stores! {
    status_headers_and_bytes_come_back
    an_empty_answer_is_an_answer
    what_is_too_long_to_keep_is_not_run_again
    a_refused_request_does_not_consume_its_key
    a_failure_frees_the_key
    a_cached_answer_is_compared_too
}

async fn status_headers_and_bytes_come_back<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    for status in [200, 201, 202, 303] {
        let (key, body) = (format!("k{status}"), format!(r#"{{"answer":{status}}}"#));
        let first = shop.post("/untouched", &key, &body).await;
        let again = shop.another().await.post("/untouched", &key, &body).await;
        assert_eq!((first.status, first.replayed()), (status, false));
        assert_eq!((again.status, again.replayed()), (status, true));
        assert_eq!(again.body, first.body);
        let mut expected = first.headers.clone();
        assert!(expected.remove("set-cookie").is_some(), "the first one gets its cookie");
        expected.insert("idempotent-replayed", "true".parse().unwrap());
        assert_eq!(again.headers, expected);
        assert_eq!(again.headers.get_all("x-part").iter().count(), 2);
        assert_eq!(again.headers["x-bytes"].as_bytes(), b"\xff\xfe");
    }
    assert_eq!(shop.script.runs(), 4);
    let counts = shop.keys.counts();
    assert_eq!((counts.fresh, counts.completed_apart), (4, 4));
}

async fn an_empty_answer_is_an_answer<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    let first = shop.post("/untouched", "k", r#"{"answer":204}"#).await;
    let again = shop.post("/untouched", "k", r#"{"answer":204}"#).await;
    assert_eq!((first.status, again.status, again.body.len()), (204, 204, 0));
    assert!(again.replayed());
}

async fn what_is_too_long_to_keep_is_not_run_again<B: Backend>(place: B) {
    let long = Shop::layered(&place, |layer| layer.response_limit(1_000));
    let first = long.post("/untouched", "k", r#"{"length":1001}"#).await;
    assert_eq!((first.status, first.body.len()), (201, 1_001), "the first one gets all of it");
    let again = long.post("/untouched", "k", r#"{"length":1001}"#).await;
    assert_eq!((again.status, again.code().as_str()), (409, "response_not_replayable"));
    assert!(String::from_utf8_lossy(&again.body).contains(r#""original_status":201"#));
    assert!(long.post("/untouched", "m", r#"{"length":1000}"#).await.status == 201);
    assert!(long.post("/untouched", "m", r#"{"length":1000}"#).await.replayed());
    let secret = Shop::layered(&place, IdempotencyLayerExt::secret);
    secret.post("/untouched", "s", "{}").await;
    assert_eq!(secret.post("/untouched", "s", "{}").await.code(), "response_not_replayable");
    assert_eq!(secret.script.runs(), 1);
}

trait IdempotencyLayerExt {
    fn secret(self) -> Self;
}

impl<S: samekey_core::store::Records> IdempotencyLayerExt for samekey_http::IdempotencyLayer<S> {
    fn secret(self) -> Self {
        self.without_bodies()
    }
}

async fn a_refused_request_does_not_consume_its_key<B: Backend>(place: B) {
    let shop = Shop::open(&place);
    assert_eq!(shop.post("/untouched", "k", r#"{"first":403}"#).await.status, 403);
    assert_eq!(shop.post("/untouched", "k", r#"{"first":403,"mended":1}"#).await.status, 201);
    assert_eq!(shop.keys.counts().released, 1);
}

async fn a_failure_frees_the_key<B: Backend>(place: B) {
    for (wanted, status) in [(r#"{"first":500}"#, 500), (r#"{"first":503}"#, 503), (r#"{"panic":true}"#, 500)]
    {
        let shop = Shop::open(&place);
        assert_eq!(shop.post("/untouched", wanted.trim(), wanted).await.status, 400, "a brace is no key");
        let key = format!("k{status}-{}", wanted.len());
        assert_eq!(shop.post("/untouched", &key, wanted).await.status, status);
        assert_eq!(shop.post("/untouched", &key, wanted).await.status, 201);
        assert!(shop.post("/untouched", &key, wanted).await.replayed());
        assert_eq!(shop.script.runs(), 2);
    }
}

async fn a_cached_answer_is_compared_too<B: Backend>(place: B) {
    let keys = samekey_http::Keys::new(place.store()).with_cache_bytes(1 << 20);
    let shop = Shop::with(&place, std::sync::Arc::default(), keys, |layer| layer);
    let first = shop.post("/orders", "k", r#"{"a":1}"#).await;
    let again = shop.post("/orders", "k", r#"{"a":1.0}"#).await;
    assert_eq!((again.status, &again.body, again.replayed()), (201, &first.body, true));
    let other = shop.post("/orders", "k", r#"{"a":2}"#).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
}
