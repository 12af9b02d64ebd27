//! Effect, record and answer in one commit, through `rusqlite`.
#![cfg(test)]

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use samekey_core::lease::Lease;
use samekey_core::record::RecordState;
use samekey_core::store::{ClaimRequest, Claimed, Held, RecipeId, Records as _, Write as _};
use samekey_core::{Answer, Fingerprint, Key, Scope, StoreError};
use samekey_sqlite::Sqlite;
use uuid::Uuid;

struct Place {
    store: Sqlite,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

async fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Sqlite::migrate(&path).await.unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE note (text TEXT)").unwrap();
    Place { store, path, _folder: folder }
}

impl Place {
    async fn held(&self, wish: &ClaimRequest) -> Held {
        let Claimed::Won(claim) = self.store.claim(vec![wish.clone()]).await.unwrap().remove(0) else {
            panic!("it was there before")
        };
        Held { scope: wish.scope.clone(), key: wish.key.clone(), token: claim.token }
    }

    async fn state(&self, wish: &ClaimRequest) -> Option<RecordState> {
        self.store.load(&wish.scope, &wish.key).await.unwrap().map(|record| record.state)
    }

    fn notes(&self) -> i64 {
        let connection = Connection::open(&self.path).unwrap();
        connection.query_row("SELECT count(*) FROM note", [], |row| row.get(0)).unwrap()
    }
}

fn wish(number: u128) -> ClaimRequest {
    ClaimRequest {
        scope: Scope::new("t").unwrap(),
        key: Key::new(&format!("k{number}")).unwrap(),
        claim: Uuid::from_u128(number),
        fingerprint: Fingerprint::from_stored([1; 32]),
        recipe: RecipeId(1),
        lease: Lease::new(Duration::from_secs(60)).unwrap(),
        retention: Duration::from_secs(60),
        tombstone: Duration::from_secs(60),
    }
}

fn insert(db: &Connection) -> rusqlite::Result<usize> {
    db.execute("INSERT INTO note VALUES ('x')", [])
}

#[tokio::test]
async fn work_commits_with_its_record() {
    let place = place().await;
    let held = place.held(&wish(1)).await;
    let written = place.store.write(Some(&held), |tx| insert(tx).map(|rows| (Answer::bare(201), rows))).await;
    assert_eq!(written.unwrap().unwrap(), 1);
    let record = place.store.load(&held.scope, &held.key).await.unwrap().unwrap();
    assert_eq!((record.state, record.answer), (RecordState::Completed, Some(Answer::bare(201))));
    assert_eq!(place.notes(), 1);
}

#[tokio::test]
async fn work_that_says_no_leaves_nothing_and_spares_its_neighbours() {
    let place = place().await;
    let held: Vec<_> = [place.held(&wish(1)).await, place.held(&wish(2)).await].into();
    let no = place.store.write(Some(&held[0]), |tx| {
        insert(tx).unwrap();
        Err::<(Answer, ()), _>("no")
    });
    let yes = place.store.write(Some(&held[1]), |tx| insert(tx).map(|rows| (Answer::bare(201), rows)));
    let (no, yes) = tokio::join!(no, yes);
    assert_eq!((no.unwrap(), yes.unwrap()), (Err("no"), Ok(1)));
    assert_eq!(place.state(&wish(1)).await, Some(RecordState::InProgress));
    assert_eq!(place.notes(), 1);
}

#[tokio::test]
async fn work_that_panics_panics_where_it_is_waited_for() {
    let place = place().await;
    let held = place.held(&wish(1)).await;
    let store = place.store.clone();
    let same = held.clone();
    let work = tokio::spawn(async move {
        store.write(Some(&same), |tx| -> Result<(Answer, ()), ()> { panic!("{}", insert(tx).unwrap()) }).await
    });
    assert!(work.await.unwrap_err().is_panic());
    assert_eq!((place.state(&wish(1)).await, place.notes()), (Some(RecordState::InProgress), 0));
    place.store.complete(&held, &Answer::bare(200)).await.unwrap();
}

#[tokio::test]
async fn a_lost_claim_takes_the_effect_with_it() {
    let place = place().await;
    let held = place.held(&wish(1)).await;
    place.store.fence(&held, wish(1).lease).await.unwrap().unwrap();
    let written = place.store.write(Some(&held), |tx| insert(tx).map(|rows| (Answer::bare(201), rows))).await;
    assert!(matches!(written, Err(StoreError::ClaimLost)));
    let mut connection = Connection::open(&place.path).unwrap();
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    insert(&tx).unwrap();
    let completed = place.store.complete_blocking(tx, &held, &Answer::bare(201));
    assert!(matches!(completed, Err(StoreError::ClaimLost)));
    assert_eq!(place.notes(), 0);
}

#[tokio::test]
async fn a_connection_of_ones_own_claims_and_completes() {
    let place = place().await;
    let mut connection = Connection::open(&place.path).unwrap();
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let Claimed::Won(claim) = place.store.claim_blocking(&tx, &wish(1)).unwrap() else { panic!("new") };
    insert(&tx).unwrap();
    let held = Held { scope: wish(1).scope, key: wish(1).key, token: claim.token };
    place.store.complete_blocking(tx, &held, &Answer::bare(201)).unwrap();
    assert_eq!((place.state(&wish(1)).await, place.notes()), (Some(RecordState::Completed), 1));
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    assert!(matches!(place.store.claim_blocking(&tx, &wish(1)).unwrap(), Claimed::Met(_)));
}
