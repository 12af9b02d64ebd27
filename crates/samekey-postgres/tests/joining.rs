//! A record inside a transaction of the user's: effect, state and answer stand or fall together. Every case runs twice,
//! directly and behind a pooler in transaction mode.
#![cfg(test)]

use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::record::RecordState;
use samekey_core::store::{ClaimRequest, Claimed, Dialect as _, Held, Join, Records as _, Value};
use samekey_core::{Answer, Effect, FencingToken, Key, Recipe, Scope, StoreError};
use samekey_postgres::{Options, Postgres};
use testbed::Pooler;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// Longer than anything here takes.
const PATIENT: Duration = Duration::from_secs(30);
const IMPATIENT: Duration = Duration::from_millis(50);
const HOUR: Duration = Duration::from_secs(3_600);

/// The store, and where the user's own connections lead.
struct Bench {
    store: Postgres,
    direct: String,
    pooler: Option<Pooler>,
}

impl Bench {
    async fn directly(case: &str) -> Self {
        let direct = testbed::database(case);
        let store = Postgres::migrate(&Options::from_url(&direct).unwrap()).await.unwrap();
        let table =
            "CREATE TABLE note (text text, needs int REFERENCES note_kind DEFERRABLE INITIALLY DEFERRED)";
        for sql in ["CREATE TABLE note_kind (id int PRIMARY KEY)", table] {
            testbed::Postgres::find().unwrap().query(&direct, sql).unwrap();
        }
        Self { store, direct, pooler: None }
    }

    async fn behind_a_pooler(case: &str) -> Self {
        let bench = Self::directly(case).await;
        let pooler = Some(Pooler::before(&bench.direct).unwrap());
        Self { pooler, ..bench }
    }

    fn url(&self) -> &str {
        self.pooler.as_ref().map_or(&self.direct, Pooler::url)
    }

    /// A connection of the user's.
    async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(self.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    fn notes(&self) -> String {
        self.sql("SELECT string_agg(text, ',' ORDER BY text) FROM note")
    }

    fn sql(&self, sql: &str) -> String {
        testbed::Postgres::find().unwrap().query(&self.direct, sql).unwrap()
    }

    async fn state(&self, wish: &ClaimRequest) -> Option<RecordState> {
        self.store.load(&wish.scope, &wish.key).await.unwrap().map(|record| record.state)
    }

    /// A claim of the store's own.
    async fn leased(&self, wish: &ClaimRequest) -> Held {
        match self.store.claim(vec![wish.clone()]).await.unwrap().remove(0) {
            Claimed::Won(claim) => held(wish, claim.token),
            Claimed::Met(record) => panic!("met {record:?}"),
        }
    }

    /// Until some transaction waits for a lock.
    fn until_one_waits(&self) {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let deadline = std::time::Instant::now() + PATIENT;
        while self.sql(waiting) == "0" {
            assert!(std::time::Instant::now() < deadline, "nobody waits");
        }
    }
}

fn wish(number: u128) -> ClaimRequest {
    let body = b"a".as_slice();
    let request =
        samekey_core::fingerprint::Request { method: "POST", path: "/", query: "", content_type: "", body };
    ClaimRequest {
        scope: Scope::new("t").unwrap(),
        key: Key::new("k").unwrap(),
        claim: Uuid::from_u128(number),
        fingerprint: Recipe::raw().fingerprint(&request),
        recipe: samekey_core::store::RecipeId(1),
        lease: Lease::new(Duration::from_secs(60)).unwrap(),
        retention: HOUR,
        tombstone: HOUR,
    }
}

fn held(wish: &ClaimRequest, token: FencingToken) -> Held {
    Held { scope: wish.scope.clone(), key: wish.key.clone(), token }
}

fn answer() -> Answer {
    Answer { status: 201, ..Answer::bare(201) }
}

async fn note<Tx: Join<Postgres>>(tx: &mut Tx, text: &str) {
    tx.execute("INSERT INTO note VALUES ($1)", &[Value::Text(text)]).await.unwrap();
}

macro_rules! cases {
    ($($case:ident)*) => {
        mod directly {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::Bench::directly(stringify!($case)).await).await;
            })*
        }
        mod behind_a_pooler {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::Bench::behind_a_pooler(stringify!($case)).await).await;
            })*
        }
    };
}

