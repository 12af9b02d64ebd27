//! Real parts on loopback, for tests and measurements.
//!
//! A promise about crashes, lost connections and lost databases cannot be kept by a mock: a mock fails the way its
//! author imagined. So the tests of this workspace talk to a real PostgreSQL with `fsync` on ([`Cluster`]), if need
//! be through a real pooler ([`Pooler`]), to the real `samekey` binary in a process of its own ([`Service`]), and to
//! a real SMTP server ([`Smtp`]) that misbehaves on command. Everything listens on 127.0.0.1 only, on a free port,
//! and goes away with the process that started it, even when that process is killed.
//!
//! The interface is synchronous: a test under any runtime, or under none, can call it. What waits, waits on a signal
//! from the other side (a line it prints, the end of its process) and under a limit.
//!
//! ```no_run
//! # fn main() -> Result<(), testbed::Error> {
//! let url = testbed::database("orders_survive_a_kill");
//! let mut service = testbed::Service::start(["serve", "--database", &url, "--listen", "127.0.0.1:0"])?;
//! println!("ready on {}", service.addr());
//! service.kill();
//! # Ok(())
//! # }
//! ```

mod account;
mod certificate;
mod cluster;
mod database;
mod death_watch;
mod error;
mod mailbox;
mod pooler;
mod port;
mod postgres;
mod process;
mod python;
mod run;
mod service;
mod smtp;

pub use certificate::Certificate;
pub use cluster::Cluster;
pub use database::{POSTGRES_VARIABLE, database, database_on};
pub use error::Error;
pub use mailbox::ReceivedMail;
pub use pooler::Pooler;
pub use port::free_port;
pub use postgres::Postgres;
pub use process::{Lines, Process, Stop};
pub use python::Python;
pub use service::{BINARY_VARIABLE, Service};
pub use smtp::{Smtp, SmtpOptions, SmtpTls};
