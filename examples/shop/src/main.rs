//! The shop as a process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use clap::Parser;
use shop::orders::{InPostgres, InSqlite, Payments, routes};
use shop::psp::Psp;

/// A small shop that charges cards and keeps orders; a retried request does neither twice.
#[derive(Debug, Parser)]
struct Options {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// `sqlite:PATH`, or `postgres://user@host/database`.
    #[arg(long, env = "DATABASE_URL", default_value = "sqlite:shop.db")]
    database: String,
    /// Where the payment provider is; without it, one is started inside, for trying the shop out.
    #[arg(long, env = "PSP_URL")]
    psp: Option<String>,
    /// How long a key stays blocked after the process that had it has died, in milliseconds.
    #[arg(long, env = "LEASE_MS", default_value_t = 30_000)]
    lease_ms: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let psp = match options.psp {
        Some(url) => url,
        None => start_psp().await?,
    };
    let router =
        service(&options.database, Payments::at(&psp), Duration::from_millis(options.lease_ms)).await?;
    let listener = tokio::net::TcpListener::bind(options.listen).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn service(database: &str, payments: Payments, lease: Duration) -> anyhow::Result<Router> {
    if let Some(path) = database.strip_prefix("sqlite:") {
        return Ok(routes(InSqlite::open(&PathBuf::from(path)).await?, payments, lease));
    }
    Ok(routes(InPostgres::open(database).await?, payments, lease))
}

async fn start_psp() -> anyhow::Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    println!("payment provider on {url}");
    tokio::spawn(async move { shop::psp::serve(listener, Psp::default()).await });
    Ok(url)
}
