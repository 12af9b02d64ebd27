//! How many requests are accepted per second.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::figures::median;
use crate::load::{self, Load, Plan, Target};
use crate::proc;
use crate::subject::{self, Store, Subject};
use crate::yardstick::Yardstick;

/// How long and how wide a load is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Length {
    /// The length of each phase.
    #[arg(long, default_value_t = 5)]
    pub(crate) seconds: u64,
    /// How many connections send at once.
    #[arg(long, default_value_t = 256)]
    pub(crate) connections: u32,
}

/// One phase of ours, with what it cost.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) load: Load,
    server_cpu_seconds: f64,
}

/// Yardstick and service take turns; the ratio is that of the medians.
pub(crate) fn measure(store: Store, length: &Length, rounds: u32) -> Result<()> {
    let subject = Subject::install(store)?;
    let yardstick = Yardstick::beside(&subject)?;
    print_heading(&subject, length, yardstick.name());
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        subject.checkpoint()?;
        let rate = yardstick.run(round, Duration::from_secs(length.seconds))?;
        println!("{:<10} {round:>5} {rate:>12.0}", yardstick.name());
        theirs.push(rate);

        let phase = accept(&subject, length, round)?;
        phase.print(round);
        ours.push(phase.load.per_second());
    }
    let (theirs, ours) = (median(&theirs), median(&ours));
    println!("medians: {} {theirs:.0}/s, samekey {ours:.0}/s", yardstick.name());
    println!("ratio={:.2}", ours / theirs);
    Ok(())
}

/// One load on a freshly started service.
pub(crate) fn accept(subject: &Subject, length: &Length, round: u32) -> Result<Phase> {
    subject.checkpoint()?;
    let mut service = subject.serve()?;
    let plan = Plan {
        addr: service.addr(),
        target: Target::MESSAGES,
        api_key: subject.api_key.clone(),
        connections: length.connections,
        length: Duration::from_secs(length.seconds),
        round,
    };
    let before = proc::cpu_seconds(service.pid())?;
    let load = load::run(&plan).with_context(|| format!("the service's log:\n{}", service.stderr()))?;
    let server_cpu_seconds = proc::cpu_seconds(service.pid())? - before;
    subject::stop(&mut service)?;
    Ok(Phase { load, server_cpu_seconds })
}

pub(crate) fn print_heading(subject: &Subject, length: &Length, yardstick: &str) {
    let cluster = subject.cluster.as_ref().map_or("SQLite", |_| "PostgreSQL");
    println!(
        "{cluster}, fsync on; {} connections keep-alive; {} s a phase; yardstick: {yardstick}",
        length.connections, length.seconds
    );
    println!(
        "{:<10} {:>5} {:>12} {:>8} {:>8} {:>14} {:>14}",
        "phase", "round", "per second", "p50 ms", "p99 ms", "server cpu s", "load cpu s"
    );
}

impl Phase {
    pub(crate) fn print(&self, round: u32) {
        let latencies = &self.load.latencies;
        println!(
            "{:<10} {round:>5} {:>12.0} {:>8.2} {:>8.2} {:>14.2} {:>14.2}",
            "samekey",
            self.load.per_second(),
            latencies.quantile_ms(0.5),
            latencies.quantile_ms(0.99),
            self.server_cpu_seconds,
            self.load.cpu_seconds,
        );
    }
}
