//! A keep-alive connection with one request under way at a time.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer::{LIMIT_BYTES, whole_answer};

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(addr: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(addr).await.context("connect to the service")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(1 << 10) })
    }

    /// Sends one message and waits until it is accepted.
    pub(crate) async fn accept(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request).await.context("send")?;
        self.received.clear();
        while whole_answer(&self.received)?.is_none() {
            ensure!(self.received.len() < LIMIT_BYTES, "an answer without an end");
            let read = self.stream.read_buf(&mut self.received).await.context("receive")?;
            ensure!(read > 0, "the service hung up");
        }
        Ok(())
    }
}