cases! {
    effect_record_and_answer_commit_together
    a_transaction_that_was_not_completed_leaves_neither_effect_nor_claim
    a_leased_claim_is_completed_in_the_users_transaction
    the_pools_own_transaction_can_be_joined_too
    a_lost_claim_takes_the_effect_with_it
    a_duplicate_waits_and_wins_after_the_others_rollback
    a_duplicate_waits_and_finds_the_record_after_the_others_commit
    a_wait_is_bounded
    a_frozen_owner_is_ended_with_its_lease
    a_savepoint_is_refused
    what_the_commit_refuses_is_not_applied
    a_commit_without_an_answer_is_unknown_until_it_is_fenced
    an_own_claim_is_won_again_and_a_leftover_makes_room
    settings_of_the_transaction_stay_the_users
    a_weak_durability_is_raised_and_a_strict_idle_limit_kept
}

async fn effect_record_and_answer_commit_together(bench: Bench) {
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    let token = bench.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap().unwrap();
    note(&mut tx, "kept").await;
    assert_eq!(bench.state(&wish(1)).await, None, "nothing is to be seen before the commit");
    bench.store.complete_within(tx, &held(&wish(1), token), &answer()).await.unwrap();
    let record = bench.store.load(&wish(1).scope, &wish(1).key).await.unwrap().unwrap();
    assert_eq!((record.state, record.answer), (RecordState::Completed, Some(answer())));
    assert_eq!(bench.notes(), "kept");
}

async fn a_transaction_that_was_not_completed_leaves_neither_effect_nor_claim(bench: Bench) {
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    assert!(bench.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap().is_some());
    note(&mut tx, "gone").await;
    Join::<Postgres>::rollback(tx).await.unwrap();
    assert_eq!((bench.state(&wish(1)).await, bench.notes()), (None, String::new()));
}

async fn a_leased_claim_is_completed_in_the_users_transaction(bench: Bench) {
    let mine = bench.leased(&wish(1)).await;
    // On a task of its own, as handlers run: all of it can move between threads.
    let task = tokio::spawn(async move {
        let mut client = bench.client().await;
        let mut tx = client.transaction().await.unwrap();
        note(&mut tx, "kept").await;
        bench.store.complete_within(tx, &mine, &answer()).await.unwrap();
        bench
    });
    let bench = task.await.unwrap();
    assert_eq!((bench.state(&wish(1)).await, bench.notes()), (Some(RecordState::Completed), "kept".into()));
}

async fn the_pools_own_transaction_can_be_joined_too(bench: Bench) {
    let config = bench.url().parse().unwrap();
    let pool =
        deadpool_postgres::Pool::builder(deadpool_postgres::Manager::new(config, NoTls)).build().unwrap();
    let mut client = pool.get().await.unwrap();
    let mut tx = client.transaction().await.unwrap();
    let token = bench.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap().unwrap();
    note(&mut tx, "kept").await;
    bench.store.complete_within(tx, &held(&wish(1), token), &answer()).await.unwrap();
    assert_eq!((bench.state(&wish(1)).await, bench.notes()), (Some(RecordState::Completed), "kept".into()));
}

async fn a_lost_claim_takes_the_effect_with_it(bench: Bench) {
    let mine = bench.leased(&wish(1)).await;
    assert!(bench.store.end_lease(&mine).await.unwrap());
    bench.store.take_over(&wish(2), mine.token).await.unwrap().unwrap();
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    note(&mut tx, "gone").await;
    let error = bench.store.complete_within(tx, &mine, &answer()).await.unwrap_err();
    assert!(matches!(error, StoreError::ClaimLost), "{error}");
    assert_eq!((bench.state(&wish(1)).await, bench.notes()), (Some(RecordState::InProgress), String::new()));
    client.batch_execute("SELECT 1").await.unwrap();
}

