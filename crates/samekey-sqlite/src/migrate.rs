//! The schema, and who may work on it.
//!
//! The file says itself which binaries may work on it (`readable_by`): a newer schema is no reason to refuse, a schema that
//! this binary would damage is.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use samekey_core::StoreError;

use crate::clock::{self, Anchor};
use crate::{OldSchema, error, writer};

/// The schema that this release knows.
pub const SCHEMA_VERSION: i64 = 1;

/// Each migration with the oldest release (by its schema) that may work on its outcome.
const MIGRATIONS: [(&str, i64); SCHEMA_VERSION as usize] = [(include_str!("../sql/0001.sql"), 1)];

/// Marks the file as ours (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x534d_4b59;

/// The whole schema as SQL, for people's own migration tools. Needs SQLite 3.37, for its strict tables.
///
/// The clock's anchor is of no boot: the first process that opens the file anchors it anew.
#[must_use]
pub fn schema_sql() -> String {
    let (texts, oldest): (Vec<&str>, Vec<i64>) = MIGRATIONS.into_iter().unzip();
    let readable_by = oldest.last().copied().unwrap_or_default();
    format!(
        "PRAGMA application_id = {APPLICATION_ID};\n\n{}\n\
         INSERT INTO meta (one, schema, readable_by, token, boot, wall_ms, boot_ms, rate_ppm)\n\
         VALUES (1, {SCHEMA_VERSION}, {readable_by}, 0, '', 0, 0, 0);\n",
        texts.join("\n")
    )
}

/// Recognises the file, sets the connection up, and brings the schema up to date where that is allowed.
///
/// # Guarantees
/// Each migration commits with its number or not at all.
pub(crate) fn bring_up(connection: &mut Connection, old: OldSchema) -> Result<(), StoreError> {
    recognise(connection)?;
    writer::set_up(connection)?;
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(error::of)?;
    let (stands, readable_by) = standing(&transaction)?;
    if readable_by > SCHEMA_VERSION {
        return Err(StoreError::Schema(format!(
            "the database has schema {stands}, which only releases that know schema {readable_by} may work on; this one \
             knows {SCHEMA_VERSION}: install the newer release"
        )));
    }
    if stands < SCHEMA_VERSION {
        if old == OldSchema::Refuse {
            return Err(StoreError::Schema(format!(
                "the database has schema {stands}, this release needs {SCHEMA_VERSION}: run `samekey migrate --database …`"
            )));
        }
        for (text, _) in MIGRATIONS.iter().skip(usize::try_from(stands).unwrap_or_default()) {
            transaction.execute_batch(text).map_err(error::of)?;
        }
        sign(&transaction)?;
    }
    writer::tell_time(&transaction)?;
    transaction.commit().map_err(error::of)
}

/// An empty file becomes ours; anything else must bear our mark.
fn recognise(connection: &Connection) -> Result<(), StoreError> {
    let read = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(error::of);
    let foreign = |what: &str| StoreError::Schema(format!("the file {what}; give --database another path"));
    let application_id = match read("PRAGMA application_id") {
        Ok(id) => id,
        Err(StoreError::Unreadable(_)) => return Err(foreign("is no SQLite database")),
        Err(error) => return Err(error),
    };
    let empty = read("SELECT count(*) FROM sqlite_schema")? == 0;
    if application_id == APPLICATION_ID || (application_id == 0 && empty) {
        return Ok(());
    }
    Err(foreign("is the SQLite database of another program"))
}

/// The schema that stands here, and the oldest release that may work on it; (0, 0) in an empty file.
fn standing(db: &Connection) -> Result<(i64, i64), StoreError> {
    let exists = db
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'meta'", [], |_| Ok(()))
        .optional()
        .map_err(error::of)?
        .is_some();
    if !exists {
        return Ok((0, 0));
    }
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    db.query_row("SELECT schema, readable_by FROM meta", [], read).map_err(error::of)
}

fn sign(db: &Connection) -> Result<(), StoreError> {
    let readable_by = MIGRATIONS.last().map_or(0, |(_, oldest)| *oldest);
    let anchor = Anchor::at(&clock::read());
    db.execute(
        "INSERT INTO meta (one, schema, readable_by, token, boot, wall_ms, boot_ms, rate_ppm) VALUES (1, ?1, ?2, 0, ?3, ?4, ?5, 0)
         ON CONFLICT (one) DO UPDATE SET schema = excluded.schema, readable_by = excluded.readable_by",
        (SCHEMA_VERSION, readable_by, &anchor.boot, anchor.wall_ms, anchor.boot_ms),
    )
    .map_err(error::of)?;
    db.pragma_update(None, "application_id", APPLICATION_ID).map_err(error::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(path: &std::path::Path) -> Result<(), StoreError> {
        let mut connection = writer::connect(path, OldSchema::Migrate)?;
        bring_up(&mut connection, OldSchema::Migrate)
    }

    fn refusal(path: &std::path::Path) -> String {
        opened(path).unwrap_err().to_string()
    }

    #[test]
    fn a_schema_that_this_release_would_damage_is_refused_and_a_newer_harmless_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        opened(&path).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute("UPDATE meta SET schema = 9", []).unwrap();
        opened(&path).unwrap();
        other.execute("UPDATE meta SET readable_by = 8", []).unwrap();
        assert!(refusal(&path).contains("only releases that know schema 8"), "{}", refusal(&path));
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (text, foreign) = (folder.path().join("text"), folder.path().join("foreign.db"));
        std::fs::write(&text, "no database, but long enough to look like one might be expected to".repeat(9))
            .unwrap();
        Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(refusal(&text).contains("no SQLite database"));
        assert!(refusal(&foreign).contains("another program"));
    }

    #[test]
    fn a_file_that_was_made_by_hand_is_accepted_and_its_clock_is_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        Connection::open(&path).unwrap().execute_batch(&schema_sql()).unwrap();
        let mut connection = writer::connect(&path, OldSchema::Refuse).unwrap();
        bring_up(&mut connection, OldSchema::Refuse).unwrap();
        let anchor = writer::read_anchor(&connection).unwrap();
        assert!(anchor.wall_ms >= clock::read().wall_ms - 60_000, "{anchor:?}");
    }

    #[test]
    fn nothing_is_created_unless_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.db");
        let error = writer::connect(&path, OldSchema::Refuse).unwrap_err();
        assert!(error.to_string().contains("samekey migrate"), "{error}");
        assert!(!path.exists());
    }
}
