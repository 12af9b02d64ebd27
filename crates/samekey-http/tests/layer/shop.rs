//! A service with every kind of route, and a caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use samekey_http::{Attempt, Completed, IdempotencyLayer, Keys};
use tokio::sync::{Mutex, Notify, Semaphore};
use tower::ServiceExt as _;

use crate::backend::{Backend, Failed};

/// Whom the caller says to be; set by the layer outside.
#[derive(Clone)]
struct Account(String);

async fn authenticate(mut request: Request, next: Next) -> Response {
    let name = request.headers().get("account").map(|value| value.to_str().unwrap().to_owned());
    request.extensions_mut().insert(Account(name.unwrap_or_else(|| "ada".to_owned())));
    next.run(request).await
}

/// What the test has in hand.
#[derive(Default)]
pub(crate) struct Script {
    /// How often a handler ran.
    pub(crate) runs: AtomicUsize,
    /// The derived keys that the other side was called with.
    pub(crate) calls: Mutex<Vec<String>>,
    /// Handlers that wait at the gate say so, and wait for a permit.
    pub(crate) at_gate: Notify,
    pub(crate) gate: Option<Semaphore>,
}

impl Script {
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Counts a run, and waits where a gate stands.
    async fn run(&self) -> usize {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(gate) = &self.gate {
            self.at_gate.notify_one();
            gate.acquire().await.unwrap().forget();
        }
        run
    }

    async fn call(&self, key: &str) -> Result<String, Failed> {
        let mut calls = self.calls.lock().await;
        calls.push(key.to_owned());
        Ok(format!("ch_{}", calls.len()))
    }
}

/// One process: its keys, and its service.
#[derive(Clone)]
pub(crate) struct Shop<B: Backend> {
    pub(crate) place: B,
    pub(crate) keys: Keys<B::Store>,
    pub(crate) script: Arc<Script>,
    pub(crate) router: Router,
}

#[derive(Clone)]
struct Stage<B> {
    place: B,
    script: Arc<Script>,
}

impl<B: Backend> Shop<B> {
    pub(crate) fn open(place: &B) -> Self {
        Self::with(place, Arc::default(), Keys::new(place.store()), |layer| layer)
    }

    pub(crate) fn gated(place: &B) -> Self {
        let script = Script { gate: Some(Semaphore::new(0)), ..Script::default() };
        Self::with(place, Arc::new(script), Keys::new(place.store()), |layer| layer)
    }

    /// The same service in another process on the same database.
    pub(crate) async fn another(&self) -> Self {
        let place = self.place.another().await;
        let keys = Keys::new(place.store());
        Self::with(&place, self.script.clone(), keys, |layer| layer)
    }

    /// The same in another process, whose handlers do not wait.
    pub(crate) async fn another_of(&self, at_least_once: bool) -> Self {
        let place = self.place.another().await;
        Self::layered(
            &place,
            move |layer| {
                if at_least_once { layer.at_least_once() } else { layer.at_most_once() }
            },
        )
    }

    pub(crate) fn layered(
        place: &B,
        change: impl Fn(IdempotencyLayer<B::Store>) -> IdempotencyLayer<B::Store>,
    ) -> Self {
        Self::with(place, Arc::default(), Keys::new(place.store()), change)
    }

    pub(crate) fn with(
        place: &B,
        script: Arc<Script>,
        keys: Keys<B::Store>,
        change: impl Fn(IdempotencyLayer<B::Store>) -> IdempotencyLayer<B::Store>,
    ) -> Self {
        let once = change(IdempotencyLayer::scoped_by(keys.clone(), |account: &Account| account.0.clone()));
        let stage = Stage { place: place.clone(), script: script.clone() };
        let router = Router::new()
            .route("/orders", post(order::<B>).layer(once.clone()))
            .route("/notes", post(note::<B>).layer(once.clone().joined()))
            .route("/forgotten", post(forgotten::<B>).layer(once.clone().joined()))
            .route("/untouched", post(untouched::<B>).patch(untouched::<B>).layer(once.clone()))
            .route("/paid", post(paid::<B>).layer(once.clone()))
            .route("/paid-joined", post(paid::<B>).layer(once.clone().joined()))
            .route("/careful", post(careful::<B>).layer(once.clone()))
            .route("/sms", post(sms::<B>).layer(once.clone()))
            .route("/optional", post(order::<B>).layer(once.clone().optional()))
            .nest("/api", Router::new().route("/untouched", post(untouched::<B>).layer(once)))
            .layer(middleware::from_fn(authenticate))
            .with_state(stage);
        Self { place: place.clone(), keys, script, router }
    }

    pub(crate) async fn post(&self, path: &str, key: &str, body: &str) -> Heard {
        self.send(path, &[("idempotency-key", key)], body).await
    }

