//! `samekey keys`: a person looks at records and settles them.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::record::{AbandonedWork, Decision, Record, Sameness};
use samekey_core::store::{Claim, ClaimRequest, Claimed, Held, RecipeId, Records, StepKind};
use samekey_core::{Answer, Fingerprint, Key, Scope};
use serde_json::Value;
use uuid::Uuid;

use crate::service::{Place, on_both_stores};

const BY: [&str; 4] = ["--who", "ada", "--why", "asked the bank"];

/// Runs async code on the place's store, as a handler in another process would.
macro_rules! with_store {
    ($place:expr, $store:ident => $work:expr) => {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            if let Some(path) = $place.database.strip_prefix("sqlite:") {
                let $store = samekey_sqlite::Sqlite::migrate(path).await.unwrap();
                $work.await
            } else {
                let options = samekey_postgres::Options::from_url(&$place.database).unwrap();
                let $store = samekey_postgres::Postgres::migrate(&options).await.unwrap();
                $work.await
            }
        })
    };
}

fn wish(key: &str, claim: u128) -> ClaimRequest {
    ClaimRequest {
        scope: Scope::new("shop").unwrap(),
        key: Key::new(key).unwrap(),
        claim: Uuid::from_u128(claim),
        fingerprint: Fingerprint::from_stored([1; 32]),
        recipe: RecipeId(1),
        lease: Lease::RECORD,
        retention: Duration::from_secs(3_600),
        tombstone: Duration::from_secs(3_600),
    }
}

async fn claimed(store: &impl Records, key: &str) -> Held {
    let wish = wish(key, 1);
    let Claimed::Won(Claim { token, .. }) = store.claim(vec![wish.clone()]).await.unwrap().remove(0) else {
        panic!("{key} is taken")
    };
    Held { scope: wish.scope, key: wish.key, token }
}

async fn unknown(store: &impl Records, key: &str) -> Held {
    let held = claimed(store, key).await;
    store.begin_step(&held, "charge", StepKind::Keyed, b"in").await.unwrap();
    store.end_step(&held, "charge", b"paid").await.unwrap();
    store.begin_step(&held, "fax", StepKind::Unkeyed, b"in").await.unwrap();
    assert!(store.end_lease(&held).await.unwrap() && store.mark_unknown(&held).await.unwrap());
    held
}

async fn completed(store: &impl Records, key: &str) {
    store.complete(&claimed(store, key).await, &Answer::bare(204)).await.unwrap();
}

async fn record(store: &impl Records, key: &str) -> Record {
    let wish = wish(key, 1);
    store.load(&wish.scope, &wish.key).await.unwrap().unwrap()
}

