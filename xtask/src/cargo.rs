//! Running cargo on this workspace.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result};

/// A program that was run ended without success.
#[derive(Debug)]
pub(crate) struct Ended {
    what: String,
    status: ExitStatus,
}

impl Ended {
    /// Its exit code, or 1 where a signal ended it.
    pub(crate) fn code(&self) -> ExitCode {
        let code = self.status.code().and_then(|code| u8::try_from(code).ok());
        code.map_or(ExitCode::FAILURE, ExitCode::from)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ended with {}", self.what, self.status)
    }
}

impl std::error::Error for Ended {}

/// The root of the workspace: where the sources were when this was built.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().map_or_else(|| own.to_owned(), Path::to_owned)
}

/// `cargo args`, in the root, by the cargo that runs us.
pub(crate) fn command(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(args).current_dir(root());
    command
}

/// Runs `command` to its end.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let what = shown(command);
    let status = command.status().with_context(|| format!("start `{what}`"))?;
    if status.success() { Ok(()) } else { Err(Ended { what, status }.into()) }
}

/// The same, and shows each line of its standard output to `look` on its way to the screen.
pub(crate) fn run_watching(command: &mut Command, look: impl FnMut(&str)) -> Result<()> {
    let what = shown(command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("start `{what}`"))?;
    let output = child.stdout.take().context("its standard output was piped")?;
    watch(BufReader::new(output), std::io::stdout(), look)?;
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(Ended { what, status }.into()) }
}

fn watch(mut output: impl BufRead, mut screen: impl Write, mut look: impl FnMut(&str)) -> Result<()> {
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        screen.write_all(&line)?;
        look(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    Ok(screen.flush()?)
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Ended, run, watch};

    #[test]
    fn the_exit_code_comes_back_in_the_error() {
        let error = run(Command::new("sh").args(["-c", "exit 101"])).unwrap_err();
        assert_eq!(error.downcast_ref::<Ended>().unwrap().status.code(), Some(101));
        assert_eq!(error.to_string(), "`sh -c exit 101` ended with exit status: 101");
    }

    #[test]
    fn every_line_is_seen_and_passed_on() {
        let (mut seen, mut screen) = (Vec::new(), Vec::new());
        watch(&b"a\nb"[..], &mut screen, |line| seen.push(line.to_owned())).unwrap();
        assert_eq!((seen, screen.as_slice()), (vec!["a".to_owned(), "b".to_owned()], &b"a\nb"[..]));
    }
}
