//! Connections that are used again: greeting, TLS and login cost more than the mail.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::Rset;
use tokio::time::Instant;

use super::server::Server;

/// Idle connections that are kept.
const MAX_IDLE: usize = 32;
/// Servers close idle connections after a few minutes; ours are closed earlier.
const MAX_AGE: Duration = Duration::from_secs(30);

/// Where a connection came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It was kept; the server may have closed it meanwhile.
    Idle,
    /// It was made just now.
    Fresh,
}

/// Idle connections.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<(AsyncSmtpConnection, Instant)>>);

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl Pool {
    /// An idle connection, or a new one.
    pub(super) async fn connection(&self, server: &Server) -> Result<(AsyncSmtpConnection, Source), Error> {
        if let Some(idle) = self.take() {
            return Ok((idle, Source::Idle));
        }
        Ok((server.connect().await?, Source::Fresh))
    }

    fn take(&self) -> Option<AsyncSmtpConnection> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, since)| since.elapsed() < MAX_AGE);
        idle.pop().map(|(connection, _)| connection)
    }

    /// Keeps a connection whose transaction has ended well.
    pub(super) fn keep(&self, connection: AsyncSmtpConnection) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE && !connection.has_broken() {
            idle.push((connection, Instant::now()));
        }
    }

    /// Keeps a connection whose transaction was refused by the server's word, once that is undone (RFC 5321, section
    /// 4.1.1.5); any other is closed.
    pub(super) async fn keep_reset(&self, mut connection: AsyncSmtpConnection, error: &Error) {
        if error.status().is_some() && connection.command(Rset).await.is_ok() {
            self.keep(connection);
        }
    }
}
