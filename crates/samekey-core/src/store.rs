//! What every store offers, and what its errors mean.
//!
//! The traits are verbs over rows, each one atomic. They hold no transaction type: a generic associated transaction does
//! not compile in an async handler (rust-lang/rust#100013). They are not object-safe, on purpose; whoever must choose
//! at run time matches on an enum of the stores there are.
//!
//! Every method may be repeated after an error whose [`StoreError::effect`] is not `Applied`; what a repeat after an
//! unknown commit finds is said at each.

mod error;
mod join;
mod known_recipes;
mod operators;
mod records;
mod sending;
mod write;

pub use error::{Effect, StoreError};
pub use join::{Dialect, Join, Value};
pub use known_recipes::KnownRecipes;
pub use operators::{
    ListFilter, Listed, MAX_LOOK, MAX_PAGE, Operators, Outcome, Page, Place, Resolution, Resolved, Shown,
    ShownStep, StepState,
};
pub use records::{
    BegunStep, Claim, ClaimRequest, Claimed, Held, RecipeId, Records, Reply, StepKind, SweepCursor, Swept,
};
pub use sending::{Backlog, Messages, Projects};
pub use write::Write;
