#![doc = include_str!("docs/crate.md")]

mod attempt;
mod error;
mod keys;
mod layer;
mod problem;
mod random;
mod run;

pub use attempt::{Attempt, Completed};
pub use error::Error;
pub use keys::{Counts, Keys};
pub use layer::{IdempotencyLayer, IdempotencyService};
pub use problem::Problem;
pub use run::{Ran, RunError};
