//! A record inside a transaction of `sqlx` on the same file: effect, state and answer stand or fall together.
#![cfg(test)]

use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::record::RecordState;
use samekey_core::store::{ClaimRequest, Claimed, Dialect as _, Held, Join, RecipeId, Records as _, Value};
use samekey_core::{Answer, FencingToken, Fingerprint, Key, Scope, StoreError};
use samekey_sqlx::sqlite::Sqlite;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Acquire as _, SqlitePool};
use uuid::Uuid;

/// Longer than anything here takes.
const PATIENT: Duration = Duration::from_secs(30);

struct Place {
    store: Sqlite,
    pool: SqlitePool,
    _folder: tempfile::TempDir,
}

async fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Sqlite::migrate(&path).await.unwrap();
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&path)).await.unwrap();
    sqlx::raw_sql("CREATE TABLE note (text TEXT)").execute(&pool).await.unwrap();
    Place { store, pool, _folder: folder }
}

impl Place {
    async fn notes(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM note").fetch_one(&self.pool).await.unwrap()
    }

    async fn state(&self) -> Option<RecordState> {
        self.store.load(&wish(1).scope, &wish(1).key).await.unwrap().map(|record| record.state)
    }

    async fn leased(&self) -> Held {
        match self.store.claim(vec![wish(1)]).await.unwrap().remove(0) {
            Claimed::Won(claim) => held(claim.token),
            Claimed::Met(record) => panic!("met {record:?}"),
        }
    }
}

fn wish(number: u128) -> ClaimRequest {
    ClaimRequest {
        scope: Scope::new("t").unwrap(),
        key: Key::new("k").unwrap(),
        claim: Uuid::from_u128(number),
        fingerprint: Fingerprint::from_stored([1; 32]),
        recipe: RecipeId(1),
        lease: Lease::new(Duration::from_secs(60)).unwrap(),
        retention: Duration::from_secs(60),
        tombstone: Duration::from_secs(60),
    }
}

fn held(token: FencingToken) -> Held {
    Held { scope: wish(1).scope, key: wish(1).key, token }
}

async fn note<Tx: Join<Sqlite>>(tx: &mut Tx) {
    tx.execute("INSERT INTO note VALUES (?1)", &[Value::Text("x")]).await.unwrap();
}

#[tokio::test]
async fn effect_record_and_answer_commit_together() {
    let place = place().await;
    let mut tx = place.pool.begin().await.unwrap();
    let token = place.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap().unwrap();
    note(&mut tx).await;
    assert_eq!(place.state().await, None, "nothing is to be seen before the commit");
    place.store.complete_within(tx, &held(token), &Answer::bare(201)).await.unwrap();
    let record = place.store.load(&wish(1).scope, &wish(1).key).await.unwrap().unwrap();
    assert_eq!((record.state, record.answer), (RecordState::Completed, Some(Answer::bare(201))));
    assert_eq!(place.notes().await, 1);
}

#[tokio::test]
async fn a_transaction_that_was_not_completed_leaves_neither_effect_nor_claim() {
    let place = place().await;
    let mut tx = place.pool.begin().await.unwrap();
    assert!(place.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap().is_some());
    note(&mut tx).await;
    drop(tx);
    assert_eq!((place.state().await, place.notes().await), (None, 0));
}

#[tokio::test]
async fn a_lost_claim_takes_the_effect_with_it() {
    let place = place().await;
    let mine = place.leased().await;
    place.store.fence(&mine, wish(1).lease).await.unwrap().unwrap();
    let mut tx = place.pool.begin().await.unwrap();
    note(&mut tx).await;
    let error = place.store.complete_within(tx, &mine, &Answer::bare(201)).await.unwrap_err();
    assert!(matches!(error, StoreError::ClaimLost), "{error}");
    assert_eq!((place.state().await, place.notes().await), (Some(RecordState::InProgress), 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_waits_and_finds_the_record_after_the_others_commit() {
    let place = place().await;
    let mut first = place.pool.begin().await.unwrap();
    let token = place.store.claim_within(&mut first, &wish(1), PATIENT).await.unwrap().unwrap();
    let (store, pool) = (place.store.clone(), place.pool.clone());
    // SQLite tells nobody who waits: the second may come after the commit, and must hear the same.
    let waiter = tokio::spawn(async move {
        let mut second = pool.begin().await.unwrap();
        store.claim_within(&mut second, &wish(2), PATIENT).await.unwrap()
    });
    place.store.complete_within(first, &held(token), &Answer::bare(201)).await.unwrap();
    assert_eq!(waiter.await.unwrap(), None);
}

#[tokio::test]
async fn a_wait_is_bounded() {
    let place = place().await;
    let mut first = place.pool.begin().await.unwrap();
    place.store.claim_within(&mut first, &wish(1), PATIENT).await.unwrap().unwrap();
    let mut second = place.pool.begin().await.unwrap();
    let waited = place.store.claim_within(&mut second, &wish(2), Duration::from_millis(50)).await;
    assert!(matches!(waited, Err(StoreError::Busy { .. })), "{waited:?}");
}

#[tokio::test]
async fn a_savepoint_is_refused() {
    let place = place().await;
    let mine = place.leased().await;
    let mut outer = place.pool.begin().await.unwrap();
    let mut inner = outer.begin().await.unwrap();
    note(&mut inner).await;
    let error = place.store.complete_within(inner, &mine, &Answer::bare(201)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    outer.commit().await.unwrap();
    assert_eq!((place.state().await, place.notes().await), (Some(RecordState::InProgress), 0));
    // The connection, the pool's only one so far, is none the worse for it.
    let mut next = place.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    note(&mut next).await;
    place.store.complete_within(next, &mine, &Answer::bare(201)).await.unwrap();
    assert_eq!(place.notes().await, 1);
}

#[tokio::test]
async fn an_own_claim_is_won_again_and_a_leftover_makes_room() {
    let place = place().await;
    let mine = place.leased().await;
    let mut tx = place.pool.begin().await.unwrap();
    assert_eq!(place.store.claim_within(&mut tx, &wish(1), PATIENT).await.unwrap(), Some(mine.token));
    assert_eq!(place.store.claim_within(&mut tx, &wish(2), PATIENT).await.unwrap(), None);
    tx.rollback().await.unwrap();
    place.store.complete(&mine, &Answer::bare(200)).await.unwrap();
    sqlx::raw_sql("UPDATE record SET expires_at = 1, purge_at = 1").execute(&place.pool).await.unwrap();
    let mut tx = place.pool.begin().await.unwrap();
    assert!(place.store.claim_within(&mut tx, &wish(2), PATIENT).await.unwrap().is_some());
}
