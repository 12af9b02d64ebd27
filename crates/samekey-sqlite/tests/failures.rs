//! What SQLite alone can do: a job that fails beside others, the file's own integrity. (A full disk needs a process of its
//! own: see the service's tests.)
#![cfg(test)]

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use rusqlite::Connection;
use samekey_core::derived::Identity;
use samekey_core::message::{Accepted, ChannelKind, MessageId, MessageKey, NewMessage};
use samekey_core::store::{Messages as _, Projects as _, RecipeId};
use samekey_core::tenant::ProjectId;
use samekey_core::{Effect, Fingerprint, Key, StoreError, UnixMs};
use samekey_sqlite::Sqlite;

struct Place {
    store: Sqlite,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

async fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    Place { store: Sqlite::migrate(&path).await.unwrap(), path, _folder: folder }
}

fn message(number: u16, key: &str, payload: usize) -> NewMessage {
    let mut random = [0; 10];
    random[8..].copy_from_slice(&number.to_be_bytes());
    let id = MessageId::mint(UnixMs(1_796_083_200_000), random);
    NewMessage {
        id,
        project: ProjectId(1),
        channel: ChannelKind::Email,
        key: Some(MessageKey {
            key: Key::new(key).unwrap(),
            fingerprint: Fingerprint::from_stored([1; 32]),
            recipe: RecipeId(1),
            retention: Duration::from_secs(60),
            tombstone: Duration::from_secs(60),
        }),
        identity: Identity::unkeyed(id.0.as_bytes()),
        sender: None,
        payload: Bytes::from(vec![b'x'; payload]),
        send_at: None,
        expires_at: None,
    }
}

/// The jobs of one group: the writer is held up until all of them wait, so they really share a commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_does_not_take_its_neighbours_down() {
    let place = place().await;
    let mut other = Connection::open(&place.path).unwrap();
    other
        .execute_batch("CREATE TRIGGER refuse BEFORE INSERT ON message WHEN NEW.key = x'626164' BEGIN SELECT RAISE(ABORT, 'no'); END")
        .unwrap();
    let holding = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let jobs: Vec<_> = ["a", "bad", "b", "c"]
        .into_iter()
        .zip(1..)
        .map(|(key, number)| {
            let store = place.store.clone();
            tokio::spawn(async move { store.accept(vec![message(number, key, 10)]).await })
        })
        .collect();
    holding.commit().unwrap();
    let mut results = Vec::new();
    for job in jobs {
        results.push(job.await.unwrap());
    }
    assert!(matches!(&results[1], Err(StoreError::Refused { .. })), "{:?}", results[1]);
    for good in [0, 2, 3] {
        assert_eq!(results[good].as_ref().unwrap(), &[Accepted::Fresh]);
    }
    let keys: i64 = other.query_row("SELECT count(*) FROM message_key", [], |row| row.get(0)).unwrap();
    assert_eq!(keys, 3, "the key of the one that failed is free");
}

#[tokio::test]
async fn the_file_is_sound_and_its_log_is_bounded() {
    let place = place().await;
    for round in 0..40_u16 {
        let batch: Vec<_> =
            (0..32).map(|n| message(round * 32 + n, &format!("k{round}-{n}"), 20_000)).collect();
        place.store.accept(batch).await.unwrap();
    }
    let log = std::fs::metadata(place.path.with_extension("db-wal")).unwrap().len();
    assert!(log < 260 << 20, "{log} bytes");
    let other = Connection::open(&place.path).unwrap();
    let verdict: String = other.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let journal: String = other.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal");
    place.store.ping().await.unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_away_and_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Sqlite::migrate(folder.path().join("no/such/folder/s.db")).await.map(drop).unwrap_err();
    assert!(
        matches!(missing, StoreError::Away { effect: Effect::NotApplied, .. } | StoreError::Schema(_)),
        "{missing:?}"
    );
    let place = place().await;
    assert!(place.store.create_project("p").await.unwrap().is_some());
}
