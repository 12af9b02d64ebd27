//! The one writer: a thread that owns the connection, and what it is given to do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use samekey_core::StoreError;
use tokio::sync::{mpsc, oneshot};

use crate::checkpoint::Checkpointer;
use crate::clock::{self, Anchor, Correction};
use crate::{OldSchema, error};

/// Jobs that may wait; whoever brings more waits for room.
const MAX_WAITING: usize = 1_024;
/// Jobs in one commit.
const MAX_GROUP: usize = 256;
/// How often another process's transaction is waited for, and how long each time: 5 s in all.
const MAX_WAITS: i32 = 10_000;
const WAIT: Duration = Duration::from_micros(500);

/// A transaction that a job runs in. Nobody else writes meanwhile, so what is read in it still holds when it is changed.
/// Its hot statements have no RETURNING: SQLite gathers those rows in a temporary table, which costs more than the
/// statement.
pub(crate) struct Turn<'c> {
    pub(crate) db: &'c Transaction<'c>,
    /// The database's time, in milliseconds; one for the whole group.
    pub(crate) now: i64,
}

impl Turn<'_> {
    /// Reserves this many fencing tokens; gives the first of them.
    pub(crate) fn tokens(&self, count: usize) -> Result<i64, StoreError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.execute("UPDATE meta SET token = token + ?1", [count])?;
        let last: i64 = self
            .db
            .prepare_cached("SELECT token FROM meta")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(error::of)?;
        Ok(last - count + 1)
    }

    /// Runs a statement that changes rows; says how many.
    pub(crate) fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, StoreError> {
        self.db.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(error::of)
    }
}

/// A job that waits for its turn and its commit.
trait Job: Send {
    /// Does the work; on an error, what it did is rolled back.
    fn run(&mut self, turn: &Turn<'_>) -> Result<(), ()>;
    /// The group was committed, or not.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Pending<F, T> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> Job for Pending<F, T>
where
    F: FnOnce(&Turn<'_>) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn run(&mut self, turn: &Turn<'_>) -> Result<(), ()> {
        let Some(work) = self.work.take() else { return Err(()) };
        // A panic would end the thread, and with it every later write of the process.
        let result = catch_unwind(AssertUnwindSafe(|| work(turn)))
            .unwrap_or_else(|_| Err(StoreError::Refused { source: "a fault of our own in a job".into() }));
        let kept = result.as_ref().map(drop).map_err(drop);
        self.result = Some(result);
        kept
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (self.result, committed) {
            // It failed by itself; whether its neighbours were committed is not its business.
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(error::away("the job was not run")),
        };
        // Nobody waits any more; the work stands all the same.
        let _ = self.reply.send(result);
    }
}

/// Hands jobs to the writer's thread. The thread ends when the last handle is gone and no job waits.
#[derive(Clone)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        let mut checkpointer = Checkpointer::start(path)?;
        thread::Builder::new()
            .name("samekey-sqlite".to_owned())
            .spawn(move || write(connection, waiting, &mut checkpointer))
            .map_err(|error| error::away(error.to_string()))?;
        Ok(Self { jobs })
    }

    /// Runs `work` in a transaction and answers once it is on disk.
    ///
    /// # Errors
    /// The work's own; [`StoreError::Away`] where the commit failed: then nothing was written.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Turn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, replied) = oneshot::channel();
        let job = Box::new(Pending { work: Some(work), result: None, reply });
        self.jobs.send(job).await.map_err(|_| error::away("the writer's thread has ended"))?;
        replied.await.unwrap_or_else(|_| Err(error::away("the writer's thread has ended")))
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// The connection that writes.
pub(crate) fn connect(path: &Path, old: OldSchema) -> Result<Connection, StoreError> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if old == OldSchema::Migrate {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    } else if !path.exists() {
        return Err(StoreError::Schema(format!(
            "there is no file {}: run `samekey migrate --database sqlite:{}`",
            path.display(),
            path.display()
        )));
    }
    #[allow(unused_mut, reason = "newer releases of rusqlite ask for it here")]
    let mut connection = Connection::open_with_flags(path, flags).map_err(error::of)?;
    connection.busy_handler(Some(wait_for_turn)).map_err(error::of)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// SQLite's own handler waits longer and longer, up to 100 ms, and so hardly ever looks in the moment between two
/// transactions of a busy process: that process would go on for ever. Short, even waits give everybody a turn.
fn wait_for_turn(waits: i32) -> bool {
    thread::sleep(WAIT);
    waits < MAX_WAITS
}

