//! Measurements side by side: ours and what it is measured against, in one run, on one machine.
//!
//! A figure alone says more about the machine than about the program. So each measurement runs its yardstick too, one
//! phase after the other and never at once, and ends with the ratio of the two (`ratio=…`), which other machines can be
//! expected to repeat.

mod accept;
mod dispatch;
mod figures;
mod idle;
mod layer;
mod load;
mod proc;
mod subject;
mod yardstick;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::accept::Length;
use crate::subject::Store;

/// Measures samekey beside a yardstick.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Accepted requests per second over HTTP, against the same four statements without HTTP.
    Accept {
        #[arg(long, value_enum)]
        store: Store,
        #[command(flatten)]
        length: Length,
        /// How often yardstick and service take turns; medians are compared.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
    },
    /// Deliveries per second into a provider that does nothing, against the accepted rate of the same run.
    Dispatch {
        #[arg(long, value_enum)]
        store: Store,
        #[command(flatten)]
        length: Length,
    },
    /// Orders per second through the HTTP layer, against the same handler with the four statements written by hand.
    Layer {
        #[command(flatten)]
        length: Length,
        /// How often the contestants take turns; medians are compared.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
    },
    /// Memory at rest and with many idle connections, and the time from start to ready, against their limits.
    Idle {
        /// One store only; both where it is not given.
        #[arg(long, value_enum)]
        store: Option<Store>,
        /// How many idle connections.
        #[arg(long, default_value_t = 10_000)]
        connections: u32,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().what {
        What::Accept { store, length, rounds } => accept::measure(store, &length, rounds.max(1)),
        What::Dispatch { store, length } => dispatch::measure(store, &length),
        What::Layer { length, rounds } => layer::measure(&length, rounds.max(1)),
        What::Idle { store: Some(store), connections } => idle::measure(&[store], connections),
        What::Idle { store: None, connections } => {
            idle::measure(&[Store::Postgres, Store::Sqlite], connections)
        }
    }
}
