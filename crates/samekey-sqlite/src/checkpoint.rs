//! Checkpoints: the write-ahead log is copied into the file beside the writer, not in its way.
//!
//! SQLite's default is that the commit which finds the log long enough copies it; that commit then takes a hundred times
//! as long as its neighbours. Here a second connection copies without blocking anybody, and the log begins anew once all
//! of it was copied and nobody reads it. Under a load that never pauses that moment may not come; so past a bound the
//! writer itself stops for it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;

use rusqlite::Connection;
use samekey_core::StoreError;

use crate::{error, writer};

/// The log is copied when it has grown this far.
const COPY_AT: u64 = 4 << 20;
/// The writer itself stops here.
const STOP_AT: u64 = 128 << 20;

/// Tells the other thread when there is something to copy.
pub(crate) struct Checkpointer {
    wal: PathBuf,
    wake: SyncSender<()>,
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
        Ok(Self { wal, wake })
    }

    /// The writer has committed.
    pub(crate) fn wrote(&self, connection: &Connection) {
        let length = std::fs::metadata(&self.wal).map_or(0, |file| file.len());
        if length > STOP_AT {
            if let Err(error) = checkpoint(connection, "TRUNCATE") {
                tracing::warn!(%error, length, "the write-ahead log cannot be emptied: does somebody read for very long?");
            }
        } else if length > COPY_AT
            && let Err(TrySendError::Disconnected(())) = self.wake.try_send(())
        {
            tracing::debug!("the checkpointer has ended");
        }
    }
}

fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
}
