//! What the service costs while nobody asks anything of it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testbed::Service;

use crate::figures::median;
use crate::load::{Connection, Request, Target, runtime};
use crate::proc;
use crate::subject::{self, Store, Subject};

/// Starts that the median is taken of.
const STARTS: usize = 5;

/// Memory is taken when it no longer shrinks from one look to the next, or after this many looks.
const LOOKS: u32 = 20;
const LOOK: Duration = Duration::from_millis(250);

/// Files that a process needs beside its connections.
const OTHER_FILES: u64 = 256;

/// One figure and what it may be.
#[derive(Debug)]
struct Figure {
    store: Store,
    what: &'static str,
    name: &'static str,
    unit: &'static str,
    value: f64,
    limit: f64,
}

/// Measures each store, prints all figures against their limits.
pub(crate) fn measure(stores: &[Store], connections: u32) -> Result<()> {
    allow_files(u64::from(connections) + OTHER_FILES)?;
    let mut figures = Vec::new();
    for &store in stores {
        figures.extend(measure_store(store, connections)?);
    }
    println!("{:<9} {:<34} {:>10} {:>10}", "store", "what", "measured", "limit");
    for Figure { store, what, unit, value, limit, .. } in &figures {
        println!("{:<9} {what:<34} {value:>6.1} {unit:<3} {limit:>6.0} {unit:<3}", store.name());
    }
    for Figure { store, name, value, limit, .. } in &figures {
        println!("ratio.{}_{name}={:.2}", store.name(), value / limit);
    }
    Ok(())
}

fn measure_store(store: Store, connections: u32) -> Result<[Figure; 3]> {
    let subject = Subject::install(store)?;
    let start_ms = median(&(0..STARTS).map(|_| start_once(&subject)).collect::<Result<Vec<f64>>>()?);
    let mut service = subject.serve()?;
    let idle = settled_memory(&service)?;
    let connected = with_connections(&subject, &service, connections)?;
    subject::stop(&mut service)?;
    let figure = |what, name, unit, value, limit| Figure { store, what, name, unit, value, limit };
    Ok([
        figure("memory, idle", "idle_memory", "MiB", idle, 15.0),
        figure("memory, idle connections", "connections_memory", "MiB", connected, 150.0),
        figure("start to ready, existing database", "start", "ms", start_ms, 200.0),
    ])
}

/// Milliseconds from the start of the process to its `listening on`.
fn start_once(subject: &Subject) -> Result<f64> {
    let begun = Instant::now();
    let mut service = subject.serve()?;
    let elapsed = begun.elapsed();
    subject::stop(&mut service)?;
    Ok(elapsed.as_secs_f64() * 1e3)
}

/// Each connection sends one message, is answered, and stays open.
fn with_connections(subject: &Subject, service: &Service, connections: u32) -> Result<f64> {
    runtime()?.block_on(async {
        let mut open = Vec::new();
        for number in 0..connections {
            let mut connection = Connection::open(service.addr()).await?;
            let mut request = Request::new(Target::MESSAGES, &subject.api_key, 1, number);
            let accepted = connection.ask(request.next(), Target::MESSAGES.expected).await;
            accepted.with_context(|| format!("connection {number}; the log:\n{}", service.stderr()))?;
            open.push(connection);
        }
        settled_memory(service)
    })
}

/// What it holds once allocations for the last requests have settled.
fn settled_memory(service: &Service) -> Result<f64> {
    let mut last = proc::resident_mib(service.pid())?;
    for _ in 0..LOOKS {
        std::thread::sleep(LOOK);
        let now = proc::resident_mib(service.pid())?;
        if now >= last {
            return Ok(now);
        }
        last = now;
    }
    Ok(last)
}

/// Raises the limit on open files for us and for what we start.
fn allow_files(needed: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < needed) {
        ensure!(maximum.is_none_or(|maximum| maximum >= needed), "this system allows {maximum:?} open files");
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).context("allow more open files")?;
    }
    Ok(())
}
