//! The options, and the help that teaches them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::keys::Keys;

/// Accept a message once, deliver it once.
///
/// Try it:  samekey serve --dev
///
///   curl -i localhost:8080/v1/messages -H 'Authorization: Bearer sk_dev_demo' \
///     -H 'Idempotency-Key: order-1042-shipped' -H 'Content-Type: application/json' \
///     -d '{"channel":"email","to":"ada@example.org","subject":"Shipped","text":"On its way."}'
///
/// Send that as often as you like: one e-mail lies in samekey-data/mail.
#[derive(Debug, Parser)]
#[command(version, verbatim_doc_comment, max_term_width = 100)]
pub(super) struct Samekey {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve the sending API, and deliver what it accepts.
    Serve(Box<Serve>),
    /// Only deliver: beside any number of `serve --no-dispatch` on the same database.
    Dispatch(Box<Dispatch>),
    /// Create or upgrade the schema, and end.
    Migrate(Database),
    /// Print the schema as SQL, for a migration tool of your own.
    Schema(Schema),
    /// Projects: whose messages they are.
    Projects(Projects),
    /// API keys: how a project proves itself.
    ApiKeys(ApiKeys),
    Keys(Keys),
}

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen; port 0 picks a free one. The line `listening on http://…` says which.
    #[arg(long, env = "SAMEKEY_LISTEN", default_value = "127.0.0.1:8080")]
    pub(super) listen: SocketAddr,

    /// For trying it out: on loopback only, knows the API key `sk_dev_demo`, writes e-mail as .eml files into
    /// DATA_DIR/mail.
    #[arg(long, env = "SAMEKEY_DEV")]
    pub(super) dev: bool,

    /// Accept only; some `samekey dispatch` on the same database delivers.
    #[arg(long, env = "SAMEKEY_NO_DISPATCH")]
    pub(super) no_dispatch: bool,

    /// Connections at once; further ones wait to be taken.
    #[arg(long, env = "SAMEKEY_MAX_CONNECTIONS", default_value_t = 20_000)]
    pub(super) max_connections: usize,

    /// How long a repeated key is recognised. Longer than your callers go on retrying.
    #[arg(long, env = "SAMEKEY_KEY_RETENTION", value_parser = humantime::parse_duration, default_value = "24h")]
    pub(super) key_retention: Duration,

    /// How long after that a repeated key is refused as expired, instead of being taken for a new one.
    #[arg(long, env = "SAMEKEY_KEY_TOMBSTONE", value_parser = humantime::parse_duration, default_value = "7d")]
    pub(super) key_tombstone: Duration,

    #[command(flatten)]
    pub(super) database: Database,
    #[command(flatten)]
    pub(super) email: Email,
    #[command(flatten)]
    pub(super) dispatching: Dispatching,
    #[command(flatten)]
    pub(super) logging: Logging,
}

#[derive(Debug, Args)]
pub(super) struct Dispatch {
    #[command(flatten)]
    pub(super) database: Database,
    #[command(flatten)]
    pub(super) email: Email,
    #[command(flatten)]
    pub(super) dispatching: Dispatching,
    #[command(flatten)]
    pub(super) logging: Logging,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Database")]
pub(super) struct Database {
    /// `sqlite:PATH` for one machine, `postgres://user:password@host/database` for several. TLS as in libpq:
    /// `?sslmode=verify-full&sslrootcert=FILE`.  [default: sqlite:DATA_DIR/samekey.db]
    #[arg(long, env = "SAMEKEY_DATABASE", hide_env_values = true, value_name = "URL")]
    pub(super) database: Option<String>,

    /// Where files are kept.
    #[arg(long, env = "SAMEKEY_DATA_DIR", value_name = "DIR", default_value = "samekey-data")]
    pub(super) data_dir: PathBuf,

    /// Connections to PostgreSQL.
    #[arg(long, env = "SAMEKEY_CONNECTIONS", default_value_t = 8)]
    pub(super) connections: usize,

    /// The schema in PostgreSQL that everything is kept in.
    #[arg(long, env = "SAMEKEY_SCHEMA", value_name = "NAME", default_value = "samekey")]
    pub(super) schema_name: String,

    /// Refuse to start on an old schema, instead of upgrading it.
    #[arg(long, env = "SAMEKEY_NO_MIGRATE")]
    pub(super) no_migrate: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "E-mail")]
pub(super) struct Email {
    /// `smtp://user:password@host:587` (STARTTLS where offered; `?tls=required` to insist), `smtps://host:465`, or
    /// `discard:`, which sends nothing and is for measuring.
    #[arg(long, env = "SAMEKEY_SMTP_URL", hide_env_values = true, value_name = "URL")]
    pub(super) smtp_url: Option<String>,

