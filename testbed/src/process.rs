//! A process of our own: its lines, its log, its end.
//!
//! Every wait here is on a signal, not on a clock: readiness is a line on standard output, the end is `waitid`. The
//! waiting thread asks with `NOWAIT`, so it learns of the end without reaping: the process number stays ours until
//! we reap it, and a signal can never reach a stranger who was given the number meanwhile.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tempfile::TempDir;

use crate::Error;
use crate::death_watch::DeathWatch;
use crate::run::program;

/// How long a process may take to obey the signal that its [`Stop`] names, before it is killed.
///
/// Above the five seconds after which PostgreSQL kills its own children that did not obey.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How a process is stopped when it is dropped, or when we die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// SIGKILL.
    Kill,
    /// SIGQUIT, which PostgreSQL reads as "stop at once, and take your children along".
    Quit,
}

impl Stop {
    fn signal(self) -> (Signal, &'static str) {
        match self {
            Self::Kill => (Signal::KILL, "KILL"),
            Self::Quit => (Signal::QUIT, "QUIT"),
        }
    }
}

/// Where a program says what we wait for.
#[derive(Clone, Copy, Debug)]
enum Speaks {
    /// On standard output; the log is apart.
    Output,
    /// In the log, on standard error.
    Log,
}

/// A running process. Dropping it stops it.
#[derive(Debug)]
pub struct Process {
    what: String,
    child: Child,
    ended: Mutex<Receiver<()>>,
    status: Option<ExitStatus>,
    stop: Stop,
    watch: Option<DeathWatch>,
    log: TempDir,
}

/// The lines that a process prints on standard output. Once dropped, further lines are read and thrown away, so that
/// the process never blocks on a full pipe.
#[derive(Debug)]
pub struct Lines(Receiver<String>);

impl Process {
    /// Starts `command` with nothing on its standard input and its standard error in a log file. At our death
    /// `belongings` are removed, as whoever owns them would have done.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be started.
    pub fn spawn(command: &mut Command, stop: Stop, belongings: &[&Path]) -> Result<(Self, Lines), Error> {
        Self::spawn_speaking(command, Speaks::Output, stop, belongings)
    }

    /// The same for a program that says everything on standard error: its log is also what [`Lines`] gives.
    pub(crate) fn spawn_logging(
        command: &mut Command,
        stop: Stop,
        belongings: &[&Path],
    ) -> Result<(Self, Lines), Error> {
        Self::spawn_speaking(command, Speaks::Log, stop, belongings)
    }

