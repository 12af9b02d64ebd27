//! The smallest service with Samekey in it: an order is kept once, however often its request is sent.
//!
//! ```sh
//! cargo run --release -p quickstart
//! curl -i localhost:8082/orders -H 'Idempotency-Key: order-1' -d 'one espresso'    # as often as you like
//! ```

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use samekey::sqlite::{Attempt, Sqlite, rusqlite};
use samekey::{Completed, IdempotencyLayer};
use serde_json::json;

async fn create_order(attempt: Attempt, order: String) -> Result<Completed, Failed> {
    // Your statements, the answer and the completed key are one commit.
    attempt
        .write(move |tx| {
            tx.execute("INSERT INTO orders (text) VALUES (?1)", [&order])?;
            Ok((StatusCode::CREATED, Json(json!({ "order": tx.last_insert_rowid() }))))
        })
        .await
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let keys = Sqlite::migrate("quickstart.db").await?;
    rusqlite::Connection::open("quickstart.db")?.execute_batch(
        "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)",
    )?;

    // One caller, so one scope. With several, take it from what authenticates: `IdempotencyLayer::scoped_by(…)`.
    let once = IdempotencyLayer::shared(keys, "everybody");
    let app = Router::new().route("/orders", post(create_order).layer(once));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:8082").await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

/// Any failure: the transaction is rolled back, the key is free again.
struct Failed;

impl<E: std::error::Error> From<E> for Failed {
    fn from(_: E) -> Self {
        Self
    }
}

impl axum::response::IntoResponse for Failed {
    fn into_response(self) -> axum::response::Response {
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    }
}
