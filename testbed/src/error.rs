//! What can go wrong with a part: every variant carries what the part itself said, for a test that only reports "it did
//! not start" sends its reader on a search.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a part did not start, answer or stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program this machine does not have.
    #[error("{what} was not found on this machine; {advice}")]
    Missing {
        /// The program.
        what: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// A program ran and said no.
    #[error("{what} failed with {status}:\n{output}")]
    Failed {
        /// The program.
        what: String,
        /// How it ended.
        status: ExitStatus,
        /// What it printed.
        output: String,
    },
    /// A part ended before it was ready, or while something was awaited from it.
    #[error("{what} ended with {status} before it did what was awaited; its log:\n{log}")]
    Ended {
        /// The part.
        what: String,
        /// How it ended.
        status: ExitStatus,
        /// Its standard error.
        log: String,
    },
    /// A part did not do in time what was awaited.
    #[error("{what} did not {awaited} within {limit:?}; its log:\n{log}")]
    TimedOut {
        /// The part.
        what: String,
        /// What was awaited.
        awaited: &'static str,
        /// How long.
        limit: Duration,
        /// Its standard error.
        log: String,
    },
    /// The operating system refused something.
    #[error("could not {doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What it answered.
        source: io::Error,
    },
}

impl Error {
    /// Names what was being done when the operating system refused: `.map_err(Error::io("read the envelope"))`.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