    fn spawn_speaking(
        command: &mut Command,
        speaks: Speaks,
        stop: Stop,
        belongings: &[&Path],
    ) -> Result<(Self, Lines), Error> {
        let log = tempfile::Builder::new().prefix("samekey-log-").tempdir();
        let log = log.map_err(Error::io("create a folder for the log"))?;
        let file = File::create(log.path().join("stderr")).map_err(Error::io("create the log"))?;
        let copy = match speaks {
            Speaks::Output => {
                command.stdout(Stdio::piped()).stderr(file);
                None
            }
            Speaks::Log => {
                command.stdout(Stdio::null()).stderr(Stdio::piped());
                Some(file)
            }
        };
        let what = program(command);
        // In a group of its own, so that Ctrl-C reaches it through us only.
        let child = command.stdin(Stdio::null()).process_group(0).spawn();
        let mut child = child.map_err(Error::io(format!("start {what}")))?;
        let lines = Lines::of(&mut child, copy);
        let ended = Mutex::new(end_of(&child));
        let folders: Vec<&Path> = belongings.iter().copied().chain([log.path()]).collect();
        let watch = DeathWatch::over(child.id(), stop.signal().1, &folders);
        // Made before the watch is looked at: dropping it stops the child where there is none.
        let mut process = Self { what, child, ended, status: None, stop, watch: None, log };
        process.watch = Some(watch.map_err(Error::io("start the watch beside it"))?);
        Ok((process, lines))
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written on standard error until now.
    #[must_use]
    pub fn stderr(&self) -> String {
        let bytes = std::fs::read(self.log.path().join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads `lines` until `pick` finds what it looks for. `awaited` completes the sentence "it did not …".
    ///
    /// # Errors
    /// [`Error::Ended`] with its log when the process ends first, [`Error::TimedOut`] after `limit`.
    pub fn wait_for<T>(
        &mut self,
        lines: &Lines,
        awaited: &'static str,
        limit: Duration,
        mut pick: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, Error> {
        let deadline = Instant::now() + limit;
        loop {
            match lines.0.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(found) = pick(&line) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(self.timed_out(awaited, limit)),
                // It is ending, and its status is worth the wait; one that only closed its output is made to end.
                Err(RecvTimeoutError::Disconnected) => {
                    let status = if self.has_ended(STOP_LIMIT) { self.reap() } else { self.kill() };
                    return Err(Error::Ended { what: self.what.clone(), status, log: self.stderr() });
                }
            }
        }
    }

    /// SIGKILL, and waits until it is gone. A process that has ended already keeps the status it ended with.
    pub fn kill(&mut self) -> ExitStatus {
        self.signal(Signal::KILL);
        self.reap()
    }

    /// SIGTERM, and waits for its end.
    ///
    /// # Errors
    /// [`Error::TimedOut`] when it still lives after `limit`; it is left running, so that it can be looked at.
    pub fn terminate(&mut self, limit: Duration) -> Result<ExitStatus, Error> {
        self.signal(Signal::TERM);
        self.wait(limit)
    }

    /// Waits for its end without a signal.
    ///
    /// # Errors
    /// [`Error::TimedOut`] when it still lives after `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus, Error> {
        if self.has_ended(limit) { Ok(self.reap()) } else { Err(self.timed_out("end", limit)) }
    }

    /// Sends any signal; one to a process that has ended is lost, as it should be.
    pub fn signal(&mut self, signal: Signal) {
        if self.status.is_none() {
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// Stops it the way its [`Stop`] says, and by SIGKILL if it does not obey.
    pub(crate) fn stop_now(&mut self) -> ExitStatus {
        self.signal(self.stop.signal().0);
        if !self.has_ended(STOP_LIMIT) {
            self.signal(Signal::KILL);
        }
        self.reap()
    }

    fn has_ended(&mut self, limit: Duration) -> bool {
        let ended = self.ended.get_mut().expect("nothing panics while holding this lock");
        self.status.is_some() || !matches!(ended.recv_timeout(limit), Err(RecvTimeoutError::Timeout))
    }

    fn reap(&mut self) -> ExitStatus {
        if let Some(status) = self.status {
            return status;
        }
        let status = self.child.wait().expect("a child that nobody else reaps can be waited for");
        self.status = Some(status);
        if let Some(watch) = self.watch.take() {
            watch.stand_down();
        }
        status
    }

    fn timed_out(&self, awaited: &'static str, limit: Duration) -> Error {
        Error::TimedOut { what: self.what.clone(), awaited, limit, log: self.stderr() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop_now();
    }
}

impl Lines {
    /// From whichever output is piped.
    fn of(child: &mut Child, copy: Option<File>) -> Self {
        let (sender, receiver) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || forward(BufReader::new(stdout), &sender, copy));
        } else if let Some(stderr) = child.stderr.take() {
            thread::spawn(move || forward(BufReader::new(stderr), &sender, copy));
        }
        Self(receiver)
    }
}

/// Passes lines on until the output ends, also when nobody listens any more. The copy is written first: who has heard
/// of a line, or of the end, finds it in the log.
fn forward(mut output: impl BufRead, sender: &Sender<String>, mut copy: Option<File>) {
    let mut line = Vec::new();
    while matches!(output.read_until(b'\n', &mut line), Ok(read) if read > 0) {
        if let Some(file) = &mut copy {
            let _ = file.write_all(&line);
        }
        let _ = sender.send(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
}

/// Closes its channel when `child` has ended, without reaping it.
fn end_of(child: &Child) -> Receiver<()> {
    let pid = Pid::from_child(child);
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let _held_until_the_end: Sender<()> = sender;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::time::Duration;

    use super::{Process, Stop};
    use crate::Error;

    const LIMIT: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> (Process, super::Lines) {
        Process::spawn(Command::new("sh").args(["-c", script]), Stop::Kill, &[]).unwrap()
    }

    fn ready(line: &str) -> Option<()> {
        (line == "ready").then_some(())
    }

    #[test]
    fn a_line_is_found_among_others() {
        let (mut process, lines) = shell("echo one; echo port 7; exec sleep 600");
        let port = process
            .wait_for(&lines, "name a port", LIMIT, |line| line.strip_prefix("port ").map(str::to_owned));
        assert_eq!(port.unwrap(), "7");
    }

    #[test]
    fn an_early_end_carries_the_log_and_the_status() {
        let (mut process, lines) = shell("echo no such table >&2; exit 3");
        match process.wait_for(&lines, "get ready", LIMIT, ready).unwrap_err() {
            Error::Ended { status, log, .. } => {
                assert_eq!((status.code(), log.trim()), (Some(3), "no such table"));
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn silence_is_bounded() {
        let (mut process, lines) = shell("exec sleep 600");
        let silence = process.wait_for(&lines, "get ready", Duration::from_millis(1), ready);
        assert!(matches!(silence, Err(Error::TimedOut { .. })), "{silence:?}");
    }

    #[test]
    fn terminate_gives_the_exit_status_and_kill_the_signal() {
        let (mut polite, lines) = shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
        polite.wait_for(&lines, "get ready", LIMIT, ready).unwrap();
        assert_eq!(polite.terminate(LIMIT).unwrap().code(), Some(7));
        assert_eq!(polite.kill().code(), Some(7), "the first end stands");

        let (mut stubborn, lines) = shell("trap '' TERM; echo ready; exec sleep 600");
        stubborn.wait_for(&lines, "get ready", LIMIT, ready).unwrap();
        assert!(matches!(stubborn.terminate(Duration::from_millis(1)), Err(Error::TimedOut { .. })));
        assert_eq!(stubborn.kill().signal(), Some(9));
    }
}
