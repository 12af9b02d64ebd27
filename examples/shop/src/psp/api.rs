//! The routes.

use std::io;

use axum::extract::rejection::{BytesRejection, JsonRejection};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Psp;
use super::answer::Answer;
use super::book::Found;
use super::entry::{Charge, Entry, Stage};
use super::fault::Fault;
use super::listener::HangUp;
use super::order::Order;

/// The largest body, of any route.
const MAX_BODY_BYTES: usize = 64 * 1024;

pub(super) fn router(psp: Psp) -> Router {
    Router::new()
        .route("/charges", post(charge).get(charges))
        .route("/ledger", get(ledger))
        .route("/faults", post(faults))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(psp)
}

/// How a call ended.
#[derive(Debug)]
enum Ended {
    Answered(Answer),
    Replayed(Answer),
    Dropped,
}

/// Whether a call took its key, and must give it back if nothing comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Took {
    ItsKey,
    Nothing,
}

/// A caller that hangs up stops nothing, so the work goes on in a task of its own.
async fn charge(State(psp): State<Psp>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    let call = tokio::spawn(async move { psp.call(key(&headers).as_deref(), body.ok()).await });
    match call.await {
        Ok(Ended::Answered(answer)) => answer.into_response(),
        Ok(Ended::Replayed(answer)) => {
            let mut response = answer.into_response();
            response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
            response
        }
        Ok(Ended::Dropped) => HangUp::response(),
        Err(_) => Answer::error().into_response(),
    }
}

async fn charges(State(psp): State<Psp>) -> Json<Value> {
    Json(json!(psp.book().charges()))
}

async fn ledger(State(psp): State<Psp>) -> Json<Value> {
    Json(json!(psp.book().calls()))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Faults {
    next: Vec<Fault>,
}

async fn faults(State(psp): State<Psp>, faults: Result<Json<Faults>, JsonRejection>) -> Response {
    let queued = match faults {
        Ok(Json(faults)) => psp.book().fail_next(faults.next),
        Err(rejection) => Err(Answer::invalid(&rejection.body_text())),
    };
    queued.map(|waiting| (StatusCode::ACCEPTED, Json(json!({ "waiting": waiting })))).into_response()
}

/// One header line of 1 to 255 printable ASCII characters.
fn key(headers: &HeaderMap) -> Option<String> {
    let mut lines = headers.get_all("idempotency-key").iter();
    let key = lines.next()?.to_str().ok()?;
    (lines.next().is_none() && (1..=255).contains(&key.len())).then(|| key.to_owned())
}

impl Psp {
    /// One call to `POST /charges`, from its coming to its entry in the books.
    async fn call(&self, key: Option<&str>, body: Option<Bytes>) -> Ended {
        let order = body.as_deref().ok_or_else(Answer::too_large).and_then(Order::read);
        let Some(mut entry) = self.book().receive(key, order.as_ref().ok()) else {
            return Ended::Answered(Answer::full());
        };
        let (ended, took) = match (key, order) {
            (None, _) => (Ended::Answered(Answer::key_missing()), Took::Nothing),
            (Some(_), Err(refusal)) => (Ended::Answered(refusal), Took::Nothing),
            (Some(key), Ok(order)) => self.work(key, &order, &mut entry).await,
        };
        self.enter(entry, ended, took).await
    }

    /// A call that nothing is wrong with; the next fault is its own.
    async fn work(&self, key: &str, order: &Order, entry: &mut Entry) -> (Ended, Took) {
        let (fault, found) = {
            let mut book = self.book();
            (book.next_fault(), book.begin(key, order))
        };
        entry.fault = fault;
        if let Some(Fault::Slow(time)) = fault {
            tokio::time::sleep(time).await;
        }
        let (ended, took) = match found {
            Found::Refused(refusal) => (Ended::Answered(refusal), Took::Nothing),
            Found::Kept(answer) => (Ended::Replayed(answer), Took::Nothing),
            Found::Nothing => (Ended::Answered(first(order, entry)), Took::ItsKey),
        };
        match fault {
            Some(Fault::Drop) => (Ended::Dropped, took),
            Some(Fault::ErrorBefore | Fault::ErrorAfter) => (Ended::Answered(Answer::error()), took),
            Some(Fault::Slow(_) | Fault::Declined) | None => (ended, took),
        }
    }

    /// Writes the call down. Where that fails, nothing was charged, and the caller hears of an error.
    async fn enter(&self, mut entry: Entry, ended: Ended, took: Took) -> Ended {
        (entry.stage, entry.answered) = match &ended {
            Ended::Answered(answer) | Ended::Replayed(answer) => (Stage::Answered, Some(answer.clone())),
            Ended::Dropped => (Stage::Dropped, None),
        };
        let psp = self.clone();
        // The disk is waited for on a thread that may wait.
        let written = tokio::task::spawn_blocking(move || psp.end(entry, took)).await;
        if matches!(written, Ok(Ok(()))) { ended } else { Ended::Answered(Answer::error()) }
    }

    fn end(&self, entry: Entry, took: Took) -> io::Result<()> {
        let mut book = self.book();
        let decided = entry.kept.is_some();
        let key = entry.key.clone().filter(|_| took == Took::ItsKey);
        let written = book.end(entry);
        if let Some(key) = key.filter(|_| written.is_err() || !decided) {
            book.forget(&key);
        }
        written
    }
}

/// What the first call of a key is told, and what the key keeps: nothing, where nothing came of it.
fn first(order: &Order, entry: &mut Entry) -> Answer {
    if entry.fault != Some(Fault::ErrorBefore) {
        entry.kept = decide(order, entry);
    }
    entry.kept.clone().unwrap_or_else(Answer::error)
}

/// Charges the card, unless the bank says no. `None`: there is no randomness for an id.
fn decide(order: &Order, entry: &mut Entry) -> Option<Answer> {
    if entry.fault == Some(Fault::Declined) || order.is_always_declined() {
        return Some(Answer::declined());
    }
    let charge = Charge::of(order).ok()?;
    let answer = Answer::charged(&charge);
    entry.charged = Some(charge);
    Some(answer)
}
