//! Whose key it is. There is no default: a layer that lumps callers together shows one the other's answer.

use std::any::type_name;
use std::fmt::Display;
use std::sync::Arc;

use axum_core::body::Body;
use axum_core::extract::FromRequestParts;
use axum_core::response::IntoResponse;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Response;
use http::request::Parts;
use samekey_core::Scope;

use crate::Problem;

/// Finds the scope of a request, or the answer to one that has none.
pub(crate) type Scoping =
    Arc<dyn for<'p> Fn(&'p mut Parts) -> BoxFuture<'p, Result<Scope, Box<Response<Body>>>> + Send + Sync>;

fn named(scope: &impl Display) -> Result<Scope, Box<Response<Body>>> {
    Scope::new(scope.to_string()).ok_or_else(|| Box::new(Problem::scope_empty().into_response()))
}

pub(super) fn by_extension<E, D>(scope: impl Fn(&E) -> D + Send + Sync + 'static) -> Scoping
where
    E: Send + Sync + 'static,
    D: Display,
{
    Arc::new(move |parts| {
        let found = match parts.extensions.get::<E>() {
            Some(extension) => named(&scope(extension)),
            None => Err(Box::new(Problem::scope_missing(type_name::<E>()).into_response())),
        };
        std::future::ready(found).boxed()
    })
}

pub(super) fn by_extractor<E, T, D>(state: T, scope: impl Fn(&E) -> D + Send + Sync + 'static) -> Scoping
where
    E: FromRequestParts<T> + Send + Sync + 'static,
    T: Send + Sync + 'static,
    D: Display,
{
    let shared = Arc::new((state, scope));
    Arc::new(move |parts| {
        let shared = shared.clone();
        async move {
            let (state, scope) = &*shared;
            match E::from_request_parts(parts, state).await {
                Ok(extracted) => named(&scope(&extracted)),
                Err(rejection) => Err(Box::new(rejection.into_response())),
            }
        }
        .boxed()
    })
}

pub(super) fn constant(scope: Scope) -> Scoping {
    Arc::new(move |_| std::future::ready(Ok(scope.clone())).boxed())
}
