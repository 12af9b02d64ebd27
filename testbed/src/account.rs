//! The account that PostgreSQL runs under.
//!
//! PostgreSQL refuses to run as root, and containers mostly are root. Then a lesser account that every such system has
//! runs it, and owns its folder.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::Error;
use crate::run::run;

/// `postgres` comes with the packages; `nobody` is everywhere.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// Who runs the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Account {
    /// We do, being an ordinary user.
    Ours,
    /// We are root, so another one does.
    Other { uid: u32, gid: u32 },
}

impl Account {
    pub(crate) fn find() -> Result<Self, Error> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ours);
        }
        let found = CANDIDATES.iter().find_map(|name| Some((number("-u", name)?, number("-g", name)?)));
        let (uid, gid) = found.ok_or(Error::Missing {
            what: "an account for PostgreSQL, which does not run as root,",
            advice: "create a user named postgres",
        })?;
        Ok(Self::Other { uid, gid })
    }

    /// Makes `command` run under this account.
    pub(crate) fn run_as<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match *self {
            Self::Ours => command,
            Self::Other { uid, gid } => command.uid(uid).gid(gid),
        }
    }

    /// Makes this account the owner of `path`.
    pub(crate) fn own(&self, path: &Path) -> Result<(), Error> {
        match *self {
            Self::Ours => Ok(()),
            Self::Other { uid, gid } => {
                chown(path, Some(uid), Some(gid)).map_err(Error::io(format!("give {} away", path.display())))
            }
        }
    }
}

fn number(which: &str, name: &str) -> Option<u32> {
    run(Command::new("id").args([which, name])).ok()?.trim().parse().ok()
}
