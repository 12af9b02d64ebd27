//! Keys for work that is no HTTP request.

use axum::Json;
use samekey_core::{Key, Scope};
use samekey_http::{Keys, Ran, RunError};
use serde_json::{Value, json};

use crate::backend::{Backend, Failed};
use crate::on_both_stores;

on_both_stores! {
    work_is_done_once_by_its_key
    failed_work_frees_its_key
}

async fn work_is_done_once_by_its_key<B: Backend>(place: B) {
    let keys = Keys::new(place.store());
    let (scope, key) = (Scope::new("jobs").unwrap(), Key::new("nightly-1").unwrap());
    let run = async |input: u64| {
        let place = place.clone();
        keys.run(&scope, &key, &json!({ "n": input }), async move |attempt| place.commit(attempt).await).await
    };
    let first: Ran<Value> = run(1).await.unwrap();
    assert_eq!(first, Ran::Now(json!({ "effect": 1 })));
    assert_eq!(run(1).await.unwrap(), Ran::Before(json!({ "effect": 1 })));
    assert!(matches!(run(2).await, Err(RunError::Reused)));
    assert_eq!(place.effects().await, 1);
}

async fn failed_work_frees_its_key<B: Backend>(place: B) {
    let keys = Keys::new(place.store());
    let (scope, key) = (Scope::new("jobs").unwrap(), Key::new("nightly-2").unwrap());
    let failed: Result<Ran<Value>, _> =
        keys.run(&scope, &key, &(), async |_| Err::<samekey_http::Completed, _>(Failed::NoAnswer)).await;
    assert!(matches!(failed, Err(RunError::Failed(Failed::NoAnswer))));
    let done: Ran<u32> = keys
        .run(&scope, &key, &(), async |attempt| attempt.finish(Json(7)).await.map_err(Failed::from))
        .await
        .unwrap();
    assert_eq!(done, Ran::Now(7));
}
