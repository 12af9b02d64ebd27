//! Sweeping: paced, in bounded batches, and never in a claim's way.

use samekey_core::store::{SweepCursor, Swept};
use samekey_core::{StoreError, UnixMs};

use crate::Postgres;
use crate::columns::column;
use crate::driver::{Driver, Durability};

impl<D: Driver> Postgres<D> {
    /// One batch. Rows that somebody holds are skipped; a batch that is lost in a crash is swept again.
    pub(crate) async fn sweep_with(
        &self,
        sql: &str,
        from: SweepCursor,
        limit: usize,
    ) -> Result<Swept, StoreError> {
        let cursor = from.0.map(|UnixMs(ms)| ms);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.connections.write(Durability::Relaxed, sql, values![cursor, limit]).await?;
        let Some(row) = rows.first() else { return Ok(Swept { removed: 0, cursor: from }) };
        let removed = usize::try_from(column::<i64>(row, "removed")?).unwrap_or_default();
        let cursor = column::<Option<i64>>(row, "cursor_ms")?.map(UnixMs).or(from.0);
        Ok(Swept { removed, cursor: SweepCursor(cursor) })
    }
}
