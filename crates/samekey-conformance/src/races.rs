//! Races between two processes on one database.
//!
//! Each race counts how often it was really one: a side that came late and lost everything proves nothing. Both must have won
//! something, and together they must have won everything exactly once.

use std::collections::BTreeSet;

use samekey_core::store::Messages;

use crate::case::cases;
use crate::harness::{Bench, Harness};
use crate::samples::message;
use crate::second_process::{Role, Second, part};

cases! { over Harness:
    two_processes_claim_the_same_keys
    two_processes_accept_the_same_keys
    two_processes_take_the_same_deliveries
}

/// Keys that both sides go for, and how many in one statement.
const KEYS: usize = 3_840;
pub(crate) const BATCH: usize = 64;
const FIRST: u64 = 1;
pub(crate) const SECOND: u64 = 2;

/// The keys in an order of this side's own, the same in every run.
pub(crate) fn shuffled(side: u64) -> Vec<String> {
    let mut keys: Vec<String> = (0..KEYS).map(|number| format!("order-{number}-shipped")).collect();
    // A linear congruential generator (Knuth's constants) is random enough for an order.
    let mut state = side;
    for last in (1..keys.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).unwrap() % (last + 1);
        keys.swap(last, other);
    }
    keys
}

/// Lets both sides go at once; gives what each has won.
async fn race<H: Harness>(Bench { store, address }: &Bench<H>, name: &str) -> [Vec<String>; 2] {
    let mut second = Second::start(&Role { part: name.to_owned(), address: address.clone() }).await;
    second.go().await;
    let first = part(store, name, FIRST).await;
    let second = second.results().await;
    assert!(!first.is_empty() && !second.is_empty(), "no race: {} against {}", first.len(), second.len());
    [first, second]
}

/// Every key was won, and none twice.
fn assert_each_once<'a>(wins: impl Iterator<Item = &'a str>, expected: usize) {
    let wins: Vec<&str> = wins.collect();
    let distinct: BTreeSet<&str> = wins.iter().copied().collect();
    assert_eq!((wins.len(), distinct.len()), (expected, expected), "won more or less than once");
}

async fn two_processes_claim_the_same_keys<H: Harness>(bench: Bench<H>) {
    let won = race(&bench, "claim").await;
    assert_each_once(won.iter().flatten().map(String::as_str), KEYS);
}

async fn two_processes_accept_the_same_keys<H: Harness>(bench: Bench<H>) {
    let fresh = race(&bench, "accept").await;
    let keys = fresh.iter().flatten().map(|line| line.split(' ').next().unwrap());
    assert_each_once(keys, KEYS);
    let taken = part(&bench.store, "take", FIRST).await;
    let ids: BTreeSet<&str> = fresh.iter().flatten().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(
        taken.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        ids,
        "what was promised is what is there"
    );
}

async fn two_processes_take_the_same_deliveries<H: Harness>(bench: Bench<H>) {
    let messages: Vec<_> = (0..2_000).map(|_| message()).collect();
    for batch in messages.chunks(200) {
        bench.store.accept(batch.to_vec()).await.unwrap();
    }
    let taken = race(&bench, "take").await;
    assert_each_once(taken.iter().flatten().map(String::as_str), messages.len());
}
