//! The service that is measured, in this process, on a runtime of its own.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use samekey::core::Recipe;
use samekey::core::fingerprint::Request;
use samekey::postgres::{Attempt, Options, Postgres};
use samekey::{Completed, IdempotencyLayer, Keys};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

/// Connections of the handlers, as the yardstick of the sending service has.
const CONNECTIONS: usize = 16;
const CACHE_BYTES: usize = 64 << 20;

const TABLES: &str = "
    CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, cart text NOT NULL);
    CREATE TABLE idempotency_keys (
        key text PRIMARY KEY, fingerprint bytea NOT NULL, status smallint, body bytea,
        created_at timestamptz NOT NULL DEFAULT now());";

const INSERT_ORDER: &str = "INSERT INTO orders (cart) VALUES ($1) RETURNING id";

/// A running service; dropping it stops it.
pub(super) struct Service {
    addr: SocketAddr,
    _runtime: Runtime,
}

impl Service {
    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }
}

pub(super) fn start(url: &str) -> Result<Service> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (listener, app) = runtime.block_on(async {
        let app = routes(url).await?;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        anyhow::Ok((listener, app))
    })?;
    let addr = listener.local_addr()?;
    runtime.spawn(async move { axum::serve(listener, app).await });
    Ok(Service { addr, _runtime: runtime })
}

async fn routes(url: &str) -> Result<Router> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(url.parse()?, NoTls, recycling);
    let db = Pool::builder(manager).max_size(CONNECTIONS).build()?;
    db.get().await?.batch_execute(TABLES).await.context("create the tables")?;
    let store = Postgres::migrate(&Options::from_url(url)?).await?;
    let keys = Keys::new(store.clone());
    let cached = Keys::new(store).with_cache_bytes(CACHE_BYTES);
    let once = IdempotencyLayer::shared(keys, "bench");
    Ok(Router::new()
        .route("/hand", post(by_hand))
        .route("/joined", post(joined).layer(once.clone().joined()))
        .route("/leased", post(leased).layer(once))
        .route("/cached", post(leased).layer(IdempotencyLayer::shared(cached, "cached")))
        .with_state(db))
}

struct Failed(String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0).into_response()
    }
}

/// As people write it, with what the layer does too: a fingerprint, and the answer kept for a replay.
async fn by_hand(State(db): State<Pool>, headers: HeaderMap, body: Bytes) -> Result<Response, Failed> {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
    let request =
        Request { method: "POST", path: "/hand", query: "", content_type: "application/json", body: &body };
    let fingerprint = Recipe::canonical().fingerprint(&request);
    let fingerprint = fingerprint.as_bytes().as_slice();
    let mut client = db.get().await?;
    let tx = client.transaction().await?;
    let insert = tx
        .prepare_cached(
            "INSERT INTO idempotency_keys (key, fingerprint) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
        )
        .await?;
    if tx.execute(&insert, &[&key, &fingerprint]).await? == 0 {
        tx.rollback().await?;
        return known(&client, key, fingerprint).await;
    }
    let order = tx.prepare_cached(INSERT_ORDER).await?;
    let id: i64 = tx.query_one(&order, &[&text(&body)]).await?.get(0);
    let answer = json!({ "order": id }).to_string();
    let update =
        tx.prepare_cached("UPDATE idempotency_keys SET status = 201, body = $2 WHERE key = $1").await?;
    tx.execute(&update, &[&key, &answer.as_bytes()]).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], answer).into_response())
}

async fn known(
    client: &deadpool_postgres::Client,
    key: &str,
    fingerprint: &[u8],
) -> Result<Response, Failed> {
    let look = client.prepare_cached("SELECT fingerprint, body FROM idempotency_keys WHERE key = $1").await?;
    let row = client.query_one(&look, &[&key]).await?;
    if row.get::<_, &[u8]>(0) != fingerprint {
        return Ok(StatusCode::UNPROCESSABLE_ENTITY.into_response());
    }
    let body: Vec<u8> = row.get(1);
    Ok((StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn joined(State(db): State<Pool>, attempt: Attempt, body: Bytes) -> Result<Completed, Failed> {
    let mut client = db.get().await?;
    let mut tx = client.transaction().await?;
    attempt.join(&mut tx).await?;
    let order = tx.prepare_cached(INSERT_ORDER).await?;
    let id: i64 = tx.query_one(&order, &[&text(&body)]).await?.get(0);
    Ok(attempt.complete(tx, (StatusCode::CREATED, Json(json!({ "order": id })))).await?)
}

async fn leased(State(db): State<Pool>, attempt: Attempt, body: Bytes) -> Result<Completed, Failed> {
    let mut client = db.get().await?;
    let tx = client.transaction().await?;
    let order = tx.prepare_cached(INSERT_ORDER).await?;
    let id: i64 = tx.query_one(&order, &[&text(&body)]).await?.get(0);
    Ok(attempt.complete(tx, (StatusCode::CREATED, Json(json!({ "order": id })))).await?)
}

fn text(body: &Bytes) -> &str {
    std::str::from_utf8(body).unwrap_or_default()
}
