//! The project's own commands, `cargo xtask …`.
//!
//! Whoever clones the repository has Rust, and need not have anything else: so the commands are written in Rust, and
//! fetch what they need. `ci` is exactly what the continuous integration runs; there is no second list of steps
//! that could drift from it.

mod cargo;
mod ci;
mod phase;
mod requirements;
mod summary;
mod test;
mod tidy;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Runs all tests against real parts: installs what is missing, starts a PostgreSQL cluster of its own.
    Test {
        /// Passed on to `cargo test`: a package (`-p NAME`), a filter, `-- --nocapture`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Tests the tree itself: who depends on whom, sizes, names, links, what must not be left behind.
    Tidy,
    /// Everything that must pass before a change is taken: format, tidy, clippy, documentation, tests, the kill smoke.
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Command::parse() {
        Command::Test { args } => test::run(&args).map(|summary| summary.print()),
        Command::Tidy => tidy::run(&cargo::root()),
        Command::Ci => ci::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nxtask: {error:#}");
            // A program's own exit code is passed on, for scripts that look at it.
            error.downcast_ref::<cargo::Ended>().map_or(ExitCode::FAILURE, cargo::Ended::code)
        }
    }
}
