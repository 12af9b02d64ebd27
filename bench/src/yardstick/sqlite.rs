//! A bare loop on SQLite: the same four statements, one commit per request, nothing around them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rusqlite::{Connection, params};

use crate::load::PAYLOAD;

const TABLES: &str = "
create table messages (id integer primary key, payload blob not null, created_at integer not null) strict;
create table idempotency_keys (
  key text primary key, fingerprint blob not null, status text not null, message_id integer,
  created_at integer not null) strict;
";

const INSERT_KEY: &str = "insert into idempotency_keys (key, fingerprint, status, created_at)
    values (?1, ?2, 'in_progress', unixepoch())";
const INSERT_MESSAGE: &str = "insert into messages (payload, created_at) values (?1, unixepoch())";
const UPDATE_KEY: &str = "update idempotency_keys set status = 'completed', message_id = ?2 where key = ?1";

/// One connection, one thread.
#[derive(Debug)]
pub(crate) struct Loop {
    connection: Connection,
}

impl Loop {
    pub(crate) fn set_up(folder: &Path) -> Result<Self> {
        let connection = Connection::open(folder.join("yardstick.db"))?;
        let mode: String = connection.query_row("pragma journal_mode = wal", [], |row| row.get(0))?;
        ensure!(mode == "wal", "the write-ahead log cannot be used here, but {mode}");
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(TABLES)?;
        Ok(Self { connection })
    }

    /// Transactions per second.
    pub(crate) fn run(&self, round: u32, length: Duration) -> Result<f64> {
        let (begun, mut count) = (Instant::now(), 0_u64);
        while begun.elapsed() < length {
            count += 1;
            self.accept(&format!("order-{round}-0-{count:010}"))?;
        }
        Ok(count as f64 / begun.elapsed().as_secs_f64())
    }

    fn accept(&self, key: &str) -> Result<()> {
        let statement = |sql| self.connection.prepare_cached(sql);
        statement("begin immediate")?.execute([])?;
        statement(INSERT_KEY)?.execute(params![key, [0xab_u8; 32]])?;
        statement(INSERT_MESSAGE)?.execute([PAYLOAD.as_bytes()])?;
        statement(UPDATE_KEY)?.execute(params![key, self.connection.last_insert_rowid()])?;
        statement("commit")?.execute([])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Loop;

    #[test]
    fn every_request_leaves_a_key_that_names_its_message() {
        let folder = tempfile::tempdir().unwrap();
        let raw = Loop::set_up(folder.path()).unwrap();
        assert!(raw.run(1, Duration::from_millis(1)).unwrap() > 0.0);
        let sql = "select count(*) from idempotency_keys k join messages m on m.id = k.message_id
                   where k.status = 'completed'";
        let named: i64 = raw.connection.query_row(sql, [], |row| row.get(0)).unwrap();
        let all: i64 =
            raw.connection.query_row("select count(*) from messages", [], |row| row.get(0)).unwrap();
        assert!(all > 0 && named == all);
    }
}
