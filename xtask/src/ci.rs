//! `cargo xtask ci`: everything that must pass before a change is taken.
//!
//! Ordered so that what is cheap and fails often comes first, and so that nothing is built twice: clippy and the
//! documentation share their checked dependencies, the tests are the one debug build, the kill smoke the one release
//! build.

use anyhow::Result;

use crate::phase::phase;
use crate::{cargo, test, tidy};

/// Kills of the service on each store: enough to meet the common instants, few enough for every change.
const KILLS: &str = "30";

pub(crate) fn run() -> Result<()> {
    step("cargo fmt --all --check")?;
    phase("tidy", || tidy::run(&cargo::root()))?;
    step("cargo clippy --workspace --all-targets -- -D warnings")?;
    // What hides behind the facade's features, or in their absence, is compiled by nobody else.
    step("cargo clippy -p samekey --all-features -- -D warnings")?;
    step("cargo clippy -p samekey-postgres --no-default-features -- -D warnings")?;
    step("cargo clippy -p samekey-sqlx --features postgres -- -D warnings")?;
    step("cargo clippy -p samekey-sqlx --features sqlite -- -D warnings")?;
    phase("cargo doc --no-deps --workspace", || {
        cargo::run(cargo::command(["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    let summary = test::run(&[])?;
    step("cargo build --release -p samekey-server -p crash")?;
    step(&format!("cargo run --release -p crash -- --kills {KILLS}"))?;
    summary.print();
    Ok(())
}

/// A phase that is one line of cargo, announced as one would type it.
fn step(line: &str) -> Result<()> {
    phase(line, || cargo::run(&mut cargo::command(line.split_whitespace().skip(1))))
}
