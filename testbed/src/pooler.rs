//! PgBouncer in transaction mode, in front of a database.
//!
//! Many services reach their database through one. It hands each transaction to whichever server connection is free, so
//! what a statement leaves behind on a connection (a name, a setting) meets a stranger. Only a real one shows that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::account::Account;
use crate::process::{Process, Stop};
use crate::{Error, free_port};

/// A bound, far above what a busy machine needs.
const START_LIMIT: Duration = Duration::from_secs(30);

/// The free port may be gone by the time PgBouncer asks for it.
const PORT_ATTEMPTS: usize = 5;

/// Debian installs it where only root's path leads.
const BESIDE_THE_PATH: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// What it logs at the moment it takes connections.
const READY: &str = "process up";

/// A running PgBouncer. Dropping it stops it.
#[derive(Debug)]
pub struct Pooler {
    // Before the folder: it is stopped before its file goes.
    _process: Process,
    _folder: TempDir,
    url: String,
}

impl Pooler {
    /// Starts one in front of the server that the URL of a database names, and waits until it takes connections.
    ///
    /// # Errors
    /// [`Error::Missing`] without PgBouncer, otherwise what it says.
    pub fn before(url: &str) -> Result<Self, Error> {
        let mut last = Self::start(url);
        for _ in 1..PORT_ATTEMPTS {
            match last {
                Err(Error::Ended { log, .. }) if log.contains("Address already in use") => {
                    last = Self::start(url);
                }
                outcome => return outcome,
            }
        }
        last
    }

    fn start(url: &str) -> Result<Self, Error> {
        let (program, account) = (Self::find()?, Account::find()?);
        let folder = tempfile::Builder::new().prefix("samekey-pooler-").tempdir();
        let folder = folder.map_err(Error::io("create a folder for PgBouncer"))?;
        let port = free_port().map_err(Error::io("find a free port"))?;
        let address = Address::of(url);
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, address.settings(port)).map_err(Error::io("write pgbouncer.ini"))?;
        account.own(folder.path())?;
        account.own(&file)?;
        let mut command = Command::new(program);
        let command = account.run_as(command.arg(&file).current_dir(folder.path()));
        let (mut process, log) = Process::spawn_logging(command, Stop::Kill, &[folder.path()])?;
        process.wait_for(&log, "take connections", START_LIMIT, |line| line.contains(READY).then_some(()))?;
        let url = format!("postgres://{}127.0.0.1:{port}{}", address.before, address.after);
        Ok(Self { _process: process, _folder: folder, url })
    }

    /// Where its program is.
    ///
    /// # Errors
    /// [`Error::Missing`], with what to install.
    pub fn find() -> Result<PathBuf, Error> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(BESIDE_THE_PATH.map(PathBuf::from));
        let mut programs = folders.map(|folder| folder.join("pgbouncer"));
        programs.find(|program| Path::is_file(program)).ok_or(Error::Missing {
            what: "PgBouncer",
            advice: "install the package pgbouncer, or let `cargo xtask test` install it",
        })
    }

    /// The URL of the same database, through it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The URL of a database, taken apart around its host and port.
struct Address<'a> {
    /// `user@`, or nothing.
    before: &'a str,
    host: &'a str,
    port: &'a str,
    /// `/database` and what follows.
    after: &'a str,
}

impl<'a> Address<'a> {
    fn of(url: &'a str) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (authority, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (before, server) = authority.split_at(authority.find('@').map_or(0, |at| at + 1));
        let (host, port) = server.split_once(':').unwrap_or((server, "5432"));
        Self { before, host, port, after }
    }

    /// Any name logs in, as the user of the URL. Two server connections: clients do meet what others left behind, and
    /// one can still wait for the other's lock. Some drivers set `extra_float_digits` when they connect; whoever puts a
    /// pooler before them tells it so.
    fn settings(&self, port: u16) -> String {
        let user = self.before.trim_end_matches('@').split(':').next().unwrap_or_default();
        let (host, server_port) = (self.host, self.port);
        format!(
            "[databases]\n* = host={host} port={server_port} user={user}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n\
             ignore_startup_parameters = extra_float_digits\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn a_url_is_taken_apart_around_its_server() {
        for (url, parts) in [
            ("postgres://samekey@127.0.0.1:77/db?x=1", ("samekey@", "127.0.0.1", "77", "/db?x=1")),
            ("postgres://localhost/db", ("", "localhost", "5432", "/db")),
        ] {
            let address = Address::of(url);
            assert_eq!((address.before, address.host, address.port, address.after), parts);
        }
    }
}
