//! The payment provider, as the shop sees it.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Error;

/// Longer than the provider takes, shorter than a handler may.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the provider said.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Charge {
    Charged { id: String },
    Declined { reason: String },
}

/// Speaks to the payment provider.
#[derive(Clone, Debug)]
pub struct Payments {
    client: Client<HttpConnector, Body>,
    url: String,
}

impl Payments {
    /// The provider at this address, `http://host:port`.
    #[must_use]
    pub fn at(url: &str) -> Self {
        let url = format!("{}/charges", url.trim_end_matches('/'));
        Self { client: Client::builder(TokioExecutor::new()).build_http(), url }
    }

    /// Charges once for this key. A refusal is an answer; anything that leaves it open is an error.
    pub(super) async fn charge(&self, key: &str, account: &str, amount_cents: u64) -> Result<Charge, Error> {
        let answered = tokio::time::timeout(PATIENCE, self.ask(key, account, amount_cents)).await;
        let (status, body) = answered.map_err(|_| Error::NoAnswer("it took too long".to_owned()))??;
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = |member: &str| said[member].as_str().unwrap_or_default().to_owned();
        match status {
            StatusCode::CREATED => Ok(Charge::Charged { id: text("id") }),
            StatusCode::PAYMENT_REQUIRED => Ok(Charge::Declined { reason: text("reason") }),
            other => Err(Error::NoAnswer(format!("it answered {other}"))),
        }
    }

    async fn ask(&self, key: &str, account: &str, amount_cents: u64) -> Result<(StatusCode, Bytes), Error> {
        let broken = |error: &dyn std::fmt::Display| Error::NoAnswer(error.to_string());
        let body = json!({ "amount_cents": amount_cents, "currency": "eur", "account": account }).to_string();
        let request = Request::post(&self.url)
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(body))
            .map_err(|error| broken(&error))?;
        let response = self.client.request(request).await.map_err(|error| broken(&error))?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| broken(&error))?;
        Ok((status, body.to_bytes()))
    }
}
