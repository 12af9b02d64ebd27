//! The witness: stands where the e-mail provider stands, and is never killed.
//!
//! It has no rule of uniqueness of its own: a provider that dedupes would hide the very fault that is looked for. Each
//! mail is noted and fsynced *before* the 250, so that whatever the service was told is in the log; and some mails are
//! noted and then not answered, for that is the case the service must call unknown.
//!
//! It runs in a process of its own, so that nothing it shares with the harness can lend it a memory, and it lives as
//! long as the harness holds its standard input open: it can be left behind by nobody.

mod fault;
mod log;
mod session;

use std::io::{BufRead, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, ensure};

use self::fault::Faults;
use self::log::Log;
use crate::evidence::Mail;

/// Said on standard output by the witness, once.
const READY: &str = "listening ";

/// Said on its standard input to end the faults.
const CALM: &str = "calm";

/// What every conversation shares.
#[derive(Debug)]
struct Stand {
    log: Log,
    faults: Faults,
}

/// Listens until standard input closes.
pub(crate) fn stand(log: &Path, seed: u64) -> Result<()> {
    let stand = Arc::new(Stand { log: Log::create(log)?, faults: Faults::seeded(seed) });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{READY}{}", listener.local_addr()?);
    let shared = Arc::clone(&stand);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let stand = Arc::clone(&shared);
            // A conversation that breaks is the client's concern; what was noted stays noted.
            thread::spawn(move || session::converse(&stream, &stand));
        }
    });
    for line in std::io::stdin().lock().lines() {
        if line? == CALM {
            stand.faults.end();
        }
    }
    Ok(())
}

/// The harness's hold on its witness.
#[derive(Debug)]
pub(crate) struct Witness {
    process: Child,
    input: Option<ChildStdin>,
    addr: SocketAddr,
}

impl Witness {
    /// Starts this program again in the witness's role.
    pub(crate) fn start(log: &Path, seed: u64) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("witness").arg("--log").arg(log).args(["--seed", &seed.to_string()]);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("start the witness")?;
        let output = process.stdout.take().expect("the output was piped");
        let mut line = String::new();
        std::io::BufReader::new(output).read_line(&mut line)?;
        let addr = line.trim_end().strip_prefix(READY).context("the witness did not say where it listens")?;
        Ok(Self { addr: addr.parse()?, input: process.stdin.take(), process })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// From here on every mail is answered well.
    pub(crate) fn calm(&mut self) -> Result<()> {
        let input = self.input.as_mut().context("the witness has been dismissed")?;
        writeln!(input, "{CALM}").context("calm the witness")
    }

    /// Lets it end.
    pub(crate) fn dismiss(mut self) -> Result<()> {
        self.input = None;
        let status = self.process.wait()?;
        ensure!(status.success(), "the witness ended with {status}");
        Ok(())
    }
}

/// Reads the log back.
pub(crate) fn read_log(path: &Path) -> Result<Vec<Mail>> {
    let text = std::fs::read_to_string(path).context("read the witness's log")?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Hands a mail over as a client would, for the self-test: a duplicate that the service did not make.
pub(crate) fn deliver(addr: SocketAddr, mail: &Mail) -> Result<()> {
    session::deliver(TcpStream::connect(addr)?, mail)
}
