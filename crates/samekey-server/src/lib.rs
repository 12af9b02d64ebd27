//! The sending service: accept a message once, deliver it once.
//!
//! A message comes in over HTTP ([`api`]), is checked ([`fields`]), and is stored together with its key in one commit that
//! many requests share ([`intake`]). From then on it belongs to the dispatcher ([`dispatch`]), which takes due deliveries
//! in hand under a lease, records the attempt, calls the provider through a [`channels::Channel`], and writes down what
//! came of it. The two halves meet only in the store: they may run in one process or in many.
//!
//! What a crash leaves behind at each point is said where the point is: [`intake::Intake::accept`] and
//! [`dispatch::Dispatcher::run`].

pub mod api;
pub mod channels;
pub mod cli;
pub mod dispatch;
pub mod fields;
pub mod intake;
pub mod random;
pub mod store;
pub mod upkeep;
