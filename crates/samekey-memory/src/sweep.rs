//! Sweeping, in bounded batches.

use samekey_core::record::Age;
use samekey_core::store::{SweepCursor, Swept};
use samekey_core::{StoreError, UnixMs};

use crate::Memory;
use crate::fault::Call;
use crate::row::Name;

impl Memory {
    pub(crate) fn swept(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        self.run(Call::Other, |turn| {
            let since = from.0.map_or(i64::MIN, |UnixMs(ms)| ms);
            let rows = turn.state.rows.iter();
            let old = rows.filter(|(_, row)| row.age(turn.now) == Age::Purgeable && row.purge_at >= since);
            let mut old: Vec<(i64, Name)> = old.map(|(name, row)| (row.purge_at, name.clone())).collect();
            old.sort();
            old.truncate(limit);
            for (_, name) in &old {
                turn.state.rows.remove(name);
            }
            let cursor = SweepCursor(old.last().map(|(purge_at, _)| UnixMs(*purge_at)).or(from.0));
            Ok(Swept { removed: old.len(), cursor })
        })
    }
}
