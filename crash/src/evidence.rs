//! What was seen from outside: by the clients, by the witness, and what the service says of itself in the end.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What the service does after an attempt whose end nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Tries again under the same `Message-ID`: a repeat on the wire is allowed, and counted.
    AtLeastOnce,
    /// Leaves it unknown: no repeat may ever occur.
    AtMostOnce,
}

impl Policy {
    /// As `--email-policy` takes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AtLeastOnce => "at-least-once",
            Self::AtMostOnce => "at-most-once",
        }
    }
}

/// What a client was told about one intent, over all attempts with its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Intent {
    /// Every id that a 202 named. More than one is a duplicate.
    pub(crate) ids: BTreeSet<String>,
    /// How often the answer was `queued`, that is, "you are the first".
    pub(crate) queued: u32,
    /// Answers that the contract does not know here, in words.
    pub(crate) astray: Vec<String>,
}

/// One mail that the witness accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mail {
    /// The header that a receiving system dedupes on.
    pub(crate) message_id: String,
    /// From the envelope.
    pub(crate) recipient: String,
    /// Carries the intent's number.
    pub(crate) subject: String,
}

/// The service's own account of a message, after healing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) state: State,
    pub(crate) maybe_sent: bool,
    /// Attempts that the provider said yes to.
    pub(crate) answered: usize,
    /// Attempts that nobody knows the end of.
    pub(crate) doubtful: usize,
}

impl Account {
    /// No more copies than this can be explained.
    pub(crate) fn arrivals(&self) -> usize {
        self.answered + self.doubtful
    }
}

/// A message's state as far as the judge tells states apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Scheduled, queued or sending: not final.
    Open,
    Sent,
    Unknown,
    /// Failed, cancelled or expired: the service says that it was never delivered.
    GivenUp,
    /// The service does not know the id.
    Gone,
}

impl State {
    /// Reads the API's `status`; a word the contract does not have is none.
    pub(crate) fn from_status(status: &str) -> Option<Self> {
        match status {
            "scheduled" | "queued" | "sending" => Some(Self::Open),
            "sent" => Some(Self::Sent),
            "unknown" => Some(Self::Unknown),
            "failed" | "cancelled" | "expired" => Some(Self::GivenUp),
            _ => None,
        }
    }
}

/// All there is to judge one trial by.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) policy: Policy,
    /// By number.
    pub(crate) intents: BTreeMap<u64, Intent>,
    /// By message id.
    pub(crate) accounts: BTreeMap<String, Account>,
    /// In the order they came.
    pub(crate) mails: Vec<Mail>,
}

/// What a subject says about the intent behind a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The body that was accepted.
    Own(u64),
    /// Another body that came under the same key and must have been refused.
    Other(u64),
}

impl Subject {
    pub(crate) fn parse(subject: &str) -> Option<Self> {
        let (word, number) = subject.trim().split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "Intent" => Some(Self::Own(number)),
            "Other" => Some(Self::Other(number)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own(number) => write!(f, "Intent {number}"),
            Self::Other(number) => write!(f, "Other {number}"),
        }
    }
}

/// Where an intent's mail must go.
pub(crate) fn recipient(number: u64) -> String {
    format!("intent-{number}@example.org")
}
