//! `cargo xtask test`: all tests, against real parts, from a fresh clone.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use anyhow::{Context, Result};
use testbed::{Cluster, POSTGRES_VARIABLE, Python};

use crate::cargo::{command, run as run_cargo, run_watching};
use crate::phase::phase;
use crate::requirements;
use crate::summary::Summary;

/// Runs the tests, `args` passed on to `cargo test`.
pub(crate) fn run(args: &[OsString]) -> Result<Summary> {
    phase("what the machine must have", requirements::install_missing)?;
    phase("python environment", || Python::prepare().map(drop).context("prepare the SMTP server"))?;
    // Apart from the run, so that the cluster does not idle through a cold build, and a compile error costs no cluster.
    phase("build", || run_cargo(&mut build_tests(args)))?;
    let cluster = phase("PostgreSQL", || Cluster::start().context("start a cluster"))?;
    let mut summary = Summary::default();
    let mut tests = run_tests(args);
    tests.env(POSTGRES_VARIABLE, cluster.url("postgres"));
    phase("cargo test", || run_watching(&mut tests, |line| summary.look(line)))?;
    Ok(summary)
}

fn run_tests(args: &[OsString]) -> Command {
    let mut command = command(["test"]);
    command.args(scope(args)).args(args);
    command
}

/// The same selection, without what is meant for the test programs.
fn build_tests(args: &[OsString]) -> Command {
    let own = args.split(|arg| arg == "--").next().unwrap_or_default();
    let mut command = command(["test", "--no-run"]);
    command.args(scope(own)).args(own);
    command
}

/// Everything, where no package is named.
fn scope(args: &[OsString]) -> Option<&'static str> {
    let names_package = |arg: &OsString| {
        let arg: &OsStr = arg;
        arg.as_encoded_bytes().starts_with(b"-p") || arg.as_encoded_bytes().starts_with(b"--package")
    };
    let own = args.split(|arg| arg == "--").next().unwrap_or_default();
    (!own.iter().any(names_package)).then_some("--workspace")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{build_tests, run_tests};
    use crate::cargo::shown;

    #[test]
    fn arguments_are_passed_on() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        for (typed, built, tested) in [
            ("", "cargo test --no-run --workspace", "cargo test --workspace"),
            ("-p testbed", "cargo test --no-run -p testbed", "cargo test -p testbed"),
            (
                "claim -- --nocapture -p",
                "cargo test --no-run --workspace claim",
                "cargo test --workspace claim -- --nocapture -p",
            ),
        ] {
            assert_eq!(shown(&build_tests(&words(typed))), built);
            assert_eq!(shown(&run_tests(&words(typed))), tested);
        }
    }
}
