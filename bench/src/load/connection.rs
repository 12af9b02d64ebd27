//! A keep-alive connection with one request under way at a time.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer::{Expected, LIMIT_BYTES, whole_answer};

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

    /// Sends one request and waits for the answer that is expected.
    pub(crate) async fn ask(&mut self, request: &[u8], expected: Expected) -> Result<()> {
        self.stream.write_all(request).await.context("send")?;
        self.received.clear();
        while whole_answer(&self.received, expected)?.is_none() {
            ensure!(self.received.len() < LIMIT_BYTES, "an answer without an end");
            let read = self.stream.read_buf(&mut self.received).await.context("receive")?;
            ensure!(read > 0, "the service hung up");
        }
        Ok(())
    }
}
