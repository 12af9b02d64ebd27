//! PostgreSQL's programs on this machine.
//!
//! Debian keeps every version in a folder of its own and off the path; elsewhere they are on the path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::run::run;

/// Where Debian keeps them, one folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder that holds `initdb`, `postgres`, `psql` and `pgbench`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postgres {
    folder: PathBuf,
}

impl Postgres {
    /// The newest version under `/usr/lib/postgresql`, else the first on the path.
    ///
    /// # Errors
    /// [`Error::Missing`], with what to install.
    pub fn find() -> Result<Self, Error> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::find_in(Path::new(DEBIAN), &path).ok_or(Error::Missing {
            what: "PostgreSQL's server (initdb)",
            advice: "install the package postgresql, or let `cargo xtask test` install it",
        })
    }

    fn find_in(versions: &Path, path: &OsStr) -> Option<Self> {
        let newest = std::fs::read_dir(versions).into_iter().flatten().flatten();
        let newest = newest.filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            holds_server(entry.path().join("bin")).map(|folder| (version, folder))
        });
        let newest = newest.max_by_key(|&(version, _)| version).map(|(_, folder)| folder);
        let folder = newest.or_else(|| std::env::split_paths(path).find_map(holds_server))?;
        Some(Self { folder })
    }

    /// A command that runs one of its programs, deaf to the `PG…` variables of whoever runs the tests: a `PGSSLMODE` or
    /// `PGOPTIONS` of theirs would change what is tested.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join(program));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        // Messages are read by us, and must be in the language we expect.
        command.env("LC_ALL", "C");
        command
    }

    /// Runs `sql` by `psql` on the database that `target` (a URL or `name=value` pairs) names; gives the rows, one a
    /// line, columns separated by `|`.
    ///
    /// # Errors
    /// [`Error::Failed`] with psql's message.
    pub fn query(&self, target: &str, sql: &str) -> Result<String, Error> {
        let mut psql = self.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", target, "-c", sql]);
        Ok(run(&mut psql)?.trim_end().to_owned())
    }
}

fn holds_server(folder: PathBuf) -> Option<PathBuf> {
    folder.join("initdb").is_file().then_some(folder)
}

/// `name` as an SQL identifier, whatever it holds.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::{Postgres, quoted};

    fn install(folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("initdb"), "").unwrap();
    }

    #[test]
    fn the_newest_version_wins_by_number_then_the_path() {
        let machine = tempfile::tempdir().unwrap();
        let (versions, on_path) = (machine.path().join("versions"), machine.path().join("bin"));
        let path = OsString::from(&on_path);
        assert_eq!(Postgres::find_in(&versions, &path), None);

        install(&on_path);
        assert_eq!(Postgres::find_in(&versions, &path).unwrap().folder, on_path);

        install(&versions.join("9/bin"));
        install(&versions.join("15/bin"));
        std::fs::create_dir_all(versions.join("17/bin")).unwrap();
        assert_eq!(Postgres::find_in(&versions, &path).unwrap().folder, versions.join("15/bin"));
    }

    #[test]
    fn a_name_with_a_quote_stays_one_name() {
        assert_eq!(quoted("a\"; drop"), "\"a\"\"; drop\"");
    }
}
