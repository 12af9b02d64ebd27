//! The listener: connections in, each on a task of its own, so that a slow one holds up nobody.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

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

    /// Serves until `stop` resolves, then lets the answers under way leave.
    pub async fn serve(self, routes: Router, stop: impl Future<Output = ()>) -> Served {
        let graceful = GracefulShutdown::new();
        let server = Arc::new(server());
        let mut stop = std::pin::pin!(stop);
        loop {
            let place = self.connections.clone().acquire_owned();
            let (place, stream) = tokio::select! {
                () = &mut stop => break,
                accepted = async { (place.await, self.socket.accept().await) } => accepted,
            };
            let (Ok(place), Ok((stream, _))) = (place, stream) else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let connection = connection(server.clone(), stream, routes.clone(), graceful.watcher());
            tokio::spawn(async move {
                connection.await;
                drop(place);
            });
        }
        drop(self.socket);
        match tokio::time::timeout(FAREWELL, graceful.shutdown()).await {
            Ok(()) => Served::Whole,
            Err(_) => Served::Cut,
        }
    }
}

type Server = auto::Builder<TokioExecutor>;

fn server() -> Server {
    let mut server = Server::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(32 * 1024);
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HEAD_TIME)
        .max_concurrent_streams(256)
        .max_header_list_size(32 * 1024);
    server
}

async fn connection(
    server: Arc<Server>,
    stream: TcpStream,
    routes: Router,
    watcher: hyper_util::server::graceful::Watcher,
) {
    // Answers are small; waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended badly");
    }
}
