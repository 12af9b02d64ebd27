//! One request through the layer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::IntoResponse;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body as HttpBody;
use samekey_core::store::Records;
use samekey_core::{Key, Scope, StoreError};
use tokio::time::Instant;
use tower_service::Service;
use tracing::Instrument as _;

use super::request::{self, Identity};
use super::{IdempotencyLayer, Need};
use crate::Problem;
use crate::attempt::{Attempt, Carried};
use crate::keys::{Failure, Identify, Intent, Name, Performed, Refusal, WorkOutcome};
use crate::random::claim_id;

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The service around yours. It never fails: it answers.
pub struct IdempotencyService<S, I> {
    inner: I,
    layer: IdempotencyLayer<S>,
}

impl<S, I> IdempotencyService<S, I> {
    pub(super) fn around(inner: I, layer: IdempotencyLayer<S>) -> Self {
        Self { inner, layer }
    }
}

impl<S, I: Clone> Clone for IdempotencyService<S, I> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S, I> std::fmt::Debug for IdempotencyService<S, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdempotencyService").field("layer", &self.layer).finish_non_exhaustive()
    }
}

/// An error in a box, as bodies and services have them.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl<S, I, B, R> Service<Request<B>> for IdempotencyService<S, I>
where
    S: Records,
    I: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    I::Future: Send + 'static,
    I::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: HttpBody<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The inner service is made ready when it is called, on the attempt's own task.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (inner, layer) = (self.inner.clone(), self.layer.clone());
        Box::pin(async move { Ok(handle(inner, layer, request).await) })
    }
}

/// The order of checks: who calls, the key's syntax, the size, the store, the record.
async fn handle<S, I, B, R>(inner: I, layer: IdempotencyLayer<S>, request: Request<B>) -> Response<Body>
where
    S: Records,
    I: Service<Request<Body>, Response = Response<R>> + Send + 'static,
    I::Future: Send + 'static,
    I::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: HttpBody<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let (mut parts, body) = request.into_parts();
    if !layer.route.methods.contains(&parts.method) {
        return plain(inner, Request::from_parts(parts, Body::new(body))).await;
    }
    let scope = match (layer.scoping)(&mut parts).await {
        Ok(scope) => scope,
        Err(answer) => return *answer,
    };
    let key = match request::key(&parts.headers) {
        Some(Ok(key)) => key,
        Some(Err(error)) => return Problem::key(error).into_response(),
        None if layer.route.need == Need::Required => return Problem::key_missing().into_response(),
        None => {
            parts.extensions.insert(Carried::of(Attempt::unkeyed(layer.keys.clone())));
            return plain(inner, Request::from_parts(parts, Body::new(body))).await;
        }
    };
    let body = match request::body(body, layer.route.body_limit).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let wait = request::wait(&parts.headers).map(|wait| wait.min(layer.route.max_wait));
    match intent(&layer, scope, key, &parts, body.clone(), wait).await {
        Ok(intent) => keyed(inner, layer, intent, Request::from_parts(parts, body), wait).await,
        Err(error) => Problem::from(Refusal::Store(Arc::new(error))).into_response(),
    }
}

async fn intent<S: Records>(
    layer: &IdempotencyLayer<S>,
    scope: Scope,
    key: Key,
    parts: &Parts,
    body: Bytes,
    wait: Option<Duration>,
) -> Result<Intent, StoreError> {
    let route = &layer.route;
    let recipe = *layer.recipe_id.get_or_try_init(|| layer.keys.store().recipe(&route.recipe)).await?;
    let request = Arc::new(Identity::of(parts, body));
    Ok(Intent {
        name: Name { scope, key },
        claim: claim_id(),
        fingerprint: request.fingerprint(&route.recipe),
        recipe,
        request,
        claiming: route.claiming,
        lease: route.lease,
        retention: route.retention,
        tombstone: route.tombstone,
        abandoned: route.abandoned,
        deadline: route.deadline,
        wait_until: wait.map(|wait| Instant::now() + wait),
        keeping: route.keeping,
    })
}

/// The attempt runs on a task of its own: a client that hangs up changes nothing.
async fn keyed<S, I, R>(
    inner: I,
    layer: IdempotencyLayer<S>,
    intent: Intent,
    request: Request<Bytes>,
    wait: Option<Duration>,
) -> Response<Body>
where
    S: Records,
    I: Service<Request<Body>, Response = Response<R>> + Send + 'static,
    I::Future: Send + 'static,
    I::Error: Into<BoxError>,
    R: HttpBody<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let span = tracing::info_span!("attempt", key = %intent.name.shown());
    let tasks = layer.keys.engine().tasks.clone();
    let work = move |attempt: Attempt<S>| {
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(Carried::of(attempt));
        call(inner, Request::from_parts(parts, Body::from(body)))
    };
    let performed = tasks.spawn(layer.keys.clone().perform(intent, work).instrument(span));
    match performed.await {
        Ok(performed) => answer(performed, wait),
        // The runtime is shutting down: the lease runs out.
        Err(_) => Problem::unavailable("the service is stopping; retry with the same key").into_response(),
    }
}

fn answer(performed: Performed, wait: Option<Duration>) -> Response<Body> {
    match performed {
        Performed::Answer(mut response) => {
            // A replay carries the marker; nothing else does, whatever the handler thinks.
            response.headers_mut().remove(REPLAYED);
            response
        }
        Performed::Replay(kept) => {
            let mut response = crate::attempt::response_of(&kept.answer);
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            if let Some(wait) = wait {
                let applied = HeaderValue::from_str(&format!("wait={}", wait.as_secs()));
                response
                    .headers_mut()
                    .insert(PREFERENCE_APPLIED, applied.expect("a number is a header value"));
            }
            response
        }
        Performed::Refused(refusal) => Problem::from(refusal).into_response(),
        Performed::Failed(failure) => Problem::from(failure).into_response(),
    }
}

async fn call<I, R>(mut inner: I, request: Request<Body>) -> WorkOutcome
where
    I: Service<Request<Body>, Response = Response<R>> + Send,
    I::Error: Into<BoxError>,
    R: HttpBody<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let ready =
        std::future::poll_fn(|context| inner.poll_ready(context)).await.map_err(Into::<BoxError>::into);
    let answered = match ready {
        Ok(()) => inner.call(request).await.map_err(Into::<BoxError>::into),
        Err(error) => Err(error),
    };
    match answered {
        Ok(response) => WorkOutcome::Answered(response.map(Body::new)),
        Err(error) => {
            tracing::error!(%error, "the service inside the layer failed");
            WorkOutcome::Failed("the service failed")
        }
    }
}

/// Without a key: as if the layer were not there.
async fn plain<I, R>(inner: I, request: Request<Body>) -> Response<Body>
where
    I: Service<Request<Body>, Response = Response<R>> + Send,
    I::Error: Into<BoxError>,
    R: HttpBody<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    match call(inner, request).await {
        WorkOutcome::Answered(response) => response,
        _ => Problem::from(Failure::Broken).into_response(),
    }
}