    /// Trust the certificates in this PEM file instead of the usual ones.
    #[arg(long, env = "SAMEKEY_SMTP_CA", value_name = "FILE")]
    pub(super) smtp_ca: Option<PathBuf>,

    /// The sender of messages that name none: `shop@example.org` or `Shop <shop@example.org>`.
    #[arg(long, env = "SAMEKEY_MAIL_FROM", value_name = "ADDRESS")]
    pub(super) mail_from: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Delivery")]
pub(super) struct Dispatching {
    /// Attempts that may run at once.
    #[arg(long, env = "SAMEKEY_CONCURRENCY", default_value_t = 64)]
    pub(super) concurrency: usize,

    /// How long an attempt may take.
    #[arg(long, env = "SAMEKEY_SEND_TIMEOUT", value_parser = humantime::parse_duration, default_value = "60s")]
    pub(super) send_timeout: Duration,

    /// How long a delivery stays with a worker that gives no sign of life. At least 1.2 times the send timeout.
    #[arg(long, env = "SAMEKEY_LEASE", value_parser = humantime::parse_duration, default_value = "90s")]
    pub(super) lease: Duration,

    /// The longest wait before each further attempt; the real one is drawn between nought and that.
    #[arg(
        long, env = "SAMEKEY_RETRY_SCHEDULE", value_delimiter = ',', value_parser = humantime::parse_duration,
        default_value = "5s,30s,2m,10m,1h,4h"
    )]
    pub(super) retry_schedule: Vec<Duration>,

    /// Give up on a message that is older.
    #[arg(long, env = "SAMEKEY_AGE_LIMIT", value_parser = humantime::parse_duration, default_value = "24h")]
    pub(super) age_limit: Duration,

    /// What follows an attempt of which nobody can tell whether it arrived: try again with the same Message-ID, or stop and
    /// report the message as `unknown`.
    #[arg(long, env = "SAMEKEY_EMAIL_POLICY", value_enum, default_value_t = Policy::AtLeastOnce)]
    pub(super) email_policy: Policy,

    /// How long attempts may go on after SIGTERM.
    #[arg(long, env = "SAMEKEY_DRAIN", value_parser = humantime::parse_duration, default_value = "20s")]
    pub(super) drain: Duration,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Policy {
    AtLeastOnce,
    AtMostOnce,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub(super) struct Logging {
    /// What to log: `info`, `debug`, or per module as in `info,samekey::rejection=debug`.
    #[arg(long, env = "SAMEKEY_LOG", default_value = "info")]
    pub(super) log: String,

    /// How to log, on standard error.
    #[arg(long, env = "SAMEKEY_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(super) log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
}

#[derive(Debug, Args)]
pub(super) struct Schema {
    #[command(subcommand)]
    pub(super) of: SchemaOf,
}

#[derive(Debug, Subcommand)]
pub(super) enum SchemaOf {
    /// For PostgreSQL: `samekey schema postgres | psql …`. The role that serves then needs no right to create anything:
    /// USAGE on the schema and its sequences, SELECT, INSERT, UPDATE and DELETE on its tables.
    Postgres {
        /// The schema that everything is kept in.
        #[arg(long, env = "SAMEKEY_SCHEMA", value_name = "NAME", default_value = "samekey")]
        schema: String,
    },
    /// For SQLite: `samekey schema sqlite | sqlite3 samekey.db`.
    Sqlite,
}

#[derive(Debug, Args)]
pub(super) struct Projects {
    #[command(subcommand)]
    pub(super) action: ProjectAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProjectAction {
    /// Create a project.
    Create {
        /// Its name: letters, digits, `-`, `_` and `.`, 1 to 64 of them.
        name: String,
        #[command(flatten)]
        database: Database,
    },
    /// List the projects.
    List {
        #[command(flatten)]
        database: Database,
    },
}

#[derive(Debug, Args)]
pub(super) struct ApiKeys {
    #[command(subcommand)]
    pub(super) action: ApiKeyAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum ApiKeyAction {
    /// Create an API key. It is shown once, alone on the last line; only its hash is kept.
    Create {
        /// The project's name.
        #[arg(long)]
        project: String,
        #[command(flatten)]
        database: Database,
    },
    /// List a project's API keys.
    List {
        /// The project's name.
        #[arg(long)]
        project: String,
        #[command(flatten)]
        database: Database,
    },
    /// Revoke an API key. Every process refuses it after 5 seconds at the latest.
    Revoke {
        /// Its number in the list.
        id: i64,
        /// The project's name.
        #[arg(long)]
        project: String,
        #[command(flatten)]
        database: Database,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_options_agree_with_each_other() {
        Samekey::command().debug_assert();
    }
}
