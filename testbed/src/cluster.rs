//! A throw-away PostgreSQL cluster.
//!
//! The machine's own cluster, where there is one, belongs to somebody else: its settings are unknown, and a test that
//! loses the database on purpose may not lose theirs. So each run has a cluster of its own, with the settings that an
//! acknowledged message depends on (`fsync`, `synchronous_commit`) said aloud.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::account::Account;
use crate::postgres::quoted;
use crate::process::{Process, Stop};
use crate::run::run;
use crate::{Certificate, Error, Postgres, free_port};

/// Starting after an immediate stop replays the log first.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The free port may be gone by the time PostgreSQL asks for it.
const PORT_ATTEMPTS: usize = 5;

/// The superuser that every URL names.
const ROLE: &str = "samekey";

/// What it prints, in the C locale, at the moment it takes connections.
const READY: &str = "database system is ready to accept connections";

/// Whether the cluster asks its TCP clients for TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Plain,
    Tls,
}

/// A running cluster. Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Cluster {
    // Before the folder: the server is stopped before its files go.
    server: Option<Process>,
    postgres: Postgres,
    account: Account,
    port: u16,
    certificate: Option<Certificate>,
    folder: TempDir,
}

impl Cluster {
    /// Creates a cluster and waits until it takes connections.
    ///
    /// It lies under `TMPDIR`, else under `/var/tmp`: `/tmp` is often kept in memory, where `fsync` costs nothing and
    /// every measurement flatters.
    ///
    /// # Errors
    /// [`Error::Missing`] without PostgreSQL, otherwise what its programs say.
    pub fn start() -> Result<Self, Error> {
        Self::create(Transport::Plain)
    }

    /// The same, but over TCP it speaks TLS only, with a certificate that [`Cluster::authority`] vouches for.
    ///
    /// # Errors
    /// As [`Cluster::start`], and what `openssl` says.
    pub fn with_tls() -> Result<Self, Error> {
        Self::create(Transport::Tls)
    }

    fn create(transport: Transport) -> Result<Self, Error> {
        let (postgres, account) = (Postgres::find()?, Account::find()?);
        let folder = temporary_folder()?;
        account.own(folder.path())?;
        let certificate = match transport {
            Transport::Plain => None,
            Transport::Tls => Some(certificate_for(&account, folder.path())?),
        };
        let mut cluster = Self { server: None, postgres, account, port: 0, certificate, folder };
        cluster.initialise()?;
        cluster.choose_port_and_start()?;
        Ok(cluster)
    }

    fn initialise(&self) -> Result<(), Error> {
        let mut initdb = self.postgres.command("initdb");
        // Not synced: a machine that goes down while a test run sets itself up ends the run anyway.
        initdb.args(["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust", "--username", ROLE, "-D"]);
        initdb.arg(self.data()).current_dir(self.folder.path());
        run(self.account.run_as(&mut initdb))?;
        if self.certificate.is_some() {
            let rules = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";
            fs::write(self.data().join("pg_hba.conf"), rules).map_err(Error::io("write pg_hba.conf"))?;
        }
        Ok(())
    }

    fn choose_port_and_start(&mut self) -> Result<(), Error> {
        for _ in 1..PORT_ATTEMPTS {
            self.port = free_port().map_err(Error::io("find a free port"))?;
            match self.start_again() {
                Err(Error::Ended { log, .. }) if log.contains("Address already in use") => {}
                outcome => return outcome,
            }
        }
        self.start_again()
    }

    /// Starts it again after [`Cluster::stop_immediately`], on the same port and data, and waits until it takes
    /// connections. A running cluster is left alone.
    ///
    /// # Errors
    /// [`Error::Ended`] with PostgreSQL's log when it does not come up.
    pub fn start_again(&mut self) -> Result<(), Error> {
        if self.server.is_some() {
            return Ok(());
        }
        let mut command = self.postgres.command("postgres");
        command.arg("-D").arg(self.data()).current_dir(self.folder.path());
        for setting in self.settings() {
            command.args(["-c", &setting]);
        }
        let command = self.account.run_as(&mut command);
        let (mut server, log) = Process::spawn_logging(command, Stop::Quit, &[self.folder.path()])?;
        server.wait_for(&log, "take connections", START_LIMIT, |line| line.contains(READY).then_some(()))?;
        self.server = Some(server);
        Ok(())
    }

    fn settings(&self) -> Vec<String> {
        let mut settings: Vec<String> = [
            "listen_addresses=127.0.0.1",
            "fsync=on",
            "synchronous_commit=on",
            "max_connections=200",
            "shared_buffers=256MB",
            "max_wal_size=4GB",
            "timezone=UTC",
            "logging_collector=off",
            "log_destination=stderr",
        ]
        .map(str::to_owned)
        .to_vec();
        settings.push(format!("port={}", self.port));
        settings.push(format!("unix_socket_directories={}", self.folder.path().display()));
        if let Some(Certificate { certificate, key, .. }) = &self.certificate {
            settings.push("ssl=on".to_owned());
            settings.push(format!("ssl_cert_file={}", certificate.display()));
            settings.push(format!("ssl_key_file={}", key.display()));
        }
        settings
    }

    /// Stops it at once, without a checkpoint, as a lost database does: connections break, the next start recovers.
    pub fn stop_immediately(&mut self) {
        // Dropping the process sends the signal for an immediate stop and waits.
        self.server = None;
    }

    /// `postgres://samekey@127.0.0.1:PORT/database`.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{ROLE}@127.0.0.1:{}/{database}", self.port)
    }

    /// Its port on 127.0.0.1; the same after a stop and a start.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The authority that vouches for its certificate (PEM), where it speaks TLS.
    #[must_use]
    pub fn authority(&self) -> Option<&Path> {
        self.certificate.as_ref().map(|certificate| certificate.authority.as_path())
    }

    /// Its programs, for `pgbench` and the like.
    #[must_use]
    pub fn postgres(&self) -> &Postgres {
        &self.postgres
    }

    /// Creates a database.
    ///
    /// # Errors
    /// [`Error::Failed`] with PostgreSQL's message.
    pub fn create_database(&self, name: &str) -> Result<(), Error> {
        self.query("postgres", &format!("create database {}", quoted(name))).map(drop)
    }

    /// Runs `sql` in `database` over the Unix socket, which asks for no TLS; see [`Postgres::query`].
    ///
    /// # Errors
    /// [`Error::Failed`] with PostgreSQL's message.
    pub fn query(&self, database: &str, sql: &str) -> Result<String, Error> {
        let (folder, port) = (self.folder.path().display(), self.port);
        self.postgres.query(&format!("host={folder} port={port} user={ROLE} dbname={database}"), sql)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

/// Short, for the path of a Unix socket has about a hundred bytes.
fn temporary_folder() -> Result<TempDir, Error> {
    let disk = Path::new("/var/tmp");
    let place = match std::env::var_os("TMPDIR") {
        None if disk.is_dir() => disk.to_owned(),
        _ => std::env::temp_dir(),
    };
    tempfile::Builder::new().prefix("samekey-pg-").tempdir_in(place).map_err(Error::io("create a folder"))
}

fn certificate_for(account: &Account, folder: &Path) -> Result<Certificate, Error> {
    let certificate = Certificate::create(folder)?;
    for file in [&certificate.authority, &certificate.certificate, &certificate.key] {
        account.own(file)?;
    }
    Ok(certificate)
}
