//! The real binary, in a process of its own.
//!
//! What a kill leaves behind can only be learned by killing a process. The service says itself when it is ready and
//! where (`listening on http://…`), so it listens on port 0 and nobody guesses.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;

use crate::Error;
use crate::process::{Process, Stop};

/// Names the binary to run, instead of the one beside the running program.
pub const BINARY_VARIABLE: &str = "SAMEKEY_BIN";

/// Ready means 200 ms on an existing database; a first start migrates, and machines under load are slow.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// What the service prints when it is ready.
const READY: &str = "listening on http://";

/// A running `samekey`. Dropping it kills it.
#[derive(Debug)]
pub struct Service {
    process: Process,
    addr: SocketAddr,
}

impl Service {
    /// Runs the binary that [`Service::binary`] finds with `args`, and waits until it is ready. It sees none of our
    /// own `SAMEKEY_…` variables: a test says all its settings itself.
    ///
    /// # Errors
    /// [`Error::Missing`] without a binary; [`Error::Ended`] with its standard error when it ends before it is ready.
    pub fn start(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Self, Error> {
        Self::start_command(Self::command(&Self::binary()?).args(args))
    }

    /// The same for any prepared command: another binary, a folder to run in, variables.
    ///
    /// # Errors
    /// As [`Service::start`].
    pub fn start_command(command: &mut Command) -> Result<Self, Error> {
        let (mut process, lines) = Process::spawn(command, Stop::Kill, &[])?;
        let address = |line: &str| line.split_once(READY)?.1.trim_end_matches('/').parse().ok();
        let addr = process.wait_for(&lines, "say `listening on http://HOST:PORT`", READY_LIMIT, address)?;
        Ok(Self { process, addr })
    }

    /// A command for `binary` without our own `SAMEKEY_…` variables.
    #[must_use]
    pub fn command(binary: &Path) -> Command {
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SAMEKEY_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// The built binary: what [`BINARY_VARIABLE`] names, else the one in the target folder of the running program
    /// (first of its own profile, then of the other).
    ///
    /// # Errors
    /// [`Error::Missing`] with how to build it.
    pub fn binary() -> Result<PathBuf, Error> {
        let named = std::env::var_os(BINARY_VARIABLE);
        let program = std::env::current_exe().map_err(Error::io("find the running program"))?;
        binary_beside(named, &program).ok_or(Error::Missing {
            what: "the built binary samekey",
            advice: "build it with `cargo build -p samekey-server`, or name it in SAMEKEY_BIN",
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://HOST:PORT` + `path`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its log until now.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) -> ExitStatus {
        self.process.kill()
    }

    /// SIGTERM, and waits for its end.
    ///
    /// # Errors
    /// [`Error::TimedOut`] when it still lives after `limit`.
    pub fn terminate(&mut self, limit: Duration) -> Result<ExitStatus, Error> {
        self.process.terminate(limit)
    }

    /// SIGSTOP: it hangs, as in a virtual machine that is moved, until [`Service::resume`].
    pub fn pause(&mut self) {
        self.process.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn resume(&mut self) {
        self.process.signal(Signal::CONT);
    }
}

/// Programs lie in `target/PROFILE`, tests in `target/PROFILE/deps`, documentation tests in a folder of their own.
fn binary_beside(named: Option<OsString>, program: &Path) -> Option<PathBuf> {
    if let Some(named) = named {
        return Some(PathBuf::from(named));
    }
    let profile =
        program.ancestors().find(|folder| folder.ends_with("debug") || folder.ends_with("release"))?;
    let target = profile.parent()?;
    let candidates = [profile.to_owned(), target.join("debug"), target.join("release")];
    candidates.into_iter().map(|folder| folder.join("samekey")).find(|binary| binary.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::Command;

    use super::{Service, binary_beside};
    use crate::Error;

    fn service(script: &str) -> Result<Service, Error> {
        Service::start_command(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn it_is_ready_when_it_says_where_it_listens() {
        let mut service = service(
            "echo starting; echo ready >&2; echo listening on http://127.0.0.1:4321/; exec sleep 600",
        )
        .unwrap();
        assert_eq!(service.url("/healthz"), "http://127.0.0.1:4321/healthz");
        assert_eq!(service.stderr(), "ready\n");
        assert_eq!(service.kill().signal(), Some(9));
    }

    #[test]
    fn one_that_ends_first_is_an_error_with_its_log() {
        let error = service("echo the schema is newer than this binary >&2; exit 2").unwrap_err();
        assert!(error.to_string().contains("the schema is newer than this binary"), "{error}");
    }

    #[test]
    fn the_binary_of_the_own_profile_comes_first() {
        let target = tempfile::tempdir().unwrap();
        let test = target.path().join("debug/deps/accept-0123");
        let beside = |program: &Path| binary_beside(None, program);
        assert_eq!(beside(&test), None);

        let binary = |profile: &str| {
            let folder = target.path().join(profile);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("samekey"), "").unwrap();
            folder.join("samekey")
        };
        let release = binary("release");
        assert_eq!(beside(&test), Some(release.clone()));
        let debug = binary("debug");
        assert_eq!(beside(&test), Some(debug));
        assert_eq!(beside(&target.path().join("release/crash")), Some(release));
        assert_eq!(binary_beside(Some("/elsewhere".into()), &test), Some("/elsewhere".into()));
    }
}
