//! The attempt, as a handler sees it: what it may do once, and how it ends.

mod kept;
mod shared;
mod steps;
mod write;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum_core::extract::FromRequestParts;
use axum_core::response::IntoResponse;
use http::request::Parts;
use samekey_core::store::{Dialect, Held, Join, Records};
use samekey_core::{Effect, FencingToken, Key, StoreError};

pub use kept::Completed;
pub(crate) use kept::{Cookies, Kept, KeptResponse, response_of};
pub(crate) use shared::{Phase, Shared};

use crate::Error;
use crate::keys::Keys;
use crate::problem::Problem;

/// How long a joined attempt waits for another transaction that holds its key.
const JOIN_PATIENCE: Duration = Duration::from_secs(5);

/// One request that carries a key, in the handler's hands.
///
/// An extractor: take it as an argument. On a route whose key is optional, a request without one gets an attempt that does
/// the same and remembers nothing: steps call, `complete` commits.
pub struct Attempt<S> {
    keys: Keys<S>,
    shared: Option<Arc<Shared>>,
}

impl<S: Records> Attempt<S> {
    pub(crate) fn of(keys: Keys<S>, shared: Option<Arc<Shared>>) -> Self {
        Self { keys, shared }
    }

    /// An attempt without a key, to call a handler as a function in a test.
    #[must_use]
    pub fn unkeyed(keys: impl Into<Keys<S>>) -> Self {
        Self { keys: keys.into(), shared: None }
    }

    /// The caller's key, where there is one.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        self.shared.as_ref().map(|shared| &shared.intent().name.key)
    }

    /// The fencing token, once the record is claimed. Name it in writes of your own to systems that can compare it: a stalled
    /// attempt then cannot overwrite what its successor wrote.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        self.shared.as_ref().and_then(|shared| shared.token())
    }

    /// Claims the record inside your own transaction, on a route that is [`joined`](crate::IdempotencyLayer::joined): claim,
    /// effect and answer are one commit. On any other route the record is claimed already, and this does nothing.
    ///
    /// # Errors
    /// [`Error::Duplicate`]: the record is there already, or another transaction keeps holding it. Hand it on with `?`: your
    /// transaction rolls back, and the layer answers.
    ///
    /// # Guarantees
    /// A crash before the commit leaves nothing. Duplicates wait on the database's index, for 5 seconds at most.
    pub async fn join<Tx: Join<S>>(&self, tx: &mut Tx) -> Result<(), Error>
    where
        S: Dialect,
    {
        let Some(shared) = &self.shared else { return Ok(()) };
        let _turn = shared.turn().await;
        if !shared.is_unclaimed() {
            return Ok(());
        }
        self.claim_within(shared, tx).await.map(drop)
    }

    async fn claim_within<Tx: Join<S>>(&self, shared: &Shared, tx: &mut Tx) -> Result<Held, Error>
    where
        S: Dialect,
    {
        let wish = shared.intent().wish();
        match self.keys.store().claim_within(tx, &wish, JOIN_PATIENCE).await {
            Ok(Some(token)) => {
                let held = shared.intent().held(token);
                shared.set(Phase::Joined(held.clone()));
                Ok(held)
            }
            Ok(None) | Err(StoreError::Busy { .. }) => {
                shared.set(Phase::Met);
                Err(Error::Duplicate)
            }
            Err(error) => Err(Error::Store(error)),
        }
    }

    /// Commits your transaction, and with it the answer: takes the place of `tx.commit()`.
    ///
    /// # Errors
    /// [`Error::LeaseLost`]: another attempt took over; everything in the transaction was rolled back.
    /// [`Error::CommitUnknown`]: the answer to the commit was lost; the layer finds out what became of it. Whatever the
    /// error, hand it on with `?`: the layer knows the answer.
    ///
    /// # Guarantees
    /// Effect, answer and completed record commit together or not at all.
    pub async fn complete<Tx: Join<S>>(
        self,
        mut tx: Tx,
        response: impl IntoResponse,
    ) -> Result<Completed, Error>
    where
        S: Dialect,
    {
        let Some(shared) = &self.shared else {
            self.keys.store().commit_alone(tx).await.map_err(Error::of_commit)?;
            return Ok(Completed::plain(response.into_response()));
        };
        let kept = Kept::of(response.into_response(), shared.intent().keeping).await;
        let _turn = shared.turn().await;
        let held = match shared.held() {
            Some(held) => held,
            None if shared.is_unclaimed() => self.claim_within(shared, &mut tx).await?,
            None => return Err(shared.refusal()),
        };
        let before = shared.commits(&held, Some(&kept));
        match self.keys.store().complete_within(tx, &held, &kept.answer).await {
            Ok(()) => Ok(shared.completed(kept)),
            Err(StoreError::ClaimLost) => {
                shared.set(Phase::Lost);
                Err(Error::LeaseLost)
            }
            Err(error) if error.effect() == Effect::Unknown => Err(Error::CommitUnknown(error)),
            Err(error) => {
                shared.set(before);
                Err(Error::Store(error))
            }
        }
    }

    /// Ends with an answer that has no effect in your database: a refusal that the customer was told, say.
    ///
    /// # Errors
    /// As [`Attempt::complete`].
    ///
    /// # Guarantees
    /// The answer is kept before this returns; every later attempt gets it.
    pub async fn finish(self, response: impl IntoResponse) -> Result<Completed, Error> {
        let Some(shared) = &self.shared else { return Ok(Completed::plain(response.into_response())) };
        let kept = Kept::of(response.into_response(), shared.intent().keeping).await;
        let _turn = shared.turn().await;
        let held = match shared.held() {
            Some(held) if !shared.is_joined() => held,
            Some(_) => return Err(Error::FinishAfterJoin),
            None if shared.is_unclaimed() => self.claim_first(shared).await?,
            None => return Err(shared.refusal()),
        };
        let before = shared.commits(&held, Some(&kept));
        match self.keys.store().complete(&held, &kept.answer).await {
            Ok(()) => Ok(shared.completed(kept)),
            Err(StoreError::ClaimLost) => {
                shared.set(Phase::Lost);
                Err(Error::LeaseLost)
            }
            Err(error) if error.effect() == Effect::Unknown => Err(Error::CommitUnknown(error)),
            Err(error) => {
                shared.set(before);
                Err(Error::Store(error))
            }
        }
    }
}

impl<S> fmt::Debug for Attempt<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt").field("keyed", &self.shared.is_some()).finish_non_exhaustive()
    }
}

/// The attempt on its way to the handler, in the request's extensions, which must be `Clone`.
pub(crate) struct Carried<S> {
    keys: Keys<S>,
    shared: Option<Arc<Shared>>,
}

impl<S> Clone for Carried<S> {
    fn clone(&self) -> Self {
        Self { keys: self.keys.clone(), shared: self.shared.clone() }
    }
}

impl<S: Records> Carried<S> {
    pub(crate) fn of(attempt: Attempt<S>) -> Self {
        Self { keys: attempt.keys, shared: attempt.shared }
    }
}

impl<S: Records, T: Sync> FromRequestParts<T> for Attempt<S> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Self, Problem> {
        let carried = parts.extensions.get::<Carried<S>>().ok_or_else(Problem::layer_missing)?;
        Ok(Self { keys: carried.keys.clone(), shared: carried.shared.clone() })
    }
}
