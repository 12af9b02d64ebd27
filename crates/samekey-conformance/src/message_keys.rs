//! Retention of message keys: a key goes, its message stays.

use std::time::Duration;

use samekey_core::message::Accepted;
use samekey_core::store::{Messages, SweepCursor};

use crate::case::cases;
use crate::harness::{Bench, Harness};
use crate::samples::{MOMENT, keyed, until};

cases! { over Harness:
    a_message_key_expires_into_a_tombstone_and_then_is_free
    a_sweep_of_message_keys_leaves_the_messages
}

async fn a_message_key_expires_into_a_tombstone_and_then_is_free<H: Harness>(Bench { store, .. }: Bench<H>) {
    let with = |retention, tombstone| {
        let mut message = keyed("k");
        let key = message.key.as_mut().unwrap();
        (key.retention, key.tombstone) = (retention, tombstone);
        message
    };
    let first = with(Duration::ZERO, MOMENT);
    assert_eq!(store.accept(vec![first.clone()]).await.unwrap(), [Accepted::Fresh]);
    let second = store.accept(vec![keyed("k")]).await.unwrap().remove(0);
    assert!(
        matches!(&second, Accepted::Known(known) if known.tombstone && known.first == first.id),
        "{second:?}"
    );
    until("the key is free", async || store.accept(vec![keyed("k")]).await.unwrap() == [Accepted::Fresh])
        .await;
    assert!(store.message(first.project, first.id).await.unwrap().is_some(), "the first message stays");
}

async fn a_sweep_of_message_keys_leaves_the_messages<H: Harness>(Bench { store, .. }: Bench<H>) {
    let mut old = keyed("old");
    let key = old.key.as_mut().unwrap();
    (key.retention, key.tombstone) = (Duration::ZERO, Duration::ZERO);
    store.accept(vec![old.clone(), keyed("current")]).await.unwrap();
    until("the key is past its time", async || {
        store.sweep_keys(SweepCursor::default(), 10).await.unwrap().removed == 1
    })
    .await;
    assert!(store.message(old.project, old.id).await.unwrap().is_some());
    assert!(matches!(store.accept(vec![keyed("current")]).await.unwrap()[0], Accepted::Known(_)));
}
