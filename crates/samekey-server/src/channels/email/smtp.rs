//! SMTP, step by step.
//!
//! lettre's own `send` says that a mail failed, but not whether the final dot had left; that difference decides between "not
//! sent, try again" and "nobody can tell". So its connection is driven one command at a time, and before the content is
//! written the attempt is marked as doubtful. (Content without its final dot is no mail; writing and dot are one step in
//! here, so a cut in the middle of the content counts as doubtful too, which is the careful side.)

mod pool;
mod server;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::response::Response;
use samekey_core::delivery::Ending;

use super::Composed;
use pool::{Pool, Source};
pub use server::InvalidSmtpUrl;
use server::Server;

/// A mail server.
#[derive(Debug)]
pub struct SmtpTransport {
    server: Server,
    pool: Pool,
}

/// Whether the final dot may have left.
#[derive(Default)]
struct Doubt(AtomicBool);

impl Doubt {
    fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// How an attempt ended that was cut short.
    fn cut(&self, detail: &str) -> Ending {
        if self.0.load(Ordering::Acquire) {
            Ending::Ambiguous { detail: format!("{detail}; the mail had left, and its answer did not come") }
        } else {
            Ending::Deferred { detail: format!("{detail}; nothing was sent"), retry_after: None }
        }
    }
}

impl SmtpTransport {
    /// The server of `smtp://user:password@host:port`, `smtp://…?tls=required` (STARTTLS or nothing) or `smtps://…`.
    /// `ca_file` holds the certificates to trust instead of the usual ones, in PEM.
    ///
    /// # Errors
    /// [`InvalidSmtpUrl`], which never repeats the password.
    pub fn new(url: &str, ca_file: Option<&Path>) -> Result<Self, InvalidSmtpUrl> {
        Ok(Self { server: Server::read(url, ca_file)?, pool: Pool::default() })
    }

    /// One attempt, within `limit` and until `stop`.
    ///
    /// # Guarantees
    /// [`Ending::Sent`] and [`Ending::Refused`] only on the server's word; [`Ending::Deferred`] only where the final dot has
    /// not left or the server has declined; [`Ending::Ambiguous`] everywhere else.
    pub(super) async fn send(
        &self,
        mail: &Composed,
        limit: Duration,
        stop: impl Future<Output = ()> + Send,
    ) -> Ending {
        let doubt = Doubt::default();
        tokio::select! {
            biased;
            () = stop => doubt.cut("the service is stopping"),
            ending = self.exchange(mail, &doubt) => ending,
            () = tokio::time::sleep(limit) => doubt.cut(&format!("the mail server took longer than {limit:?}")),
        }
    }

    async fn exchange(&self, mail: &Composed, doubt: &Doubt) -> Ending {
        loop {
            let (mut connection, source) = match self.pool.connection(&self.server).await {
                Ok(connected) => connected,
                Err(error) => {
                    let detail = format!("no connection to the mail server: {}", told(&error));
                    return Ending::Deferred { detail, retry_after: None };
                }
            };
            match transaction(&mut connection, mail, doubt).await {
                Ok(response) => {
                    self.pool.keep(connection);
                    return Ending::Sent { provider_id: queue_id(&response) };
                }
                // The server had closed an idle connection. Nothing was begun on it, so a fresh one is no repeat.
                Err((Step::Mail, error)) if source == Source::Idle && error.status().is_none() => {}
                Err((step, error)) => {
                    self.pool.keep_reset(connection, &error).await;
                    return ended(step, &error, doubt);
                }
            }
        }
    }
}

/// Which step was refused or cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Mail,
    Recipient,
    Data,
    Content,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Mail => "MAIL",
            Self::Recipient => "RCPT",
            Self::Data => "DATA",
            Self::Content => "the content",
        }
    }
}

/// RFC 5321, section 3.3.
async fn transaction(
    connection: &mut AsyncSmtpConnection,
    mail: &Composed,
    doubt: &Doubt,
) -> Result<Response, (Step, Error)> {
    let from = mail.envelope.from().cloned();
    connection.command(Mail::new(from, Vec::new())).await.map_err(|error| (Step::Mail, error))?;
    for to in mail.envelope.to() {
        let recipient = Rcpt::new(to.clone(), Vec::new());
        connection.command(recipient).await.map_err(|error| (Step::Recipient, error))?;
    }
    connection.command(Data).await.map_err(|error| (Step::Data, error))?;
    doubt.begin();
    connection.message(&mail.bytes).await.map_err(|error| (Step::Content, error))
}

/// What a failed step means: the server's word is definite, silence is not.
fn ended(step: Step, error: &Error, doubt: &Doubt) -> Ending {
    let detail = format!("{}: {}", step.name(), told(error));
    if error.is_permanent() {
        Ending::Refused { detail }
    } else if error.is_transient() {
        Ending::Deferred { detail, retry_after: None }
    } else {
        doubt.cut(&detail)
    }
}

/// The error with its cause, in one line of bounded length.
fn told(error: &Error) -> String {
    let mut text = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        text = format!("{text}: {cause}");
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

/// Postfix, Exim and others say `… queued as 4XyZ…` or `… id=1q…`.
fn queue_id(response: &Response) -> Option<String> {
    let text = response.first_line()?;
    let after = ["queued as ", "id=", "Queued as "].into_iter().find_map(|words| text.split_once(words))?.1;
    let id: String = after.chars().take_while(char::is_ascii_graphic).take(128).collect();
    (!id.is_empty()).then_some(id)
}
