//! The listener: connections in, each on a task of its own, so that a slow one holds up nobody.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A request's head must have arrived by then, counted from the connection or the answer before: this is also how long an
/// idle connection is kept.
const HEAD_TIME: Duration = Duration::from_secs(75);
/// Answers under way at the end have so long to leave.
const FAREWELL: Duration = Duration::from_secs(5);
/// After a failed accept (no descriptors left, say): others are closing theirs meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// A bound address.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    connections: Arc<Semaphore>,
}

/// How serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Every answer left.
    Whole,
    /// Some connections were cut at the end of their time.
    Cut,
}

impl Listener {
    /// Binds the address; port 0 picks a free one.
    ///
    /// # Errors
    /// The operating system's.
    pub async fn bind(address: SocketAddr, max_connections: usize) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        Ok(Self { socket, connections: Arc::new(Semaphore::new(max_connections)) })
    }

    /// Where it really listens.
    ///
    /// # Errors
    /// The operating system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` is cancelled, then lets the answers under way leave.
    pub async fn serve(self, routes: Router, stop: CancellationToken) -> Served {
        let connections = TaskTracker::new();
        let server = server();
        loop {
            let place = self.connections.clone().acquire_owned();
            let (place, stream) = tokio::select! {
                () = stop.cancelled() => break,
                accepted = async { (place.await, self.socket.accept().await) } => accepted,
            };
            let (Ok(place), Ok((stream, _))) = (place, stream) else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            connections.spawn(connection(&server, stream, routes.clone(), stop.clone(), place));
        }
        drop(self.socket);
        connections.close();
        match tokio::time::timeout(FAREWELL, connections.wait()).await {
            Ok(()) => Served::Whole,
            Err(_) => Served::Cut,
        }
    }
}

/// HTTP/1.1 alone: whoever speaks HTTP/2 to the world does so in front of us, and a connection that could be both costs
/// twice the memory while it idles.
fn server() -> http1::Builder {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(32 * 1024);
    server
}

/// One connection, to its end; `place` is free again afterwards. Thousands of them idle, so the future holds the connection
/// once and nothing else of weight.
fn connection(
    server: &http1::Builder,
    stream: TcpStream,
    routes: Router,
    stop: CancellationToken,
    place: OwnedSemaphorePermit,
) -> impl Future<Output = ()> + Send + 'static {
    // Answers are small; waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    let mut connection = Box::pin(connection);
    async move {
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended badly");
        }
        drop(place);
    }
}