/// What the writer needs of its connection; said after the file was recognised as ours.
pub(crate) fn set_up(connection: &Connection) -> Result<(), StoreError> {
    // The checkpointer's connection checkpoints, so that a commit never waits for it.
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -32000;",
        )
        .map_err(error::of)
}

fn write(
    mut connection: Connection,
    mut waiting: mpsc::Receiver<Box<dyn Job>>,
    checkpointer: &mut Checkpointer,
) {
    let mut group: Vec<Box<dyn Job>> = Vec::new();
    while let Some(first) = waiting.blocking_recv() {
        group.push(first);
        while group.len() < MAX_GROUP
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
        let committed = write_group(&mut connection, &mut group);
        for job in group.drain(..) {
            job.answer(committed.as_ref().copied().map_err(repeated));
        }
        checkpointer.wrote(&connection);
    }
}

/// One error for every job of a group.
fn repeated(error: &StoreError) -> StoreError {
    match error {
        StoreError::Busy { source } => StoreError::Busy { source: source.to_string().into() },
        StoreError::Unreadable(what) => StoreError::Unreadable(what.clone()),
        other => error::away(other.to_string()),
    }
}

/// # Guarantees
/// All jobs that succeeded are on disk when this returns `Ok`, and none of them when it returns an error. A crash in here
/// leaves the file as it was before, or, after the commit, as it is afterwards; nobody was answered.
fn write_group(connection: &mut Connection, group: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(error::of)?;
    let turn = Turn { db: &transaction, now: tell_time(&transaction)? };
    if let [only] = group {
        if only.run(&turn).is_err() {
            return transaction.rollback().map_err(error::of);
        }
    } else {
        for job in group {
            transaction.execute_batch("SAVEPOINT job").map_err(error::of)?;
            if job.run(&turn).is_err() {
                transaction.execute_batch("ROLLBACK TO job").map_err(error::of)?;
            }
            transaction.execute_batch("RELEASE job").map_err(error::of)?;
        }
    }
    transaction.commit().map_err(error::of)
}

/// The database's time; corrects the clock on the way.
pub(crate) fn tell_time(db: &Connection) -> Result<i64, StoreError> {
    let anchor = read_anchor(db)?;
    let reading = clock::read();
    let anchor = match anchor.correct(&reading) {
        Correction::Keep => anchor,
        Correction::Slew(slewed) => keep_anchor(db, slewed)?,
        Correction::NewBoot(anchored) => {
            let now = anchored.wall_ms;
            // Every process of the old boot is gone: so are its leases.
            db.execute("UPDATE record SET lease_until = ?1 WHERE state = 1 AND lease_until > ?1", [now])
                .map_err(error::of)?;
            db.execute("UPDATE delivery SET wake_at = ?1 WHERE state = 2 AND wake_at > ?1", [now])
                .map_err(error::of)?;
            keep_anchor(db, anchored)?
        }
    };
    Ok(anchor.now(&reading))
}

pub(crate) fn read_anchor(db: &Connection) -> Result<Anchor, StoreError> {
    db.prepare_cached("SELECT boot, wall_ms, boot_ms, rate_ppm FROM meta")
        .and_then(|mut statement| {
            statement.query_row([], |row| {
                Ok(Anchor {
                    boot: row.get(0)?,
                    wall_ms: row.get(1)?,
                    boot_ms: row.get(2)?,
                    rate_ppm: row.get(3)?,
                })
            })
        })
        .map_err(error::of)
}

fn keep_anchor(db: &Connection, anchor: Anchor) -> Result<Anchor, StoreError> {
    db.execute(
        "UPDATE meta SET boot = ?1, wall_ms = ?2, boot_ms = ?3, rate_ppm = ?4",
        (&anchor.boot, anchor.wall_ms, anchor.boot_ms, anchor.rate_ppm),
    )
    .map_err(error::of)?;
    Ok(anchor)
}

/// The write-ahead log beside the file.
pub(crate) fn wal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

#[cfg(test)]
mod tests {
    use crate::Sqlite;

    #[tokio::test]
    async fn a_panic_in_a_job_is_its_own_business() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::migrate(folder.path().join("s.db")).await.unwrap();
        let panicked: Result<(), _> = store
            .writer
            .run(|turn| {
                turn.execute("INSERT INTO project (name, created_at) VALUES ('half', 0)", [])?;
                panic!("on purpose")
            })
            .await;
        assert!(panicked.is_err());
        let names = store
            .readers
            .run(|look| Ok(look.db.query_row("SELECT count(*) FROM project", [], |row| row.get(0))));
        assert_eq!(names.await.unwrap(), Ok::<i64, _>(0), "what it had done is undone");
        store.writer.run(|turn| turn.tokens(1)).await.unwrap();
    }
}
