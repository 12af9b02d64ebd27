//! Whether the process lives, and whether it can do its work.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use samekey_core::store::Messages;

use super::{Api, Problem};

/// A store that needs longer is not ready.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process answers: do not restart it.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The store answers: send it traffic.
pub(super) async fn ready(State(api): State<Arc<Api>>) -> Response {
    match tokio::time::timeout(PATIENCE, api.store.ping()).await {
        Ok(Ok(())) => "ready\n".into_response(),
        Ok(Err(error)) => Problem::from(error).into_response(),
        Err(_) => Problem::unavailable("the database does not answer").into_response(),
    }
}
