//! What the tests need from the machine, and how it gets there.
//!
//! A clone on a bare machine should pass its tests by one command. Where we may install (as root, by `sudo` without a
//! password, by Homebrew) we do; where we may not, the answer is the one line to type, not a list of failures later.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::{run, shown};

/// One thing that must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requirement {
    Postgres,
    Python,
    Openssl,
    Pgbouncer,
}

/// What installs packages here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Apt,
    Brew,
    Dnf,
    Pacman,
    Apk,
    Zypper,
}

/// Whether we may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
    /// We are root, or the manager asks for no more than we have.
    Own,
    /// `sudo` lets us, without a question that nobody might be there to answer.
    Sudo,
    None,
}

const ALL: [Requirement; 4] =
    [Requirement::Postgres, Requirement::Python, Requirement::Openssl, Requirement::Pgbouncer];

impl Requirement {
    fn is_met(self) -> bool {
        match self {
            Self::Postgres => testbed::Postgres::find().is_ok(),
            // Debian's python3 has `venv`, but not what `venv` needs.
            Self::Python => succeeds("python3", &["-c", "import ensurepip, venv"]),
            Self::Openssl => succeeds("openssl", &["version"]),
            Self::Pgbouncer => testbed::Pooler::find().is_ok(),
        }
    }

    fn packages(self, manager: Manager) -> &'static [&'static str] {
        match (self, manager) {
            (Self::Postgres, Manager::Brew) => &["postgresql@17"],
            (Self::Postgres, Manager::Dnf | Manager::Zypper) => &["postgresql-server", "postgresql-contrib"],
            (Self::Postgres, _) => &["postgresql"],
            (Self::Python, Manager::Apt) => &["python3", "python3-venv"],
            (Self::Python, Manager::Brew | Manager::Pacman) => &["python"],
            (Self::Python, _) => &["python3"],
            (Self::Openssl, _) => &["openssl"],
            (Self::Pgbouncer, _) => &["pgbouncer"],
        }
    }
}

impl Manager {
    const ALL: [Self; 6] = [Self::Apt, Self::Brew, Self::Dnf, Self::Pacman, Self::Apk, Self::Zypper];

    fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Brew => "brew",
            Self::Dnf => "dnf",
            Self::Pacman => "pacman",
            Self::Apk => "apk",
            Self::Zypper => "zypper",
        }
    }

    fn install(self) -> &'static [&'static str] {
        match self {
            Self::Apt => &["install", "--yes", "--no-install-recommends"],
            Self::Brew => &["install"],
            Self::Dnf => &["install", "-y"],
            Self::Pacman => &["-S", "--noconfirm", "--needed"],
            Self::Apk => &["add"],
            Self::Zypper => &["install", "-y"],
        }
    }

    fn find() -> Option<Self> {
        Self::ALL.into_iter().find(|manager| succeeds(manager.program(), &["--version"]))
    }

    fn right(self) -> Right {
        if self == Self::Brew || rustix::process::geteuid().is_root() {
            Right::Own
        } else if succeeds("sudo", &["-n", "true"]) {
            Right::Sudo
        } else {
            Right::None
        }
    }

    /// The command that installs what `missing` needs.
    fn command(self, right: Right, missing: &[Requirement]) -> Command {
        let mut command = self.program_with(right);
        command.args(self.install());
        command.args(missing.iter().flat_map(|requirement| requirement.packages(self)));
        command
    }

    fn program_with(self, right: Right) -> Command {
        match right {
            Right::Own => {
                let mut command = Command::new(self.program());
                command.env("DEBIAN_FRONTEND", "noninteractive");
                command
            }
            Right::Sudo => {
                let mut command = Command::new("sudo");
                command.args(["-n", "DEBIAN_FRONTEND=noninteractive", self.program()]);
                command
            }
            Right::None => {
                let mut command = Command::new("sudo");
                command.arg(self.program());
                command
            }
        }
    }
}

/// Installs what is missing, or fails with what to type.
pub(crate) fn install_missing() -> Result<()> {
    let missing: Vec<_> = ALL.into_iter().filter(|requirement| !requirement.is_met()).collect();
    if missing.is_empty() {
        println!("all there");
        return Ok(());
    }
    let Some(manager) = Manager::find() else {
        bail!(
            "install {missing:?} by hand: PostgreSQL's server programs, python3 with venv, openssl, PgBouncer"
        );
    };
    let right = manager.right();
    let mut install = manager.command(right, &missing);
    let line = shown(&install);
    if right == Right::None {
        bail!("these are missing: {missing:?}; install them with\n\n    {line}\n");
    }
    if manager == Manager::Apt {
        run(manager.program_with(right).arg("update")).context("refresh the list of packages")?;
    }
    println!("{line}");
    run(&mut install).context("install what is missing")?;
    match missing.into_iter().find(|requirement| !requirement.is_met()) {
        None => Ok(()),
        Some(still) => bail!("{still:?} is still missing after `{line}`; install it by hand"),
    }
}

fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::{ALL, Manager, Requirement, Right};
    use crate::cargo::shown;

    #[test]
    fn the_command_is_the_one_to_type() {
        let command =
            |manager: Manager, right, missing: &[Requirement]| shown(&manager.command(right, missing));
        assert_eq!(
            command(Manager::Apt, Right::Own, &ALL),
            "apt-get install --yes --no-install-recommends postgresql python3 python3-venv openssl pgbouncer"
        );
        assert_eq!(
            command(Manager::Apt, Right::Sudo, &[Requirement::Openssl]),
            "sudo -n DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends openssl"
        );
        assert_eq!(
            command(Manager::Dnf, Right::None, &[Requirement::Postgres]),
            "sudo dnf install -y postgresql-server postgresql-contrib"
        );
        assert_eq!(
            command(Manager::Brew, Right::Own, &[Requirement::Postgres, Requirement::Python]),
            "brew install postgresql@17 python"
        );
    }
}
