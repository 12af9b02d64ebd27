//! Running a program to its end, with its output in the error when it fails.

use std::process::{Command, Output, Stdio};

use crate::Error;

/// Runs `command` to its end and gives what it printed on standard output.
///
/// # Errors
/// [`Error::Io`] where it cannot be started, [`Error::Failed`] where it ends with anything but success.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let what = program(command);
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(Error::io(format!("start {what}")))?;
    let said = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(said);
    }
    Err(Error::Failed { what, status, output: said + &String::from_utf8_lossy(&stderr) })
}

/// The program's name, for messages.
pub(crate) fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
