//! The one suite that every store must pass.
//!
//! Two stores that are tested apart drift apart: one steals a lease the other would respect, one compares keys by case. So
//! what a store promises is said once, here, as cases over the traits of `samekey-core`, and each store runs all of them:
//!
//! ```text
//! // tests/conformance.rs of a store, with `harness = false`
//! fn main() -> std::process::ExitCode {
//!     samekey_conformance::main::<MyHarness>()
//! }
//! ```
//!
//! A race inside one process proves little about a database. The cases in `races` start a second process, the test binary
//! again in another role (`second_process`), and let both go on a signal.
//!
//! This crate is test code that happens to be a library: it panics where a promise is broken.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a suite's failure is a panic, and each case's name says what it is about"
)]

mod accepting;
mod claiming;
mod delivering;
mod harness;
mod join_harness;
mod joining;
mod leases;
mod operators;
mod races;
mod retention;
mod samples;
mod second_process;
mod steps;
mod tenants;

pub use harness::{Harness, SendingHarness, main, records, records_in_one_process};
pub use join_harness::{JoinHarness, Waiting, joining};
