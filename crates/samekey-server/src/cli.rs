//! The command line.
//!
//! Every option is also a variable `SAMEKEY_…`, so that a container needs no arguments. What cannot work is said at the
//! start, in one sentence, and not when the first message fails.

mod database;
mod dispatching;
mod failure;
mod keys;
mod logging;
mod options;
mod schema;
mod serve;
mod tenants;

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Parser;
use samekey_core::UnixMs;

pub use failure::Failure;
use options::{Command, Samekey};

/// Reads the arguments and does what they say.
#[must_use]
pub fn run() -> ExitCode {
    let samekey = Samekey::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(act(samekey)),
        Err(error) => Err(Failure::new(format!("no runtime: {error}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::FAILURE
        }
    }
}

async fn act(samekey: Samekey) -> Result<(), Failure> {
    match samekey.command {
        Command::Serve(serve) => serve::serve(serve).await,
        Command::Dispatch(dispatch) => serve::dispatch(dispatch).await,
        Command::Migrate(database) => database::open(&database, database::Schema::Migrate).await.map(|_| {
            say("the schema is up to date");
        }),
        Command::Schema(schema) => schema::print(&schema),
        Command::Projects(projects) => tenants::projects(projects).await,
        Command::ApiKeys(keys) => tenants::api_keys(keys).await,
        Command::Keys(keys) => keys::keys(keys).await,
    }
}

/// A line for people or scripts, on standard output. A closed pipe is nobody's fault.
fn say(line: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A point in time, in UTC and whole seconds.
fn date(at: UnixMs) -> String {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or_default());
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string()
}
