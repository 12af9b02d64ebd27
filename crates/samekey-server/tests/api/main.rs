//! The real binary on real databases, driven over HTTP as its users do.
#![cfg(test)]

mod bad_input;
mod deliveries;
mod keys;
mod main_job;
mod operations;
mod schema;
mod service;
mod tenants;
