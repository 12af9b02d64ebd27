//! Surroundings that would lose acknowledged work.

use std::fmt;
use std::path::Path;

use rusqlite::Connection;
use samekey_core::StoreError;

use crate::error;

/// Something about the file's surroundings under which an acknowledged message can be lost. To be said loudly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution(String);

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first SQLite without the fault that could lose a write-ahead log's content when it began anew (WAL-reset).
const OLDEST_SQLITE: i32 = 3_051_003;

/// Magic numbers of file systems on which SQLite's locks and shared memory do not work: NFS, SMB, CIFS, SMB2, 9P.
const NETWORK: [i64; 5] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997];

pub(crate) fn check_version() -> Result<(), StoreError> {
    if rusqlite::version_number() >= OLDEST_SQLITE {
        return Ok(());
    }
    Err(StoreError::Schema(format!(
        "SQLite {} has known faults: build with 3.51.3 or newer",
        rusqlite::version()
    )))
}

/// Two machines on one file would each believe that they are alone.
#[cfg(target_os = "linux")]
pub(crate) fn check_file_system(path: &Path) -> Result<(), StoreError> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let kind = rustix::fs::statfs(folder).map_err(|error| error::away(error.to_string()))?.f_type;
    if NETWORK.contains(&kind) {
        return Err(StoreError::Schema(format!(
            "{} is on a network file system, where SQLite loses data: use a local disk, or PostgreSQL",
            path.display()
        )));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn check_file_system(_path: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Whether our own settings took effect.
pub(crate) fn of(connection: &Connection) -> Result<Vec<Caution>, StoreError> {
    let journal: String =
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(error::of)?;
    let synchronous: i64 =
        connection.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(error::of)?;
    let mut cautions = Vec::new();
    if journal != "wal" {
        cautions.push(Caution(format!(
            "journal_mode is {journal}, not wal: readers and the writer block each other"
        )));
    }
    if synchronous < 2 {
        cautions.push(Caution(
            "synchronous is below FULL: a crash of the machine loses acknowledged messages".to_owned(),
        ));
    }
    Ok(cautions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_set_up_weaker_is_complained_of() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
        let said: Vec<String> = of(&connection).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].contains("loses acknowledged messages"));
    }

    #[test]
    fn the_compiled_in_version_is_new_enough() {
        check_version().unwrap();
    }
}
