//! What is measured: the real binary on a fresh database.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use tempfile::TempDir;
use testbed::{Cluster, Service};

/// The service's database on the cluster.
pub(crate) const DATABASE: &str = "samekey";

/// SIGTERM finishes what is in hand.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Which store the service stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Postgres,
    Sqlite,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }
}

/// An installation: binary, database, one project with one key.
#[derive(Debug)]
pub(crate) struct Subject {
    binary: PathBuf,
    pub(crate) database: String,
    pub(crate) api_key: String,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) folder: TempDir,
}

impl Subject {
    /// A fresh installation on `store`; starting once creates its tables.
    pub(crate) fn install(store: Store) -> Result<Self> {
        let (binary, folder) = (built_binary()?, temporary_folder()?);
        let cluster = match store {
            Store::Postgres => Some(Cluster::start()?),
            Store::Sqlite => None,
        };
        let database = match &cluster {
            Some(cluster) => {
                cluster.create_database(DATABASE)?;
                cluster.url(DATABASE)
            }
            None => format!("sqlite:{}", folder.path().join("samekey.db").display()),
        };
        let mut subject = Self { binary, database, api_key: String::new(), cluster, folder };
        let mut service = subject.serve()?;
        subject.api_key = subject.create_api_key()?;
        stop(&mut service)?;
        Ok(subject)
    }

    /// Starts the service without a dispatcher, and waits until it is ready.
    pub(crate) fn serve(&self) -> Result<Service> {
        let mut command = self.command("serve");
        command.args(["--listen", "127.0.0.1:0", "--no-dispatch"]);
        Service::start_command(&mut command).context("start samekey serve")
    }

    /// `samekey dispatch`, ready to be started.
    pub(crate) fn dispatch(&self) -> Command {
        self.command("dispatch")
    }

    fn command(&self, what: &str) -> Command {
        let mut command = Service::command(&self.binary);
        command.args([what, "--database", &self.database, "--smtp-url", "discard:", "--concurrency", "1024"]);
        command.args(["--mail-from", "samekey@example.org", "--data-dir"]).arg(self.folder.path());
        command
    }

    fn create_api_key(&self) -> Result<String> {
        self.say(&["projects", "create", "bench"])?;
        let output = self.say(&["api-keys", "create", "--project", "bench"])?;
        Ok(output.lines().last().context("no key was printed")?.trim().to_owned())
    }

    fn say(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Service::command(&self.binary);
        command.args(arguments).args(["--database", &self.database]).stdin(Stdio::null());
        let output = command.output().context("run samekey")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "samekey {arguments:?} ended with {}: {errors}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Writes back what the last phase left in PostgreSQL's memory, so that the next one does not pay for it.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        match &self.cluster {
            Some(cluster) => Ok(cluster.query("postgres", "checkpoint").map(drop)?),
            None => Ok(()),
        }
    }
}

/// Ends a service that has nothing more to do, politely: what it leaves behind is measured by the next phase.
pub(crate) fn stop(service: &mut Service) -> Result<()> {
    let status = service.terminate(STOP_LIMIT)?;
    ensure!(status.success(), "after SIGTERM the service ended with {status}:\n{}", service.stderr());
    Ok(())
}

/// The release binary: the one that `SAMEKEY_BIN` names, else the one beside us, made as new as its sources.
fn built_binary() -> Result<PathBuf> {
    if std::env::var_os(testbed::BINARY_VARIABLE).is_none() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--release", "--package", "samekey-server", "--bin", "samekey"]);
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace's folder")?;
        let status = build.current_dir(workspace).status().context("run cargo")?;
        ensure!(status.success(), "the binary samekey could not be built");
    }
    Ok(Service::binary()?)
}

/// On a disk: `/tmp` is often kept in memory, where fsync costs nothing and every figure flatters.
fn temporary_folder() -> Result<TempDir> {
    let disk = Path::new("/var/tmp");
    let place = match std::env::var_os("TMPDIR") {
        None if disk.is_dir() => disk.to_owned(),
        _ => std::env::temp_dir(),
    };
    tempfile::Builder::new().prefix("samekey-bench-").tempdir_in(place).context("create a folder")
}
