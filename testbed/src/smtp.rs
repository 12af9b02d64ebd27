//! A real SMTP server that misbehaves on command.
//!
//! The dangerous instant of an e-mail is the one after the final dot: the server may have the message, and the client
//! does not know. No mock of a client library reaches it. The server is `aiosmtpd`, driven by `smtp_server.py`; it has
//! no rule against duplicates, so what it stored is what a real receiver would have got.
//!
//! The local part of a recipient asks for a fault; what follows a `+` only tells recipients apart
//! (`greylist-once+order-7@example.org`):
//!
//! | local part | what happens |
//! |---|---|
//! | `refuse-NNN`, `defer-NNN` | RCPT is answered with that code, each time |
//! | `greylist-once` | RCPT is answered with 451 once per recipient, then accepted |
//! | `drop-at-data` | the connection is closed in answer to DATA: nothing was sent |
//! | `data-NNN` | the final dot is answered with that code; nothing is stored |
//! | `drop-after-dot` | the message is stored, then the connection is closed without an answer, each time |
//! | `drop-after-dot-once` | the same once per recipient, then answered |
//! | `slow-dot-N` | the message is stored, then the final dot is answered after N milliseconds |

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use tempfile::TempDir;

use crate::mailbox::read_all;
use crate::process::{Lines, Process, Stop};
use crate::{Certificate, Error, Python, ReceivedMail};

const SCRIPT: &str = include_str!("../smtp_server.py");

/// For starting, and for [`Smtp::wait_for`]: a bound, far above what a busy machine needs.
const LIMIT: Duration = Duration::from_secs(60);

/// How the server speaks TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmtpTls {
    /// Not at all.
    #[default]
    Plain,
    /// After STARTTLS; before it, every other command is refused.
    StartTls,
    /// From the first byte.
    Implicit,
}

/// What the server asks of its clients. The default asks for nothing.
#[derive(Clone, Debug, Default)]
pub struct SmtpOptions {
    port: u16,
    tls: SmtpTls,
    login: Option<(String, String)>,
}

impl SmtpOptions {
    /// Listens on this port instead of a free one: for a server that comes up after its clients.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Speaks TLS, with a certificate that [`Smtp::authority`] vouches for.
    #[must_use]
    pub fn tls(mut self, tls: SmtpTls) -> Self {
        self.tls = tls;
        self
    }

    /// Takes mail only from who logs in so (AUTH PLAIN or LOGIN). Both go into the URL as they are: letters and digits.
    #[must_use]
    pub fn login(mut self, user: &str, password: &str) -> Self {
        self.login = Some((user.to_owned(), password.to_owned()));
        self
    }
}

/// A running server. Dropping it stops it and removes what it stored.
#[derive(Debug)]
pub struct Smtp {
    heard: Mutex<Heard>,
    addr: SocketAddr,
    options: SmtpOptions,
    certificate: Option<Certificate>,
    folder: TempDir,
}

/// The process, its lines and how many stored messages they have told of: one lock, for each needs the others.
#[derive(Debug)]
struct Heard {
    process: Process,
    lines: Lines,
    stored: usize,
}

impl Smtp {
    /// Starts a server and waits until it listens.
    ///
    /// # Errors
    /// As [`Python::prepare`], and what `openssl` and the server say.
    pub fn start(options: SmtpOptions) -> Result<Self, Error> {
        let python = Python::prepare()?;
        let folder = tempfile::Builder::new().prefix("samekey-smtp-").tempdir();
        let folder = folder.map_err(Error::io("create a folder for the mailbox"))?;
        let certificate = match options.tls {
            SmtpTls::Plain => None,
            SmtpTls::StartTls | SmtpTls::Implicit => Some(Certificate::create(folder.path())?),
        };
        let script = folder.path().join("smtp_server.py");
        std::fs::write(&script, SCRIPT).map_err(Error::io("write the server's script"))?;
        let mailbox = mailbox(&folder);
        std::fs::create_dir(&mailbox).map_err(Error::io("create the mailbox"))?;

        let mut command = python.command(&script);
        command.arg("--folder").arg(&mailbox).args(["--port", &options.port.to_string()]);
        add_options(&mut command, &options, certificate.as_ref());
        let (mut process, lines) = Process::spawn(&mut command, Stop::Kill, &[folder.path()])?;
        let address = |line: &str| line.strip_prefix("listening ")?.parse().ok();
        let addr = process.wait_for(&lines, "listen", LIMIT, address)?;
        let heard = Mutex::new(Heard { process, lines, stored: 0 });
        Ok(Self { heard, addr, options, certificate, folder })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The URL a client is given, with the login and with what it says about TLS: `smtp://…`, `smtp://…?tls=required`
    /// for STARTTLS, `smtps://…` for implicit TLS.
    #[must_use]
    pub fn url(&self) -> String {
        let login =
            self.options.login.as_ref().map_or(String::new(), |(user, word)| format!("{user}:{word}@"));
        let (scheme, tail) = match self.options.tls {
            SmtpTls::Plain => ("smtp", ""),
            SmtpTls::StartTls => ("smtp", "?tls=required"),
            SmtpTls::Implicit => ("smtps", ""),
        };
        format!("{scheme}://{login}{}{tail}", self.addr)
    }

    /// The authority that vouches for its certificate (PEM), where it speaks TLS.
    #[must_use]
    pub fn authority(&self) -> Option<&Path> {
        self.certificate.as_ref().map(|certificate| certificate.authority.as_path())
    }

    /// All messages stored until now, in the order they came.
    ///
    /// # Errors
    /// [`Error::Io`] where the mailbox cannot be read.
    pub fn messages(&self) -> Result<Vec<ReceivedMail>, Error> {
        read_all(&mailbox(&self.folder))
    }

    /// Waits until at least `count` messages are stored, and gives all there are.
    ///
    /// # Errors
    /// [`Error::TimedOut`] after a minute, [`Error::Ended`] where the server died.
    ///
    /// # Panics
    /// Where another thread panicked in this call.
    pub fn wait_for(&self, count: usize) -> Result<Vec<ReceivedMail>, Error> {
        let mut heard = self.heard.lock().expect("no thread panicked while it waited for mail");
        let Heard { process, lines, stored } = &mut *heard;
        while *stored < count {
            let number = |line: &str| line.strip_prefix("stored ")?.parse().ok();
            *stored = process.wait_for(lines, "store the messages awaited", LIMIT, number)?;
        }
        drop(heard);
        self.messages()
    }

    /// The server's log until now.
    ///
    /// # Panics
    /// Where another thread panicked in [`Smtp::wait_for`].
    #[must_use]
    pub fn stderr(&self) -> String {
        self.heard.lock().expect("no thread panicked while it waited for mail").process.stderr()
    }
}

fn mailbox(folder: &TempDir) -> PathBuf {
    folder.path().join("mailbox")
}

fn add_options(command: &mut Command, options: &SmtpOptions, certificate: Option<&Certificate>) {
    command.args(match options.tls {
        SmtpTls::Plain => ["--tls", "none"],
        SmtpTls::StartTls => ["--tls", "starttls"],
        SmtpTls::Implicit => ["--tls", "implicit"],
    });
    if let Some(Certificate { certificate, key, .. }) = certificate {
        command.arg("--certificate").arg(certificate).arg("--key").arg(key);
    }
    if let Some((user, password)) = &options.login {
        command.args(["--user", user, "--password", password]);
    }
}
