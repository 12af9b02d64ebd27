//! How many messages are delivered per second, against how many were accepted.
//!
//! A dispatcher that is slower than the accepting side lets the queue grow for as long as the load lasts. The provider
//! does nothing, so what is measured is ours: take, note the attempt, finish.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, OpenFlags};
use testbed::{Cluster, Error, Lines, Process, Stop};

use crate::accept::{Length, accept, print_heading};
use crate::proc;
use crate::subject::{DATABASE, Store, Subject};

/// More than any machine takes for what it accepted in a phase.
const LIMIT: Duration = Duration::from_secs(600);

/// Between two looks at the database: a hundredth of what a phase lasts, and cheap.
const LOOK: Duration = Duration::from_millis(50);

/// Accepts for the length of one phase, then delivers all of it.
pub(crate) fn measure(store: Store, length: &Length) -> Result<()> {
    let subject = Subject::install(store)?;
    print_heading(&subject, length, "the accepted rate of this run");
    let phase = accept(&subject, length, 1)?;
    phase.print(1);
    subject.checkpoint()?;

    let mut queue = Queue::of(&subject)?;
    let begun = Instant::now();
    let (mut dispatcher, _lines) = Process::spawn(&mut subject.dispatch(), Stop::Kill, &[])?;
    queue.wait_until_empty(&mut dispatcher)?;
    let elapsed = begun.elapsed();
    let cpu = proc::cpu_seconds(dispatcher.pid())?;
    dispatcher.terminate(LIMIT)?;

    let (accepted, sent) = (phase.load.accepted(), queue.sent()?);
    ensure!(sent == accepted, "{accepted} were accepted, {sent} are sent:\n{}", dispatcher.stderr());
    let (delivered, accepted) = (sent as f64 / elapsed.as_secs_f64(), phase.load.per_second());
    println!("{:<10} {:>5} {delivered:>12.0} {:>32.2}", "dispatch", 1, cpu);
    println!("{sent} messages delivered in {:.2} s, start included", elapsed.as_secs_f64());
    println!("ratio={:.2}", delivered / accepted);
    Ok(())
}

/// The service's own tables, looked at from outside.
enum Queue<'a> {
    Postgres { cluster: &'a Cluster, watch: Process, lines: Lines },
    Sqlite(Connection),
}

/// Whether anything is still to be done: one row is enough to know, counting them would cost what is measured.
const WATCH: &str = r"set enable_seqscan = off;
select exists (select from samekey.delivery where wake_at is not null)
\watch 0.05
";

impl<'a> Queue<'a> {
    fn of(subject: &'a Subject) -> Result<Self> {
        match &subject.cluster {
            Some(cluster) => Self::watch_postgres(cluster, subject),
            None => {
                let path = subject.database.strip_prefix("sqlite:").context("a database in a file")?;
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
                Ok(Self::Sqlite(Connection::open_with_flags(Path::new(path), flags)?))
            }
        }
    }

    /// One psql that looks again and again, since starting one for each look would cost what is measured.
    fn watch_postgres(cluster: &'a Cluster, subject: &Subject) -> Result<Self> {
        let script = subject.folder.path().join("watch.sql");
        std::fs::write(&script, WATCH).context("write the script")?;
        let mut psql = cluster.postgres().command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-d", &subject.database, "-f"]).arg(script);
        let (watch, lines) = Process::spawn(&mut psql, Stop::Kill, &[])?;
        Ok(Self::Postgres { cluster, watch, lines })
    }

    fn is_empty(&mut self) -> Result<bool> {
        match self {
            Self::Postgres { watch, lines, .. } => {
                let answer =
                    watch.wait_for(lines, "see the end", Duration::ZERO, |line| (line == "f").then_some(()));
                match answer {
                    Ok(()) => Ok(true),
                    Err(Error::TimedOut { .. }) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }
            Self::Sqlite(connection) => {
                let sql = "select not exists (select 1 from delivery where wake_at is not null)";
                Ok(connection.query_row(sql, [], |row| row.get(0))?)
            }
        }
    }

    fn sent(&self) -> Result<u64> {
        match self {
            Self::Postgres { cluster, .. } => {
                let sql = "select count(*) from samekey.delivery where state = 3";
                cluster.query(DATABASE, sql)?.parse().context("a count")
            }
            Self::Sqlite(connection) => {
                let sql = "select count(*) from delivery where state = 3";
                let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
                Ok(u64::try_from(count)?)
            }
        }
    }

    fn wait_until_empty(&mut self, dispatcher: &mut Process) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        while !self.is_empty()? {
            ensure!(Instant::now() < deadline, "not delivered in {LIMIT:?}:\n{}", dispatcher.stderr());
            if let Ok(status) = dispatcher.wait(LOOK) {
                bail!("the dispatcher ended with {status}:\n{}", dispatcher.stderr());
            }
        }
        Ok(())
    }
}
