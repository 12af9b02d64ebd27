//! The load: many connections, each sending its next message when the last one was answered.
//!
//! It shares the machine with what it measures, so it must cost next to nothing: one thread, bytes that were written
//! beforehand with only the key patched in, answers read by hand. It is no benchmark of clients.

mod answer;
mod connection;
mod request;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

pub(crate) use self::answer::Expected;
pub(crate) use self::connection::Connection;
pub(crate) use self::request::{PAYLOAD, Request, Target};
use crate::figures::Latencies;
use crate::proc;

/// What a load is made of.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) addr: SocketAddr,
    pub(crate) target: Target,
    pub(crate) api_key: String,
    pub(crate) connections: u32,
    pub(crate) length: Duration,
    /// Goes into the keys, so that two loads on one database share none.
    pub(crate) round: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) elapsed: Duration,
    pub(crate) latencies: Latencies,
    /// Processor time of this process.
    pub(crate) cpu_seconds: f64,
}

impl Load {
    pub(crate) fn accepted(&self) -> u64 {
        self.latencies.count()
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.accepted() as f64 / self.elapsed.as_secs_f64()
    }
}

/// One thread, on purpose: a second one would fight the service for the processors.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")
}

/// Opens all connections, then sends for as long as planned.
///
/// # Errors
/// Where any answer is not the expected one: a figure over refusals is none.
pub(crate) fn run(plan: &Plan) -> Result<Load> {
    runtime()?.block_on(async {
        let ready = Arc::new(Barrier::new(plan.connections as usize + 1));
        let mut connections = JoinSet::new();
        for number in 0..plan.connections {
            let connection = Connection::open(plan.addr).await?;
            let request = Request::new(plan.target, &plan.api_key, plan.round, number);
            connections.spawn(send_until(
                connection,
                request,
                plan.target.expected,
                plan.length,
                Arc::clone(&ready),
            ));
        }
        let before = proc::cpu_seconds(std::process::id())?;
        ready.wait().await;
        let begun = Instant::now();
        let mut latencies = Latencies::new();
        while let Some(ended) = connections.join_next().await {
            latencies.add(&ended.context("a connection's task panicked")??);
        }
        let elapsed = begun.elapsed();
        let cpu_seconds = proc::cpu_seconds(std::process::id())? - before;
        Ok(Load { elapsed, latencies, cpu_seconds })
    })
}

async fn send_until(
    mut connection: Connection,
    mut request: Request,
    expected: Expected,
    length: Duration,
    ready: Arc<Barrier>,
) -> Result<Latencies> {
    let mut latencies = Latencies::new();
    ready.wait().await;
    let end = Instant::now() + length;
    let mut sent = Instant::now();
    while sent < end {
        connection.ask(request.next(), expected).await?;
        let answered = Instant::now();
        latencies.record(u64::try_from((answered - sent).as_micros()).unwrap_or(u64::MAX));
        sent = answered;
    }
    Ok(latencies)
}
