//! Kills the service at random instants under load, and counts what became of every intent.
//!
//! The promise of this project is about the instants that no ordinary test reaches: between two statements, between a
//! commit and its answer, between the provider's work and our note of it. Nobody can list them, so they are hit at
//! random, often, by SIGKILL. What then counts is not what the service says about itself alone but what two witnesses
//! who never die saw from outside: the clients, who note what they were promised, and the provider, who notes what he
//! was given. The judge compares the two with the service's own account.
//!
//! ```text
//! clients ──HTTP──▶ samekey (killed, restarted) ──SMTP──▶ witness (never killed)
//!    └─ journal          └─ its own account                  └─ log, fsynced before each 250
//!                        all three ──▶ judge
//! ```

mod client;
mod evidence;
mod heal;
mod http;
mod installation;
mod journal;
mod judge;
mod killer;
mod report;
mod sabotage;
mod trial;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};

use crate::evidence::Policy;
use crate::installation::Store;
use crate::trial::{Plan, Trial};

/// Kills samekey under load and judges what became of every intent.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    #[command(flatten)]
    plan: Plan,
    /// Which store the service stands on.
    #[arg(long, value_enum, default_value_t = Stores::Both)]
    store: Stores,
    /// Which e-mail policy the service follows.
    #[arg(long, value_enum, default_value_t = Policies::Both)]
    policy: Policies,
    /// Doctors the evidence of one trial and succeeds only if the judge sees it: a judge who is blind passes all.
    #[arg(long = "break")]
    sabotage: bool,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// The provider's stand-in, a process of its own; started by the harness.
    #[command(hide = true)]
    Witness {
        /// Where each accepted mail is noted.
        #[arg(long)]
        log: PathBuf,
        /// Decides which mails are answered badly.
        #[arg(long)]
        seed: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stores {
    Postgres,
    Sqlite,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policies {
    AtLeastOnce,
    AtMostOnce,
    Both,
}

impl Stores {
    fn each(self) -> &'static [Store] {
        match self {
            Self::Postgres => &[Store::Postgres],
            Self::Sqlite => &[Store::Sqlite],
            Self::Both => &[Store::Postgres, Store::Sqlite],
        }
    }
}

impl Policies {
    fn each(self) -> &'static [Policy] {
        match self {
            Self::AtLeastOnce => &[Policy::AtLeastOnce],
            Self::AtMostOnce => &[Policy::AtMostOnce],
            Self::Both => &[Policy::AtLeastOnce, Policy::AtMostOnce],
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(Role::Witness { log, seed }) = &arguments.role {
        witness::stand(log, *seed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let binary = installation::binary()?;
    if arguments.sabotage {
        return sabotage::try_the_judge(&binary, &arguments.plan);
    }
    let seed = arguments.plan.seed();
    println!("seed {seed}: the same seed makes the same choices, though not the same instants");
    report::print_heading();
    let mut verdicts = Vec::new();
    for &store in arguments.store.each() {
        for &policy in arguments.policy.each() {
            let outcome = Trial::set_up(&binary, store, policy, &arguments.plan, seed)?.run()?;
            report::print_line(&outcome);
            verdicts.push(outcome.verdict);
        }
    }
    Ok(report::close(&verdicts))
}
