//! Ending with a closure, for stores whose transactions cannot leave their own thread (SQLite).

use axum_core::response::IntoResponse;
use futures_util::FutureExt as _;
use samekey_core::store::Write;
use samekey_core::{Answer, Effect, StoreError};

use super::{Attempt, Completed, Kept, Phase};
use crate::Error;

impl<S: Write> Attempt<S> {
    /// Runs your statements where the store writes, and completes the record in the same commit. Other writers wait
    /// meanwhile: no more in it than statements.
    ///
    /// The error type is the handler's own, and is `From<samekey::Error>`.
    ///
    /// # Errors
    /// What `work` returns: what it had written is rolled back, and the key is free again. Otherwise as
    /// [`Attempt::complete`].
    ///
    /// # Guarantees
    /// Effect, answer and completed record commit together or not at all.
    pub async fn write<R, E, W>(self, work: W) -> Result<Completed, E>
    where
        R: IntoResponse + 'static,
        E: From<Error> + Send + 'static,
        W: FnOnce(&S::Transaction<'_>) -> Result<R, E> + Send + 'static,
    {
        let Some(shared) = &self.shared else { return self.write_unkeyed(work).await };
        let _turn = shared.turn().await;
        let held = match shared.held() {
            Some(held) => held,
            None if shared.is_unclaimed() => self.claim_first(shared).await?,
            None => return Err(shared.refusal().into()),
        };
        let keeping = shared.intent().keeping;
        let work = move |tx: &S::Transaction<'_>| {
            let response = work(tx)?.into_response();
            // A body that is all there is collected without waiting; another one is a stream, and is not kept.
            let kept = Kept::of(response, keeping).now_or_never().ok_or(Error::Streamed)?;
            Ok::<_, E>((kept.answer.clone(), kept))
        };
        let before = shared.commits(&held, None);
        match self.keys.store().write(Some(&held), work).await {
            Ok(Ok(kept)) => Ok(shared.completed(kept)),
            Ok(Err(error)) => {
                shared.set(before);
                Err(error)
            }
            Err(StoreError::ClaimLost) => {
                shared.set(Phase::Lost);
                Err(Error::LeaseLost.into())
            }
            Err(error) if error.effect() == Effect::Unknown => Err(Error::CommitUnknown(error).into()),
            Err(error) => {
                shared.set(before);
                Err(Error::Store(error).into())
            }
        }
    }

    async fn write_unkeyed<R, E, W>(&self, work: W) -> Result<Completed, E>
    where
        R: IntoResponse + 'static,
        E: From<Error> + Send + 'static,
        W: FnOnce(&S::Transaction<'_>) -> Result<R, E> + Send + 'static,
    {
        let work = move |tx: &S::Transaction<'_>| {
            let response = work(tx)?.into_response();
            Ok::<_, E>((Answer::bare(response.status().as_u16()), response))
        };
        let written = self.keys.store().write(None, work).await;
        written.map_err(|error| Error::Store(error).into()).flatten().map(Completed::plain)
    }
}
