//! Orders through the HTTP layer, beside the same handler with the four statements written by hand.
//!
//! One service, one pool, one database; the contestants are routes of it and take turns:
//!
//! | route | what it does |
//! |---|---|
//! | `/hand` | begin, insert the key, insert the order, update the key with the answer, commit; a known key is looked up |
//! | `/joined` | the layer, its claim in the handler's own transaction |
//! | `/leased` | the layer, its claim before the handler, together with other requests' |
//! | `/cached` | as `/leased`, with completed records kept in memory |

mod service;

use std::time::Duration;

use anyhow::{Context, Result};
use testbed::Cluster;

use crate::accept::Length;
use crate::figures::median;
use crate::load::{self, Expected, Plan, Target};

const DATABASE: &str = "shop";
/// Keys of a connection in the phases that replay: each is sent again and again.
const REPLAYED_KEYS: u64 = 20;

/// What takes turns.
#[derive(Clone, Copy, Debug)]
struct Contestant {
    name: &'static str,
    path: &'static str,
    again: bool,
}

const CONTESTANTS: [Contestant; 6] = [
    Contestant { name: "hand", path: "/hand", again: false },
    Contestant { name: "joined", path: "/joined", again: false },
    Contestant { name: "leased", path: "/leased", again: false },
    Contestant { name: "hand, replay", path: "/hand", again: true },
    Contestant { name: "leased, replay", path: "/leased", again: true },
    Contestant { name: "cached, replay", path: "/cached", again: true },
];

/// Every contestant in every round; the ratios are those of the medians.
pub(crate) fn measure(length: &Length, rounds: u32) -> Result<()> {
    let cluster = Cluster::start()?;
    cluster.create_database(DATABASE)?;
    let service = service::start(&cluster.url(DATABASE)).context("start the service")?;
    println!("PostgreSQL, fsync on; {} connections; {} s a phase", length.connections, length.seconds);
    println!("{:<16} {:>5} {:>12} {:>8} {:>8}", "contestant", "round", "per second", "p50 ms", "p99 ms");
    let mut rates = vec![Vec::new(); CONTESTANTS.len()];
    for round in 1..=rounds {
        for (contestant, rates) in CONTESTANTS.iter().zip(&mut rates) {
            cluster.query("postgres", "checkpoint")?;
            let load = load::run(&plan(*contestant, length, round, service.addr()))?;
            println!(
                "{:<16} {round:>5} {:>12.0} {:>8.2} {:>8.2}",
                contestant.name,
                load.per_second(),
                load.latencies.quantile_ms(0.5),
                load.latencies.quantile_ms(0.99)
            );
            rates.push(load.per_second());
        }
    }
    let [hand, joined, leased, hand_again, leased_again, cached_again] = rates
        .iter()
        .map(|rates| median(rates))
        .collect::<Vec<_>>()
        .try_into()
        .ok()
        .context("six contestants")?;
    println!("ratio.joined={:.2}", joined / hand);
    println!("ratio.leased={:.2}", leased / hand);
    println!("ratio.replay_db={:.2}", leased_again / hand_again);
    println!("ratio.replay_cached={:.2}", cached_again / hand_again);
    Ok(())
}

fn plan(contestant: Contestant, length: &Length, round: u32, addr: std::net::SocketAddr) -> Plan {
    // Routes and kinds of phase share no keys; the rounds of a replaying phase do.
    let kind = CONTESTANTS.iter().position(|other| other.name == contestant.name).unwrap_or_default();
    let round = if contestant.again { 0 } else { round };
    Plan {
        addr,
        target: Target {
            path: contestant.path,
            expected: Expected { status: "201", holds: "\"order\"" },
            begin_again_after: if contestant.again { REPLAYED_KEYS } else { u64::MAX },
        },
        api_key: String::new(),
        connections: length.connections,
        length: Duration::from_secs(length.seconds),
        round: round * 10 + u32::try_from(kind).unwrap_or_default(),
    }
}
