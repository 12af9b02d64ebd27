//! Checkpoints: the write-ahead log is copied into the file beside the writer, not in its way.
//!
//! SQLite's default is that the commit which finds the log long enough copies it; that commit then takes a hundred times
//! as long as its neighbours. Here a second connection copies without blocking anybody, and the log begins anew once all
//! of it was copied and nobody reads it. Under a load that never pauses that moment may not come; so past a bound the
//! writer itself stops for it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use rusqlite::Connection;
use samekey_core::StoreError;

use crate::{error, writer};

/// The log is copied after so many changed rows. (Its length does not tell: a log that begins anew keeps its file.) The more
/// changes, the more of them fall on pages that are copied once.
const COPY_AFTER_ROWS: u64 = 32_768;
/// Or when its file has grown by this, which large rows do.
const COPY_AFTER_BYTES: u64 = 16 << 20;
/// The writer itself stops here.
const STOP_AT: u64 = 256 << 20;

/// Tells the other thread when there is something to copy.
pub(crate) struct Checkpointer {
    wal: PathBuf,
    wake: SyncSender<()>,
    /// Changed rows and the log's length when it was last woken.
    woken_at: (u64, u64),
}

impl Checkpointer {
    pub(crate) fn start(path: &Path) -> Result<Self, StoreError> {
        let (wake, woken) = sync_channel(1);
        let path = path.to_owned();
        let wal = writer::wal_of(&path);
        thread::Builder::new()
            .name("samekey-checkpoint".to_owned())
            .spawn(move || {
                let Ok(connection) = Connection::open(&path) else { return };
                while woken.recv().is_ok() {
                    if let Err(error) = checkpoint(&connection, "PASSIVE") {
                        tracing::debug!(%error, "no checkpoint this time");
                    }
                }
            })
            .map_err(|error| error::away(error.to_string()))?;
        Ok(Self { wal, wake, woken_at: (0, 0) })
    }

    /// The writer has committed.
    pub(crate) fn wrote(&mut self, connection: &Connection) {
        let (rows, length) =
            (connection.total_changes(), std::fs::metadata(&self.wal).map_or(0, |file| file.len()));
        if length > STOP_AT {
            if let Err(error) = checkpoint(connection, "TRUNCATE") {
                tracing::warn!(%error, length, "the write-ahead log cannot be emptied: does somebody read for very long?");
            }
            self.woken_at = (rows, 0);
        } else if rows > self.woken_at.0 + COPY_AFTER_ROWS || length > self.woken_at.1 + COPY_AFTER_BYTES {
            self.woken_at = (rows, length);
            // A full channel: it is copying already. A closed one: it could not open the file, and the writer stops in time.
            let _ = self.wake.try_send(());
        }
    }
}

fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
}
