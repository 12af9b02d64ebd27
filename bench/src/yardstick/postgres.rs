//! PostgreSQL's own load generator with the four-statement transaction.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, Postgres};

use crate::load::PAYLOAD;

const DATABASE: &str = "yardstick";

const TABLES: &str = "
create table messages (id bigserial primary key, payload jsonb not null, created_at timestamptz not null default now());
create table idempotency_keys (
  key text primary key, fingerprint bytea not null, status text not null, message_id bigint,
  created_at timestamptz not null default now());
";

/// Keys grow per client, as ours grow per connection; the fingerprint has a SHA-256's 32 bytes.
const TRANSACTION: &str = r"\set count :count + 1
\set order (:round * 100000 + :client_id) * 10000000000 + :count
BEGIN;
INSERT INTO idempotency_keys (key, fingerprint, status) VALUES ('order-' || :order::text, '\xFINGERPRINT', 'in_progress');
INSERT INTO messages (payload) VALUES ('PAYLOAD') RETURNING id AS message \gset
UPDATE idempotency_keys SET status = 'completed', message_id = :message WHERE key = 'order-' || :order::text;
COMMIT;
";

/// pgbench, 16 connections in two threads, prepared statements.
#[derive(Debug)]
pub(crate) struct Pgbench {
    postgres: Postgres,
    url: String,
    script: PathBuf,
}

impl Pgbench {
    /// Makes its own database on the same cluster.
    pub(crate) fn set_up(cluster: &Cluster, folder: &Path) -> Result<Self> {
        cluster.create_database(DATABASE)?;
        cluster.query(DATABASE, TABLES)?;
        let script = folder.join("yardstick.sql");
        // pgbench reads a colon before a letter as one of its variables; in JSON it stands before a quote.
        let transaction = TRANSACTION.replace("FINGERPRINT", &"ab".repeat(32)).replace("PAYLOAD", PAYLOAD);
        std::fs::write(&script, transaction).context("write the script")?;
        Ok(Self { postgres: cluster.postgres().clone(), url: cluster.url(DATABASE), script })
    }

    /// Transactions per second, as pgbench says, connecting not counted.
    pub(crate) fn run(&self, round: u32, length: Duration) -> Result<f64> {
        let mut pgbench = self.postgres.command("pgbench");
        pgbench.args(["--no-vacuum", "-M", "prepared", "-c", "16", "-j", "2", "-D", "count=0"]);
        pgbench.args(["-D", &format!("round={round}"), "-T", &length.as_secs().to_string()]);
        let output = pgbench.arg("-f").arg(&self.script).arg(&self.url).output().context("run pgbench")?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "pgbench failed: {}", String::from_utf8_lossy(&output.stderr));
        tps(&text).with_context(|| format!("pgbench did not say its rate:\n{text}"))
    }
}

fn tps(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("tps = "))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rate_is_found_among_what_pgbench_says() {
        let text = "latency average = 1.9 ms\ninitial connection time = 30 ms\n\
                    tps = 8123.5 (without initial connection time)\n";
        assert_eq!(super::tps(text), Some(8123.5));
    }
}
