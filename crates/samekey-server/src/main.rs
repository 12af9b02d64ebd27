//! The `samekey` binary.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A request is a few dozen small allocations that die together; `docs/performance.md` has what this is worth.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    samekey_server::cli::run()
}