fn json(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a command with something on its standard input.
fn run_with(place: &Place, args: &[&str], input: &[u8]) {
    let mut child = place.command(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success());
}

on_both_stores! {
    fn records_are_listed_for_people_and_for_programs(place) {
        with_store!(place, store => async {
            claimed(&store, "running").await;
            unknown(&store, "order 1").await;
            completed(&store, "done").await;
        });
        let table = place.run(&["keys", "list"]).unwrap();
        let words: Vec<Vec<&str>> = table.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["STATE", "STATUS", "STEPS", "FREED", "EXPIRES", "SCOPE", "KEY"]);
        assert_eq!((words[1][0], words[1][1], words[1][6]), ("completed", "204", "done"), "{table:#?}");
        assert_eq!((words[2][0], words[2][2], words[2][5]), ("unknown", "2", "shop"), "{table:#?}");
        assert!(table[2].ends_with("  shop   order 1") && table[3].starts_with("in-progress  -"), "{table:#?}");

        let listed = json(&place.run(&["keys", "list", "--json", "--state", "unknown", "--scope", "hex:73686f70"]).unwrap());
        assert_eq!((listed.len(), &listed[0]["key"], &listed[0]["state"]), (1, &"order 1".into(), &"unknown".into()));
        let output = place.command(&["keys", "list", "--limit", "2"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3);
        assert!(String::from_utf8(output.stderr).unwrap().contains("--limit"), "it says that there is more");
        assert_eq!(place.run(&["keys", "list", "--scope", "other"]).unwrap().len(), 1);
    }

    fn an_unknown_record_is_shown_settled_and_replayed(place) {
        let held = with_store!(place, store => unknown(&store, "pay"));
        let sheet = place.run(&["keys", "show", "shop", "pay"]).unwrap().join("\n");
        assert!(sheet.contains("fax: begun, may have been called; takes no key"), "{sheet}");
        assert!(sheet.contains("charge: ended, its result is kept (4 bytes)"), "{sheet}");

        let resolve = ["keys", "resolve", "shop", "pay", "--status", "201", "--body", "-", "--content-type", "text/plain"];
        run_with(place, &[&resolve[..], &BY].concat(), b"paid\n\xff");
        let answer = Answer {
            status: 201,
            headers: vec![("content-type".to_owned(), b"text/plain".to_vec())],
            body: Some(bytes::Bytes::from_static(b"paid\n\xff")),
        };
        with_store!(place, store => async {
            let decision = record(&store, "pay").await.decide(Sameness::Same, AbandonedWork::AtMostOnce);
            assert_eq!(decision, Decision::Replay(answer));
            assert!(store.complete(&held, &Answer::bare(500)).await.is_err(), "the old owner");
        });
        let shown = json(&place.run(&["keys", "show", "shop", "pay", "--json"]).unwrap()).remove(0);
        assert_eq!((&shown["state"], &shown["status"]), (&"completed".into(), &201.into()), "{shown}");
        let settled = &shown["resolutions"][0];
        assert_eq!((&settled["outcome"], &settled["who"], &settled["why"]), (&"succeeded".into(), &"ada".into(), &"asked the bank".into()));
        let again = place.run(&[&resolve[..4], &["--status", "200"], &BY].concat()).unwrap_err();
        assert!(again.contains("is completed; its answer never changes"), "{again}");
    }

    fn a_released_key_is_free_for_another_request(place) {
        with_store!(place, store => unknown(&store, "pay"));
        place.run(&[&["keys", "release", "shop", "pay"], &BY[..]].concat()).unwrap();
        with_store!(place, store => async {
            let freed = record(&store, "pay").await;
            let other = ClaimRequest { fingerprint: Fingerprint::from_stored([2; 32]), ..wish("pay", 2) };
            let taken = store.take_over(&other, freed.token).await.unwrap().unwrap();
            assert_eq!((taken.generation, taken.steps_begun), (1, 0));
        });
        let sheet = place.run(&["keys", "show", "shop", "pay"]).unwrap().join("\n");
        assert!(sheet.contains("as failed by ada: asked the bank") && !sheet.contains("step "), "{sheet}");
    }

    fn what_cannot_be_settled_says_what_to_do(place) {
        with_store!(place, store => async {
            completed(&store, "done").await;
            claimed(&store, "running").await;
            let abandoned = claimed(&store, "abandoned").await;
            store.end_lease(&abandoned).await.unwrap();
        });
        let release = |key: &str| place.run(&[&["keys", "release", "shop", key], &BY[..]].concat());
        let resolve = |key: &str| place.run(&[&["keys", "resolve", "shop", key, "--status", "200"], &BY[..]].concat());
        for (refused, what) in [
            (release("done"), "the record is completed; a completed record is never released"),
            (release("running"), "its lease holds for another"),
            (resolve("running"), "its lease holds for another"),
            (resolve("abandoned"), "samekey keys release"),
            (release("none"), "there is no record of this key in scope `shop`"),
            (place.run(&["keys", "show", "Shop", "done"]), "there is no record of this key in scope `Shop`"),
            (place.run(&["keys", "release", "shop", "done", "--who", " ", "--why", "x"]), "--who is empty"),
            (place.run(&[&["keys", "resolve", "shop", "done", "--status", "99"], &BY[..]].concat()), "200..=599"),
            (place.run(&["keys", "show", "hex:0", "done"]), "two hexadecimal digits"),
            (place.run(&["keys", "release", "shop", "done"]), "--who"),
        ] {
            let refused = refused.unwrap_err();
            assert!(refused.contains(what), "{what}: {refused}");
        }
        assert!(release("abandoned").unwrap()[0].contains("the key is free"));
    }

    /// Nothing is created for whoever mistypes an address.
    fn an_empty_database_stays_empty(place) {
        let refused = place.run(&["keys", "list"]).unwrap_err();
        assert!(refused.contains("samekey migrate"), "{refused}");
        assert!(place.run(&[&["keys", "release", "shop", "k"], &BY[..]].concat()).unwrap_err().contains("samekey migrate"));
    }
}
