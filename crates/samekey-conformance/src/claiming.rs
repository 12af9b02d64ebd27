//! Claim, complete, release, load.

use samekey_core::record::{AbandonedWork, Decision, RecordState, Sameness};
use samekey_core::store::{Claimed, Records};
use samekey_core::{Answer, Recipe, Scope, StoreError};
use uuid::Uuid;

use crate::case::cases;
use crate::harness::{Bench, RecordsHarness};
use crate::samples::{abandon, answer, claim, fingerprint, held, recipe, win, wish};

cases! { over RecordsHarness:
    the_second_claim_meets_the_first
    a_claim_whose_answer_was_lost_is_recognised
    duplicates_in_one_batch_have_one_winner_and_answers_come_in_order
    keys_are_compared_byte_for_byte_and_scopes_are_apart
    a_completed_record_replays_its_bytes
    completing_twice_is_refused
    a_completed_record_keeps_no_claim_of_its_own_claimer
    release_gives_the_key_back_and_tokens_only_grow
    a_completed_record_is_never_released
    recipes_are_kept_once_and_come_back
    load_looks_and_does_not_claim
}

async fn the_second_claim_meets_the_first<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let (first, second) = (wish("k"), wish("k"));
    let won = win(&store, &first).await;
    assert_eq!((won.generation, won.steps_begun), (0, 0));
    let Claimed::Met(record) = claim(&store, &second).await else { panic!("two winners") };
    assert_eq!((record.state, record.token), (RecordState::InProgress, won.token));
    assert_eq!((record.fingerprint, record.recipe), (first.fingerprint, first.recipe));
    assert!(record.lease_left > first.lease.length() / 2 && record.lease_left <= first.lease.length());
}

async fn a_claim_whose_answer_was_lost_is_recognised<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let first = win(&store, &wish).await;
    assert_eq!(win(&store, &wish).await, first);
}

async fn duplicates_in_one_batch_have_one_winner_and_answers_come_in_order<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let wishes = vec![wish("b"), wish("a"), wish("b"), wish("c"), wish("a")];
    let answers = store.claim(wishes.clone()).await.unwrap();
    for key in ["a", "b", "c"] {
        let of_key = || wishes.iter().zip(&answers).filter(|(wish, _)| wish.key.as_str() == key);
        let tokens: Vec<_> = of_key()
            .filter_map(|(_, answer)| if let Claimed::Won(claim) = answer { Some(claim.token) } else { None })
            .collect();
        assert_eq!(tokens.len(), 1, "{key}");
        for (_, answer) in of_key() {
            if let Claimed::Met(record) = answer {
                assert_eq!(record.token, tokens[0], "{key}");
            }
        }
    }
}

async fn keys_are_compared_byte_for_byte_and_scopes_are_apart<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    for key in ["k", "K", "k ", " k", "k\\", "k'", "%"] {
        win(&store, &wish(key)).await;
    }
    let mut other = wish("k");
    other.scope = Scope::new("T").unwrap();
    win(&store, &other).await;
    other.scope = Scope::new([0xff, 0x00, 0x27]).unwrap();
    win(&store, &other).await;
}

async fn a_completed_record_replays_its_bytes<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    for (key, answer) in
        [("full", answer()), ("empty", Answer::bare(204)), ("bare", Answer { body: None, ..answer() })]
    {
        let wish = wish(key);
        let mine = held(&wish, win(&store, &wish).await);
        store.complete(&mine, &answer).await.unwrap();
        let Claimed::Met(record) = claim(&store, &crate::samples::wish(key)).await else {
            panic!("claimed anew")
        };
        assert_eq!(
            record.decide(Sameness::Same, AbandonedWork::AtMostOnce),
            Decision::Replay(answer),
            "{key}"
        );
    }
}

async fn completing_twice_is_refused<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    store.complete(&mine, &answer()).await.unwrap();
    let again = store.complete(&mine, &Answer::bare(500)).await;
    assert!(matches!(again, Err(StoreError::ClaimLost)), "{again:?}");
    let record = store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!(record.answer, Some(answer()));
}

async fn a_completed_record_keeps_no_claim_of_its_own_claimer<H: RecordsHarness>(
    Bench { store, .. }: Bench<H>,
) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    store.complete(&mine, &answer()).await.unwrap();
    assert!(matches!(claim(&store, &wish).await, Claimed::Met(_)), "the work would run again");
}

async fn release_gives_the_key_back_and_tokens_only_grow<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let mut last = None;
    for _ in 0..5 {
        let wish = wish("k");
        let won = win(&store, &wish).await;
        assert!(Some(won.token) > last);
        last = Some(won.token);
        assert!(store.release(&held(&wish, won)).await.unwrap());
        assert!(!store.release(&held(&wish, won)).await.unwrap(), "released twice");
        assert_eq!(store.load(&wish.scope, &wish.key).await.unwrap(), None);
    }
}

async fn a_completed_record_is_never_released<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let wish = wish("k");
    let mine = held(&wish, win(&store, &wish).await);
    store.complete(&mine, &answer()).await.unwrap();
    assert!(!store.release(&mine).await.unwrap());
    assert!(!store.end_lease(&mine).await.unwrap());
    assert!(!store.mark_unknown(&mine).await.unwrap());
    assert!(store.load(&wish.scope, &wish.key).await.unwrap().is_some());
}

async fn recipes_are_kept_once_and_come_back<H: RecordsHarness>(Bench { store, address }: Bench<H>) {
    let first = recipe(&store).await;
    let raw = store.recipe(&Recipe::raw()).await.unwrap();
    assert_ne!(first, raw);
    let other = H::open(&address).await;
    assert_eq!(other.recipe(&Recipe::raw()).await.unwrap(), raw);
    assert_eq!(other.recipe_of(first).await.unwrap(), Recipe::canonical());
    let unknown = other.recipe_of(samekey_core::store::RecipeId(999)).await;
    assert!(matches!(unknown, Err(StoreError::Unreadable(_))), "{unknown:?}");
}

async fn load_looks_and_does_not_claim<H: RecordsHarness>(Bench { store, .. }: Bench<H>) {
    let mut wish = wish("k");
    assert_eq!(store.load(&wish.scope, &wish.key).await.unwrap(), None);
    let mine = abandon(&store, &wish).await;
    let seen = store.load(&wish.scope, &wish.key).await.unwrap().unwrap();
    assert_eq!((seen.token, seen.lease_left.is_zero()), (mine.token, true));
    wish.claim = Uuid::from_bytes(crate::samples::random());
    wish.fingerprint = fingerprint("b");
    assert!(matches!(claim(&store, &wish).await, Claimed::Met(record) if *record == seen));
}
