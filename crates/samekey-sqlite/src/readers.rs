//! Readers: a few connections that only read, beside the writer and never in its way.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use samekey_core::StoreError;
use tokio::sync::Semaphore;

use crate::writer::read_anchor;
use crate::{clock, error};

/// Reads at once; further ones wait.
const MAX_READERS: usize = 4;
const BUSY: Duration = Duration::from_secs(5);

/// What a read sees.
pub(crate) struct Look<'c> {
    pub(crate) db: &'c Connection,
    /// The database's time, in milliseconds.
    pub(crate) now: i64,
}

/// Connections that only read, opened when they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    path: Arc<PathBuf>,
    idle: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn of(path: &Path) -> Self {
        Self {
            path: Arc::new(path.to_owned()),
            idle: Arc::default(),
            places: Arc::new(Semaphore::new(MAX_READERS)),
        }
    }

    /// Reads in one transaction: everything that `read` sees is of one moment.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Look<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place =
            self.places.clone().acquire_owned().await.map_err(|error| error::away(error.to_string()))?;
        let readers = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            let connection = readers.connection()?;
            let result = read_in_transaction(&connection, read);
            readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            result
        });
        done.await.map_err(|error| error::away(error.to_string()))?
    }

    fn connection(&self) -> Result<Connection, StoreError> {
        if let Some(idle) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(idle);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&*self.path, flags).map_err(error::of)?;
        connection.busy_timeout(BUSY).map_err(error::of)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(connection)
    }
}

fn read_in_transaction<T>(
    connection: &Connection,
    read: impl FnOnce(&Look<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let transaction = connection.unchecked_transaction().map_err(error::of)?;
    let now = read_anchor(&transaction)?.now(&clock::read());
    let result = read(&Look { db: &transaction, now });
    transaction.rollback().map_err(error::of)?;
    result
}
