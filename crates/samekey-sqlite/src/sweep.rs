//! Sweeping: paced, in bounded batches, and never in a claim's way.

use samekey_core::store::{SweepCursor, Swept};
use samekey_core::{StoreError, UnixMs};

use crate::writer::Turn;
use crate::{Sqlite, error};

/// What is swept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    Records,
    MessageKeys,
}

impl Kept {
    /// The ids and times of what is past its time, oldest first. Of the records: completed ones, and those that nobody came
    /// back for and that have begun no step.
    fn old(self) -> &'static str {
        match self {
            Self::Records => {
                "SELECT id, purge_at FROM record WHERE purge_at >= ?1 AND purge_at <= ?2
                    AND (state = 2 OR (state = 1 AND lease_until <= ?2 AND steps_begun = 0))
                  ORDER BY purge_at LIMIT ?3"
            }
            Self::MessageKeys => {
                "SELECT id, purge_at FROM message_key WHERE purge_at >= ?1 AND purge_at <= ?2 ORDER BY purge_at LIMIT ?3"
            }
        }
    }

    fn remove(self, turn: &Turn<'_>, id: i64) -> Result<(), StoreError> {
        match self {
            Self::Records => remove_record(turn, id)?,
            Self::MessageKeys => {
                turn.execute("DELETE FROM message_key WHERE id = ?1", [id])?;
            }
        }
        Ok(())
    }
}

/// Nothing of a record stays.
pub(crate) fn remove_record(turn: &Turn<'_>, id: i64) -> Result<(), StoreError> {
    turn.execute("DELETE FROM step WHERE record = ?1", [id])?;
    turn.execute("DELETE FROM resolution WHERE record = ?1", [id])?;
    turn.execute("DELETE FROM record WHERE id = ?1", [id])?;
    Ok(())
}

fn sweep(turn: &Turn<'_>, kept: Kept, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
    let since = from.0.map_or(i64::MIN, |UnixMs(ms)| ms);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = turn.db.prepare_cached(kept.old()).map_err(error::of)?;
    let old: Vec<(i64, i64)> = statement
        .query_map((since, turn.now, limit), |row| Ok((row.get(0)?, row.get(1)?)))
        .and_then(Iterator::collect)
        .map_err(error::of)?;
    for (id, _) in &old {
        kept.remove(turn, *id)?;
    }
    let cursor = SweepCursor(old.last().map(|(_, purge_at)| UnixMs(*purge_at)).or(from.0));
    Ok(Swept { removed: old.len(), cursor })
}

impl Sqlite {
    pub(crate) async fn sweep_with(
        &self,
        kept: Kept,
        from: SweepCursor,
        limit: usize,
    ) -> Result<Swept, StoreError> {
        self.writer.run(move |turn| sweep(turn, kept, from, limit)).await
    }
}
