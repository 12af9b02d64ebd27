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
//! A store that keeps records alone, in one process, runs what is said of records ([`main_records`]). What is said of records
//! in a user's transaction is run once for each driver whose transactions can be joined ([`main_joining`]).
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
mod case;
mod claiming;
mod delivering;
mod harness;
mod joining;
mod leases;
mod message_keys;
mod races;
mod retention;
mod samples;
mod second_process;
mod steps;
mod tenants;

pub use harness::{Harness, JoinHarness, RecordsHarness, Store, Waiting, main, main_joining, main_records};
