//! Accept: key and message together, once.

use samekey_core::delivery::DeliveryState;
use samekey_core::message::{Accepted, KnownKey, NewMessage};
use samekey_core::store::Messages;
use samekey_core::tenant::ProjectId;

use crate::case::cases;
use crate::harness::{Bench, Harness};
use crate::samples::{fingerprint, keyed, message, take};

cases! { over Harness:
    a_key_is_taken_once_and_names_the_first_message
    messages_that_are_handed_in_again_are_recognised_and_stored_once
    duplicates_in_one_call_have_one_winner_and_answers_come_in_order
    without_a_key_nothing_is_deduplicated
    a_key_means_nothing_outside_its_project
    nothing_is_accepted_in_an_empty_call
}

async fn a_key_is_taken_once_and_names_the_first_message<H: Harness>(Bench { store, .. }: Bench<H>) {
    let first = keyed("k");
    assert_eq!(store.accept(vec![first.clone()]).await.unwrap(), [Accepted::Fresh]);
    let mut other = keyed("k");
    other.key.as_mut().unwrap().fingerprint = fingerprint("b");
    let key = first.key.unwrap();
    let known =
        KnownKey { first: first.id, fingerprint: key.fingerprint, recipe: key.recipe, tombstone: false };
    for repeat in [keyed("k"), other] {
        assert_eq!(store.accept(vec![repeat.clone()]).await.unwrap(), [Accepted::Known(known.clone())]);
        assert_eq!(store.message(repeat.project, repeat.id).await.unwrap(), None);
    }
    assert_eq!(store.take(take(10)).await.unwrap().len(), 1);
}

async fn messages_that_are_handed_in_again_are_recognised_and_stored_once<H: Harness>(
    Bench { store, .. }: Bench<H>,
) {
    let messages = vec![keyed("a"), message(), keyed("b")];
    for _ in 0..3 {
        assert_eq!(store.accept(messages.clone()).await.unwrap(), vec![Accepted::Fresh; 3]);
    }
    let taken = store.take(take(10)).await.unwrap();
    assert_eq!(taken.len(), 3);
    // Even when it is in hand.
    assert_eq!(store.accept(messages).await.unwrap(), vec![Accepted::Fresh; 3]);
    assert_eq!(store.take(take(10)).await.unwrap(), []);
}

async fn duplicates_in_one_call_have_one_winner_and_answers_come_in_order<H: Harness>(
    Bench { store, .. }: Bench<H>,
) {
    let messages: Vec<NewMessage> = ["b", "a", "b", "c", "a"].map(keyed).to_vec();
    let answers = store.accept(messages.clone()).await.unwrap();
    for key in ["a", "b", "c"] {
        let of_key: Vec<_> = messages
            .iter()
            .zip(&answers)
            .filter(|(message, _)| message.key.as_ref().unwrap().key.as_str() == key)
            .collect();
        let fresh: Vec<_> = of_key.iter().filter(|(_, answer)| **answer == Accepted::Fresh).collect();
        assert_eq!(fresh.len(), 1, "{key}");
        for (_, answer) in &of_key {
            if let Accepted::Known(known) = answer {
                assert_eq!(known.first, fresh[0].0.id, "{key}");
            }
        }
    }
}

async fn without_a_key_nothing_is_deduplicated<H: Harness>(Bench { store, .. }: Bench<H>) {
    let messages = vec![message(), message(), message()];
    assert_eq!(store.accept(messages.clone()).await.unwrap(), vec![Accepted::Fresh; 3]);
    for one in messages {
        let view = store.message(one.project, one.id).await.unwrap().unwrap();
        assert_eq!((view.state, view.key), (DeliveryState::Waiting, None));
    }
}

async fn a_key_means_nothing_outside_its_project<H: Harness>(Bench { store, .. }: Bench<H>) {
    let (mine, mut theirs) = (keyed("k"), keyed("k"));
    theirs.project = ProjectId(8);
    assert_eq!(store.accept(vec![mine.clone(), theirs.clone()]).await.unwrap(), vec![Accepted::Fresh; 2]);
    assert_eq!(store.message(theirs.project, mine.id).await.unwrap(), None);
    assert!(store.message(mine.project, mine.id).await.unwrap().is_some());
}

async fn nothing_is_accepted_in_an_empty_call<H: Harness>(Bench { store, .. }: Bench<H>) {
    assert_eq!(store.accept(Vec::new()).await.unwrap(), []);
}
