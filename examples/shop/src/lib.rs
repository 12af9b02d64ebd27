//! A small real service: it charges at a payment provider and keeps orders, and a retried request does neither twice.
//!
//! - [`orders`]: the shop, as a team would write it; [`orders::routes`] is where Samekey stands.
//! - [`psp`]: the payment provider, a process of its own.

pub mod orders;
pub mod psp;
