//! Every answer of the store that can be lost, lost once.

use samekey_memory::Fault;

use crate::backend::{Backend as _, OnMemory};
use crate::shop::{Heard, Shop};

/// What the caller hears first, what a retry hears, and how many effects there are in the end.
async fn after(fault: Fault, path: &str, body: &str) -> (Heard, Heard, i64, usize) {
    let place = OnMemory::open("").await;
    let shop = Shop::open(&place);
    // The recipe is asked for once a process; the fault is meant for what follows.
    shop.post(path, "before", "{}").await;
    let effects = place.effects().await;
    place.store.fail_next(fault);
    let first = shop.post(path, "k", body).await;
    let again = shop.post(path, "k", body).await;
    let runs = shop.script.runs() - 1;
    (first, again, place.effects().await - effects, runs)
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_ones_own() {
    for path in ["/orders", "/untouched", "/paid"] {
        let (first, again, _, runs) = after(Fault::ClaimAnswerLost, path, "{}").await;
        assert_eq!((first.status, again.status, again.replayed(), runs), (201, 201, true, 1), "{path}");
    }
}

#[tokio::test]
async fn a_commit_that_was_applied_is_found_out() {
    for (path, effects) in [("/orders", 1), ("/notes", 1), ("/untouched", 0)] {
        let (first, again, committed, runs) = after(Fault::CommitAnswerLost, path, "{}").await;
        assert_eq!((first.status, first.replayed()), (201, false), "{path}");
        assert_eq!((again.replayed(), &again.body), (true, &first.body), "{path}");
        assert_eq!((committed, runs), (effects, 1), "{path}");
    }
    let declined = r#"{"declined":true}"#;
    let (first, again, committed, runs) = after(Fault::CommitAnswerLost, "/paid", declined).await;
    assert_eq!((first.status, again.status, again.replayed(), committed, runs), (402, 402, true, 0, 1));
}

#[tokio::test]
async fn a_commit_that_was_not_applied_never_will_be() {
    for (path, effects) in [("/orders", 1), ("/notes", 1), ("/untouched", 0)] {
        let (first, again, committed, runs) = after(Fault::CommitLost, path, "{}").await;
        assert_eq!((first.status, first.headers["retry-after"].to_str().unwrap()), (503, "1"), "{path}");
        assert_eq!((again.status, again.replayed()), (201, false), "the retry runs at once: {path}");
        assert_eq!((committed, runs), (effects, 2), "{path}");
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_503_and_nothing_runs() {
    for path in ["/orders", "/notes", "/untouched", "/sms"] {
        let (first, again, _, runs) = after(Fault::Away, path, "{}").await;
        assert_eq!((first.status, first.code().as_str()), (503, "store_unavailable"), "{path}");
        assert_eq!((again.status, again.replayed(), runs), (201, false, 1), "{path}");
    }
}

#[tokio::test]
async fn a_resumed_step_that_cannot_be_begun_is_still_open() {
    let place = OnMemory::open("").await;
    let shop = Shop::gated(&place);
    shop.open_gate(1);
    assert_eq!(shop.post("/careful", "k", "{}").await.status, 503, "interrupted after its step");
    let second = tokio::spawn({
        let shop = shop.clone();
        async move { shop.post("/careful", "k", "{}").await }
    });
    shop.script.at_gate.notified().await;
    shop.script.at_gate.notified().await;
    place.store.fail_next(Fault::Away);
    shop.open_gate(1);
    let second = second.await.unwrap();
    assert_eq!(second.status, 503, "its refusal is no answer: what the other side did is not known");
    shop.open_gate(1);
    assert_eq!(shop.post("/careful", "k", "{}").await.status, 201);
    assert_eq!((shop.script.calls.lock().await.len(), place.effects().await), (2, 1));
}