    pub(crate) async fn send(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Heard {
        self.request(Method::POST, path, headers, body).await
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Heard {
        let mut request =
            Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        Heard::of(self.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Until so many attempts are under way: with the gate closed, they stay.
    pub(crate) async fn until_running(&self, attempts: usize) {
        while self.keys.running() < attempts {
            tokio::task::yield_now().await;
        }
    }

    /// Lets so many handlers through the gate.
    pub(crate) fn open_gate(&self, handlers: usize) {
        self.script.gate.as_ref().unwrap().add_permits(handlers);
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Heard {
    async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: to_bytes(body, 8 << 20).await.unwrap(),
        }
    }

    pub(crate) fn replayed(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }

    /// The code of a problem document.
    pub(crate) fn code(&self) -> String {
        let problem: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        problem["code"].as_str().unwrap_or_default().to_owned()
    }
}

async fn order<B: Backend>(
    State(stage): State<Stage<B>>,
    attempt: Attempt<B::Store>,
) -> Result<Completed, Failed> {
    stage.script.run().await;
    stage.place.commit(attempt).await
}

async fn note<B: Backend>(
    State(stage): State<Stage<B>>,
    attempt: Attempt<B::Store>,
    headers: HeaderMap,
) -> Result<Completed, Failed> {
    stage.script.run().await;
    assert!(!headers.contains_key("panics"), "on purpose");
    stage.place.commit_joined(attempt).await
}

/// Says yes and completes nothing.
async fn forgotten<B: Backend>(State(stage): State<Stage<B>>, _: Attempt<B::Store>) -> StatusCode {
    stage.script.run().await;
    StatusCode::CREATED
}

/// Knows nothing of keys. Does what the request's body says: `{"answer":201}`, `{"panic":true}`, each at its first run only.
async fn untouched<B: Backend>(State(stage): State<Stage<B>>, body: Bytes) -> Response {
    let run = stage.script.run().await;
    let wanted: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    if run == 1 && wanted["panic"] == true {
        panic!("on purpose");
    }
    let first = wanted["first"].as_u64().filter(|_| run == 1);
    let status = first.or(wanted["answer"].as_u64()).unwrap_or(201);
    let status = StatusCode::from_u16(u16::try_from(status).unwrap()).unwrap();
    let length = usize::try_from(wanted["length"].as_u64().unwrap_or(0)).unwrap();
    let body = if status == StatusCode::NO_CONTENT {
        Vec::new()
    } else if length > 0 {
        vec![b'x'; length]
    } else {
        format!("run {run}\0\u{fe}").into_bytes()
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, "application/x-odd; v=1".parse().unwrap());
    headers.append(header::LOCATION, "/things/1".parse().unwrap());
    headers.append("x-part", "a".parse().unwrap());
    headers.append("x-part", "b".parse().unwrap());
    headers.append(header::SET_COOKIE, "s=1".parse().unwrap());
    headers.append("x-bytes", axum::http::HeaderValue::from_bytes(b"\xff\xfe").unwrap());
    response
}

/// A step at a side that takes keys, then the effect. `{"after":500}` fails after the step at its first run.
async fn paid<B: Backend>(
    State(stage): State<Stage<B>>,
    attempt: Attempt<B::Store>,
    body: Bytes,
) -> Result<Response, Failed> {
    let run = stage.script.run().await;
    let wanted: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let name = if run > 1 && wanted["renamed"] == true { "pay" } else { "charge" };
    let charge = attempt.step(name, async |key| stage.script.call(&key).await).await??;
    if run == 1 && wanted["panic"] == true {
        panic!("on purpose");
    }
    if let Some(status) = wanted["after"].as_u64().filter(|_| run == 1) {
        return Ok(StatusCode::from_u16(u16::try_from(status).unwrap()).unwrap().into_response());
    }
    if wanted["declined"] == true {
        let refusal = (StatusCode::PAYMENT_REQUIRED, format!("{charge} declined"));
        return Ok(attempt.finish(refusal).await?.into_response());
    }
    Ok(stage.place.commit(attempt).await?.into_response())
}

/// A step at a side that takes no key. `{"panic":true}` dies in the call at its first run.
async fn sms<B: Backend>(
    State(stage): State<Stage<B>>,
    attempt: Attempt<B::Store>,
    body: Bytes,
) -> Result<Response, Failed> {
    let run = stage.script.run().await;
    let wanted: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let not_sent = |_: &Failed| wanted["not_sent"] == true && run == 1;
    let sent = attempt.step_at_most_once_unless("sms", not_sent, async || {
        let sent = stage.script.call("no key").await;
        if run == 1 && wanted["panic"] == true {
            panic!("on purpose");
        }
        if wanted["fails"] == true || (wanted["not_sent"] == true && run == 1) {
            Err(Failed::NoAnswer)
        } else {
            sent
        }
    });
    sent.await??;
    Ok(stage.place.commit(attempt).await?.into_response())
}

/// Fails in its step at its first run, and refuses where it cannot begin it.
async fn careful<B: Backend>(
    State(stage): State<Stage<B>>,
    attempt: Attempt<B::Store>,
) -> Result<Response, Failed> {
    let run = stage.script.run().await;
    let called = attempt.step("charge", async |key| {
        let said = stage.script.call(&key).await;
        if run == 1 { Err(Failed::NoAnswer) } else { said }
    });
    match called.await {
        Err(_) => Ok(StatusCode::BAD_REQUEST.into_response()),
        Ok(said) => {
            said?;
            Ok(stage.place.commit(attempt).await?.into_response())
        }
    }
}
