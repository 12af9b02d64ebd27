//! The listener. It can do what no handler can: close a connection without an answer.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::{Psp, api};

/// Connections at once; more wait to be accepted.
const MAX_CONNECTIONS: usize = 1_024;
/// A request's head must have arrived by then; so long may a connection idle, too.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// After a failed accept (no descriptors left, say).
const PAUSE: Duration = Duration::from_millis(100);

/// Marks a response that must not be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct HangUp;

impl HangUp {
    pub(super) fn response() -> Response {
        axum::Extension(Self).into_response()
    }
}

/// Serves for ever.
pub async fn serve(socket: TcpListener, psp: Psp) -> Infallible {
    let routes = api::router(psp);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await;
        let Ok((stream, _)) = socket.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let routes = routes.clone();
        tokio::spawn(async move {
            let _place = place;
            connection(stream, routes).await;
        });
    }
}

async fn connection(stream: TcpStream, routes: Router) {
    let service = service_fn(move |request| answer(routes.clone(), request));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    // It ends badly when the caller hangs up, or when we do; neither is news.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

/// An error here makes hyper close the connection with nothing written.
async fn answer(routes: Router, request: Request<Incoming>) -> io::Result<Response> {
    let Ok(response) = routes.oneshot(request.map(Body::new)).await;
    match response.extensions().get::<HangUp>() {
        Some(HangUp) => Err(io::Error::other("the answer is lost, as was asked")),
        None => Ok(response),
    }
}
