//! The payment provider in a process of its own: `cargo run -p shop --bin psp -- --listen 127.0.0.1:8090`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use shop::psp::{Psp, serve};
use tokio::net::TcpListener;

/// A payment provider to try against.
#[derive(Debug, Parser)]
struct Options {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Keeps calls, charges and keys in this file, and reads them from it.
    #[arg(long)]
    ledger: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let psp = options.ledger.as_deref().map(Psp::with_ledger).transpose()?.unwrap_or_default();
    let socket =
        TcpListener::bind(options.listen).await.with_context(|| format!("listen on {}", options.listen))?;
    writeln!(std::io::stdout(), "listening on http://{}", socket.local_addr()?)?;
    match serve(socket, psp).await {}
}