/// The first holds the key in a transaction; the second waits for it, ends the first by `end`, and tells what it got.
async fn of_two<F>(
    bench: &Bench,
    end: impl AsyncFnOnce(tokio_postgres::Transaction<'_>, FencingToken) -> F,
) -> Option<FencingToken> {
    let (mut one, mut other) = (bench.client().await, bench.client().await);
    let mut first = one.transaction().await.unwrap();
    let token = bench.store.claim_within(&mut first, &wish(1), PATIENT).await.unwrap().unwrap();
    let store = bench.store.clone();
    let waiter = tokio::spawn(async move {
        let mut second = other.transaction().await.unwrap();
        store.claim_within(&mut second, &wish(2), PATIENT).await.unwrap()
    });
    bench.until_one_waits();
    end(first, token).await;
    waiter.await.unwrap()
}

async fn a_duplicate_waits_and_wins_after_the_others_rollback(bench: Bench) {
    let won = of_two(&bench, async |tx, _| Join::<Postgres>::rollback(tx).await.unwrap()).await;
    assert!(won.is_some());
}

async fn a_duplicate_waits_and_finds_the_record_after_the_others_commit(bench: Bench) {
    let won = of_two(&bench, async |tx, token| {
        bench.store.complete_within(tx, &held(&wish(1), token), &answer()).await.unwrap();
    })
    .await;
    assert_eq!(won, None);
    assert_eq!(bench.state(&wish(1)).await, Some(RecordState::Completed));
}

async fn a_wait_is_bounded(bench: Bench) {
    let (mut one, mut other) = (bench.client().await, bench.client().await);
    let mut first = one.transaction().await.unwrap();
    bench.store.claim_within(&mut first, &wish(1), PATIENT).await.unwrap().unwrap();
    let mut second = other.transaction().await.unwrap();
    let error = bench.store.claim_within(&mut second, &wish(2), IMPATIENT).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
}

async fn a_frozen_owner_is_ended_with_its_lease(bench: Bench) {
    let (mut one, mut other) = (bench.client().await, bench.client().await);
    let mut frozen = one.transaction().await.unwrap();
    let short = ClaimRequest { lease: Lease::new(Lease::SHORTEST).unwrap(), ..wish(1) };
    let token = bench.store.claim_within(&mut frozen, &short, PATIENT).await.unwrap().unwrap();
    note(&mut frozen, "gone").await;
    let mut second = other.transaction().await.unwrap();
    assert!(bench.store.claim_within(&mut second, &wish(2), PATIENT).await.unwrap().is_some());
    let error = bench.store.complete_within(frozen, &held(&short, token), &answer()).await.unwrap_err();
    assert_eq!(error.effect(), Effect::NotApplied, "{error}");
    assert_eq!(bench.notes(), "");
}

async fn a_savepoint_is_refused(bench: Bench) {
    let mine = bench.leased(&wish(1)).await;
    let mut client = bench.client().await;
    let mut outer = client.transaction().await.unwrap();
    note(&mut outer, "outer").await;
    let mut inner = outer.transaction().await.unwrap();
    note(&mut inner, "inner").await;
    let error = bench.store.complete_within(inner, &mine, &answer()).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    drop(outer);
    client.batch_execute("SELECT 1").await.unwrap();
    assert_eq!((bench.state(&wish(1)).await, bench.notes()), (Some(RecordState::InProgress), String::new()));
    // A savepoint that is over is none.
    let mut outer = client.transaction().await.unwrap();
    let mut inner = outer.transaction().await.unwrap();
    note(&mut inner, "inner").await;
    inner.commit().await.unwrap();
    bench.store.complete_within(outer, &mine, &answer()).await.unwrap();
    assert_eq!(bench.notes(), "inner");
}

async fn what_the_commit_refuses_is_not_applied(bench: Bench) {
    let mine = bench.leased(&wish(1)).await;
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    Join::<Postgres>::execute(&mut tx, "INSERT INTO note VALUES ('gone', 7)", &[]).await.unwrap();
    let error = bench.store.complete_within(tx, &mine, &answer()).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert_eq!((bench.state(&wish(1)).await, bench.notes()), (Some(RecordState::InProgress), String::new()));
}

async fn a_commit_without_an_answer_is_unknown_until_it_is_fenced(bench: Bench) {
    bench.sql(
        "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER die AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION die()",
    );
    let mine = bench.leased(&wish(1)).await;
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    note(&mut tx, "gone").await;
    let error = bench.store.complete_within(tx, &mine, &answer()).await.unwrap_err();
    assert_eq!(error.effect(), Effect::Unknown, "{error}");
    let fenced = bench.store.fence(&mine, wish(1).lease).await.unwrap().unwrap();
    assert!(fenced > mine.token);
    assert_eq!(bench.notes(), "");
}

async fn an_own_claim_is_won_again_and_a_leftover_makes_room(bench: Bench) {
    let mine = bench.leased(&wish(1)).await;
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    assert_eq!(bench.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap(), Some(mine.token));
    assert_eq!(bench.store.claim_within(&mut tx, &wish(2), PATIENT).await.unwrap(), None);
    tx.rollback().await.unwrap();
    bench.store.complete(&mine, &answer()).await.unwrap();
    bench.sql("UPDATE samekey.record SET expires_at = now(), purge_at = now()");
    let mut tx = client.transaction().await.unwrap();
    let token = bench.store.claim_within(&mut tx, &wish(2), PATIENT).await.unwrap().unwrap();
    bench.store.complete_within(tx, &held(&wish(2), token), &answer()).await.unwrap();
    assert_eq!(bench.sql("SELECT count(*) FROM samekey.response"), "1", "the old answer went too");
}

async fn setting<Tx: Join<Postgres>>(tx: &mut Tx, name: &str) -> String {
    tx.text("SELECT current_setting($1)", &[Value::Text(name)]).await.unwrap().unwrap()
}

async fn settings_of_the_transaction_stay_the_users(bench: Bench) {
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    tx.batch_execute("SET LOCAL lock_timeout = '7s'").await.unwrap();
    let token = bench.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap().unwrap();
    assert_eq!(setting(&mut tx, "lock_timeout").await, "7s");
    assert_eq!(setting(&mut tx, "idle_in_transaction_session_timeout").await, "1min");
    bench.store.complete_within(tx, &held(&wish(1), token), &answer()).await.unwrap();
    let mut tx = client.transaction().await.unwrap();
    assert_eq!(setting(&mut tx, "lock_timeout").await, "0");
    assert_eq!(setting(&mut tx, "idle_in_transaction_session_timeout").await, "0");
    assert_eq!(bench.store.claim_within(&mut tx, &wish(2), PATIENT).await.unwrap(), None);
    assert_eq!(setting(&mut tx, "lock_timeout").await, "0", "also after a claim that was not won");
}

async fn a_weak_durability_is_raised_and_a_strict_idle_limit_kept(bench: Bench) {
    let mut client = bench.client().await;
    let mut tx = client.transaction().await.unwrap();
    let weak = "SET LOCAL synchronous_commit = off; SET LOCAL idle_in_transaction_session_timeout = '20s'";
    tx.batch_execute(weak).await.unwrap();
    let token = bench.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap().unwrap();
    assert_eq!(setting(&mut tx, "idle_in_transaction_session_timeout").await, "20s");
    let complete = "SELECT samekey.complete($1, $2, $3, 200::smallint, ''::bytea)";
    let values = [Value::Bytes(b"t"), Value::Bytes(b"k"), Value::Big(token.0)];
    Join::<Postgres>::execute(&mut tx, complete, &values).await.unwrap();
    assert_eq!(setting(&mut tx, "synchronous_commit").await, "on");
}
