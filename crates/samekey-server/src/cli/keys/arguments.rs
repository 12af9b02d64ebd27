//! The arguments of `samekey keys`, and the help that teaches them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use samekey_core::record::RecordState;
use samekey_core::{Key, Scope};

use super::super::options::Database;
use super::text;

/// Keys of your own handlers: look at their records, and settle what nobody can tell
///
/// A record is `unknown` when a call to another side may or may not have happened: every retry
/// hears 409 `outcome-unknown` until somebody settles it. Ask the other side, then say what you
/// have learned:
///
///   samekey keys list --state unknown
///   samekey keys show shop order-1042-pay
///   samekey keys resolve shop order-1042-pay --status 201 --body answer.json \
///     --who ada --why 'the bank has it: tx 77'
///   samekey keys release shop order-1042-pay --who ada --why 'the bank never saw it'
///
/// SCOPE is the tenant that a key belongs to: its text, or `hex:` and its bytes as `list` shows them.
/// (Messages of the sending API are not among these: their own `unknown` is in GET /v1/messages/{id}.)
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(in super::super) struct Keys {
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// List records, in the order of scope and key.
    List(List),
    /// Show one record with its steps, and how it was settled.
    Show(Show),
    /// Settle an unknown record as done: retries are answered with the response that you give here.
    Resolve(Resolve),
    /// Settle a record as failed: its key is free, and the next request under it runs, with new derived keys.
    Release(Release),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only keys of this tenant: its text, or `hex:…`.
    #[arg(long, value_parser = text::read_scope)]
    pub(super) scope: Option<Scope>,

    /// Only records in this state.
    #[arg(long, value_enum)]
    pub(super) state: Option<State>,

    /// At most so many.
    #[arg(long, default_value_t = 100)]
    pub(super) limit: usize,

    /// Print a JSON object a line.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) database: Database,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum State {
    /// Claimed, and not ended; also where the lease is over.
    InProgress,
    /// It has its answer.
    Completed,
    /// Nobody can tell whether it happened.
    Unknown,
}

impl State {
    pub(super) fn in_store(self) -> RecordState {
        match self {
            Self::InProgress => RecordState::InProgress,
            Self::Completed => RecordState::Completed,
            Self::Unknown => RecordState::Unknown,
        }
    }
}

/// Which record.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The tenant that the key belongs to: its text, or `hex:…`.
    #[arg(value_parser = text::read_scope)]
    pub(super) scope: Scope,

    /// The key.
    #[arg(value_parser = Key::new)]
    pub(super) key: Key,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    pub(super) named: Named,

    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) database: Database,
}

/// Kept beside the record.
#[derive(Debug, Args)]
pub(super) struct By {
    /// Who settles it; kept beside the record.
    #[arg(long)]
    pub(super) who: String,

    /// What you know that the record does not; kept beside the record.
    #[arg(long)]
    pub(super) why: String,
}

#[derive(Debug, Args)]
pub(super) struct Resolve {
    #[command(flatten)]
    pub(super) named: Named,

    /// The status of the response that retries get.
    #[arg(long, value_parser = clap::value_parser!(u16).range(200..=599))]
    pub(super) status: u16,

    /// The file that holds its body, to the byte; `-` is standard input. Without it, the body is empty.
    #[arg(long, value_name = "FILE")]
    pub(super) body: Option<PathBuf>,

    /// The Content-Type of the body.
    #[arg(long, value_name = "TYPE", default_value = "application/json", requires = "body")]
    pub(super) content_type: String,

    #[command(flatten)]
    pub(super) by: By,
    #[command(flatten)]
    pub(super) database: Database,
}

#[derive(Debug, Args)]
pub(super) struct Release {
    #[command(flatten)]
    pub(super) named: Named,
    #[command(flatten)]
    pub(super) by: By,
    #[command(flatten)]
    pub(super) database: Database,
}
