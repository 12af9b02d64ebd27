//! Look: what stands there, without claiming.

use rusqlite::{Connection, OptionalExtension as _, named_params};
use samekey_core::record::{Age, Record};
use samekey_core::{Key, Scope, StoreError};

use crate::columns::{self, RECORD, column};
use crate::{Sqlite, error};

/// A record that was found, and what only the store needs of it.
pub(crate) struct Found {
    pub(crate) id: i64,
    pub(crate) record: Record,
}

/// The row for (scope, key) at `now`.
pub(crate) fn find(db: &Connection, now: i64, scope: &Scope, key: &Key) -> Result<Option<Found>, StoreError> {
    let sql = format!("SELECT {RECORD} FROM record r WHERE r.scope = :scope AND r.key = :key");
    let mut statement = db.prepare_cached(&sql).map_err(error::of)?;
    let values = named_params! { ":now": now, ":scope": scope.as_bytes(), ":key": key.as_bytes() };
    let found = statement.query_row(values, |row| Ok(read(row, now))).optional().map_err(error::of)?;
    found.transpose()
}

fn read(row: &rusqlite::Row<'_>, now: i64) -> Result<Found, StoreError> {
    Ok(Found { id: column(row, "id")?, record: columns::record(row, now)? })
}

impl Sqlite {
    pub(crate) async fn look(&self, scope: Scope, key: Key) -> Result<Option<Record>, StoreError> {
        let found = self.readers.run(move |look| find(look.db, look.now, &scope, &key)).await?;
        Ok(found.map(|found| found.record).filter(|record| record.age != Age::Purgeable))
    }
}
