//! The `samekey` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    samekey_server::cli::run()
}
