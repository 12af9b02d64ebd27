//! What ours is measured against: the four statements that a careful hand would write, one commit per request.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::time::Duration;

use anyhow::Result;

use crate::subject::Subject;

/// The yardstick of one store, its tables made.
#[derive(Debug)]
pub(crate) enum Yardstick {
    Postgres(postgres::Pgbench),
    Sqlite(sqlite::Loop),
}

impl Yardstick {
    /// The one for the store that `subject` stands on, beside it on the same cluster or disk.
    pub(crate) fn beside(subject: &Subject) -> Result<Self> {
        match &subject.cluster {
            Some(cluster) => Ok(Self::Postgres(postgres::Pgbench::set_up(cluster, subject.folder.path())?)),
            None => Ok(Self::Sqlite(sqlite::Loop::set_up(subject.folder.path())?)),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "pgbench",
            Self::Sqlite(_) => "raw loop",
        }
    }

    /// Transactions per second over `length`.
    pub(crate) fn run(&self, round: u32, length: Duration) -> Result<f64> {
        match self {
            Self::Postgres(pgbench) => pgbench.run(round, length),
            Self::Sqlite(raw) => raw.run(round, length),
        }
    }
}
