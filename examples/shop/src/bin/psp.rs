//! The payment provider as a process.

use std::net::SocketAddr;

use clap::Parser;

/// A payment provider with idempotency keys of its own, and faults on command.
#[derive(Debug, Parser)]
struct Options {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let listener = tokio::net::TcpListener::bind(options.listen).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, shop::psp::routes()).await?;
    Ok(())
}
