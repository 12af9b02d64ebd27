//! The second process of a race: the test binary again, in another role.
//!
//! It opens the same database, prints `ready`, waits for a line, does its part, and prints what came of it, a line each.

use std::process::Stdio;

use samekey_core::message::{Accepted, MessageId};
use samekey_core::store::{Claimed, Messages, Records};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::harness::Harness;
use crate::races;
use crate::samples::{keyed, take, wish};

/// Marks the arguments of a second process.
const MARK: &str = "--as-second-process";

/// What the second process does.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub(crate) part: String,
    pub(crate) address: String,
}

/// The role of this process, if it was started by [`Second::start`].
pub(crate) fn role() -> Option<Role> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == MARK).then(|| Role {
        part: arguments.next().expect("the first process names the part"),
        address: arguments.next().expect("the first process names the database"),
    })
}

/// Plays it: `part` is what it does on a signal.
pub(crate) async fn play<H: Harness>(role: &Role, part: impl AsyncFn(&H::Store, &str, u64) -> Vec<String>) {
    let store = H::open(&role.address).await;
    say("ready");
    let mut line = String::new();
    BufReader::new(tokio::io::stdin()).read_line(&mut line).await.expect("the first process says when");
    for result in part(&store, &role.part, races::SECOND).await {
        say(&result);
    }
}

#[expect(clippy::print_stdout, reason = "it is how the two processes talk")]
fn say(line: &str) {
    println!("{line}");
}

/// One side's part of a race; both processes do the same. `side` only varies the order.
pub(crate) async fn part(store: &(impl Records + Messages), part: &str, side: u64) -> Vec<String> {
    match part {
        "accept" => accept(store, side).await,
        "take" => take_all(store).await,
        other => records_part(store, other, side).await,
    }
}

/// The same of a store that keeps records only.
pub(crate) async fn records_part(store: &impl Records, part: &str, side: u64) -> Vec<String> {
    match part {
        "claim" => claim(store, side).await,
        other => panic!("no such part: {other}"),
    }
}

/// Claims every key in shuffled batches; gives the keys that were won.
pub(crate) async fn claim(store: &impl Records, side: u64) -> Vec<String> {
    let mut won = Vec::new();
    for batch in races::shuffled(side).chunks(races::BATCH) {
        let wishes: Vec<_> = batch.iter().map(|key| wish(key)).collect();
        for (wish, answer) in wishes.iter().zip(store.claim(wishes.clone()).await.unwrap()) {
            if matches!(answer, Claimed::Won(_)) {
                won.push(wish.key.as_str().to_owned());
            }
        }
    }
    won
}

/// Accepts a message for every key in shuffled batches; gives `key id` of the fresh ones.
async fn accept(store: &impl Messages, side: u64) -> Vec<String> {
    let mut fresh = Vec::new();
    for batch in races::shuffled(side).chunks(races::BATCH) {
        let messages: Vec<_> = batch.iter().map(|key| keyed(key)).collect();
        for (message, answer) in messages.iter().zip(store.accept(messages.clone()).await.unwrap()) {
            if answer == Accepted::Fresh {
                fresh.push(format!("{} {}", message.key.as_ref().unwrap().key.as_str(), message.id));
            }
        }
    }
    fresh
}

/// Takes until nothing is due; gives the ids.
async fn take_all(store: &impl Messages) -> Vec<String> {
    let mut ids: Vec<MessageId> = Vec::new();
    loop {
        let taken = store.take(take(16)).await.unwrap();
        if taken.is_empty() {
            return ids.iter().map(ToString::to_string).collect();
        }
        ids.extend(taken.into_iter().map(|taken| taken.id));
    }
}

/// A second process that stands ready.
pub(crate) struct Second {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Second {
    pub(crate) async fn start(role: &Role) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([MARK, &role.part, &role.address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
        Self { child, lines }
    }

    pub(crate) async fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").await.unwrap();
    }

    pub(crate) async fn results(mut self) -> Vec<String> {
        let mut results = Vec::new();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            results.push(line);
        }
        assert!(self.child.wait().await.unwrap().success(), "the second process failed");
        results
    }
}
