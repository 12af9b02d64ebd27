//! One installation of the service: its binary, its database, its settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use testbed::Service;

use crate::evidence::Policy;

/// Where the records lie.
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

/// How often a message is tried again. More often than any message can be unlucky in one trial, so that whatever is
/// given up was given up wrongly; and soon, so that healing is a matter of seconds.
const RETRIES: usize = 60;
const RETRY_DELAY: &str = "200ms";

/// Everything a start needs.
#[derive(Debug)]
pub(crate) struct Installation {
    pub(crate) binary: PathBuf,
    pub(crate) database: String,
    pub(crate) data: PathBuf,
    pub(crate) smtp_url: String,
    pub(crate) policy: Policy,
}

impl Installation {
    /// The service, ready to be started. The lease is short: it is what healing after a kill waits for.
    pub(crate) fn serve(&self) -> Command {
        let mut command = Service::command(&self.binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", &self.database]);
        command.arg("--data-dir").arg(&self.data);
        command.args(["--smtp-url", &self.smtp_url, "--mail-from", "samekey@example.org"]);
        command.args(["--lease", "2s", "--send-timeout", "1s", "--email-policy", self.policy.name()]);
        command.args(["--retry-schedule", &[RETRY_DELAY; RETRIES].join(",")]);
        command
    }

    /// A project of its own, and a key for it.
    pub(crate) fn create_api_key(&self) -> Result<String> {
        self.say(&["projects", "create", "crash"])?;
        let output = self.say(&["api-keys", "create", "--project", "crash"])?;
        let key = output.lines().last().map(str::trim).context("no key was printed")?;
        ensure!(key.starts_with("sk_"), "{key:?} is no API key");
        Ok(key.to_owned())
    }

    fn say(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Service::command(&self.binary);
        command.args(arguments).args(["--database", &self.database]).stdin(Stdio::null());
        let output = command.output().context("run samekey")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "samekey {arguments:?} ended with {}: {errors}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// The release binary: the one that `SAMEKEY_BIN` names, else the one built beside us; `cargo build` makes sure that it
/// is there and as new as its sources.
pub(crate) fn binary() -> Result<PathBuf> {
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
