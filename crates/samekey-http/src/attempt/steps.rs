//! Steps: a named external call inside an intent, whose answer is kept.

use std::future::Future;
use std::time::Duration;

use samekey_core::derived::DerivedKey;
use samekey_core::store::{Held, Records, Reply, StepKind};
use samekey_core::{Effect, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::shared::Begins;
use super::{Attempt, Phase, Shared};
use crate::Error;
use crate::keys::Claiming;

/// How often a result is kept anew whose keeping failed: for an unkeyed side it would be lost for good.
const REPEATS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);

impl<S: Records> Attempt<S> {
    /// Calls another side under a key derived from this intent, and keeps what it said.
    ///
    /// The closure's `Ok` is what the other side said, a refusal included: it is kept, and later attempts get it without a
    /// call. Its `Err` is no answer: nothing is kept, and the next attempt calls again with the same key. What is sent must
    /// follow from the request alone; where it does not (a time, a price of the day), use [`Attempt::step_with`].
    ///
    /// The outer error is Samekey's, the inner one the call's own: `.await??`.
    ///
    /// # Errors
    /// [`Error::LeaseLost`]: do not call. [`Error::StepAfterJoin`]: no network call inside a transaction.
    /// [`Error::OutcomeUnknown`]: an earlier attempt began a step of another name, which this one has not asked for.
    ///
    /// # Guarantees
    /// The begin is committed before the call, the result before this returns. A crash in between: the next attempt calls
    /// again with the same derived key, and the other side recognises it.
    pub async fn step<T, E, F>(
        &self,
        name: &'static str,
        call: impl FnOnce(DerivedKey) -> F + Send,
    ) -> Result<Result<T, E>, Error>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Send,
        F: Future<Output = Result<T, E>> + Send,
    {
        self.step_with(name, (), move |key, ()| call(key)).await
    }

    /// As [`Attempt::step`], with an input that is kept when the step begins: a resumed attempt sends what the first one did,
    /// not a new computation.
    ///
    /// # Errors
    /// As [`Attempt::step`].
    pub async fn step_with<I, T, E, F>(
        &self,
        name: &'static str,
        input: I,
        call: impl FnOnce(DerivedKey, I) -> F + Send,
    ) -> Result<Result<T, E>, Error>
    where
        I: Serialize + DeserializeOwned + Send,
        T: Serialize + DeserializeOwned + Send,
        E: Send,
        F: Future<Output = Result<T, E>> + Send,
    {
        let Some(shared) = &self.shared else {
            return Ok(call(DerivedKey::random(crate::random::bytes()), input).await);
        };
        let kept_input = serde_json::to_vec(&input).map_err(Error::Value)?;
        let begun = self.begin(shared, name, StepKind::Keyed, &kept_input).await?;
        let (held, begun) = match begun {
            Begun::Kept(value) => return Ok(Ok(value)),
            Begun::Call { held, begun } => (held, begun),
        };
        let input = serde_json::from_slice(&begun.input).map_err(Error::Value)?;
        let said = call(begun.derived_key, input).await;
        if let Ok(value) = &said {
            self.keep(shared, &held, name, value).await?;
        }
        Ok(said)
    }

    /// Calls a side that takes no key: at most once. An attempt that dies after the begin leaves an outcome that nobody
    /// knows: later ones hear 409 `outcome-unknown`, until somebody settles it. So does one whose call failed (`Err`).
    ///
    /// # Errors
    /// As [`Attempt::step`].
    ///
    /// # Guarantees
    /// The begin is committed before the call, so that no crash can lead to a second one.
    pub async fn step_at_most_once<T, E, F>(
        &self,
        name: &'static str,
        call: impl FnOnce() -> F + Send,
    ) -> Result<Result<T, E>, Error>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Send,
        F: Future<Output = Result<T, E>> + Send,
    {
        self.step_at_most_once_unless(name, |_| false, call).await
    }

    /// As [`Attempt::step_at_most_once`]; `not_sent` says of a failure that the call certainly never left this process (a name
    /// that does not resolve, a refused connection): then nothing was begun, and the next attempt may call.
    ///
    /// # Errors
    /// As [`Attempt::step`].
    pub async fn step_at_most_once_unless<T, E, F>(
        &self,
        name: &'static str,
        not_sent: impl FnOnce(&E) -> bool + Send,
        call: impl FnOnce() -> F + Send,
    ) -> Result<Result<T, E>, Error>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Send,
        F: Future<Output = Result<T, E>> + Send,
    {
        let Some(shared) = &self.shared else { return Ok(call().await) };
        let held = match self.begin(shared, name, StepKind::Unkeyed, b"null").await? {
            Begun::Kept(value) => return Ok(Ok(value)),
            Begun::Call { held, begun } if begun.reply == Reply::New => held,
            Begun::Call { held, .. } => return Err(self.unknown(shared, &held).await),
        };
        match call().await {
            Ok(value) => {
                self.keep(shared, &held, name, &value).await?;
                Ok(Ok(value))
            }
            Err(error) => {
                let undone = not_sent(&error) && self.keys.store().undo_step(&held, name).await.is_ok();
                if undone {
                    shared.step_undone();
                } else {
                    drop(self.unknown(shared, &held).await);
                }
                Ok(Err(error))
            }
        }
    }

    async fn begin<T: DeserializeOwned>(
        &self,
        shared: &Shared,
        name: &'static str,
        kind: StepKind,
        input: &[u8],
    ) -> Result<Begun<T>, Error> {
        let held = {
            let _turn = shared.turn().await;
            if shared.is_joined() {
                return Err(Error::StepAfterJoin);
            }
            match shared.held() {
                Some(held) => held,
                None if shared.is_unclaimed() => self.claim_first(shared).await?,
                None => return Err(shared.refusal()),
            }
        };
        let begins = shared.begins(name);
        if begins == Begins::WhileUnasked {
            return Err(self.unknown(shared, &held).await);
        }
        let begun = match self.keys.store().begin_step(&held, name, kind, input).await {
            Ok(begun) => begun,
            Err(StoreError::ClaimLost) => {
                shared.set(Phase::Lost);
                return Err(Error::LeaseLost);
            }
            Err(error) => {
                // An earlier attempt's begin stays, whatever became of this one.
                if error.effect() == Effect::NotApplied && begins == Begins::New {
                    shared.step_undone();
                }
                return Err(Error::Store(error));
            }
        };
        if let Reply::Kept(result) = &begun.reply {
            shared.step_ended();
            return serde_json::from_slice(result).map(Begun::Kept).map_err(Error::Value);
        }
        Ok(Begun::Call { held, begun })
    }

    /// Keeps what the other side said.
    async fn keep<T: Serialize>(
        &self,
        shared: &Shared,
        held: &Held,
        name: &str,
        value: &T,
    ) -> Result<(), Error> {
        let result = serde_json::to_vec(value).map_err(Error::Value)?;
        let mut repeats = 0;
        loop {
            match self.keys.store().end_step(held, name, &result).await {
                Ok(()) => break,
                // A lost answer to this very statement looks like it, when it is asked again.
                Err(StoreError::ClaimLost) if repeats > 0 => break,
                Err(StoreError::ClaimLost) => {
                    shared.set(Phase::Lost);
                    return Err(Error::LeaseLost);
                }
                Err(error) if error.is_passing() && repeats < REPEATS => {
                    repeats += 1;
                    tracing::warn!(%error, step = name, "a step's result was not kept; trying again");
                    tokio::time::sleep(PAUSE * repeats).await;
                }
                Err(error) => return Err(Error::Store(error)),
            }
        }
        shared.step_ended();
        Ok(())
    }

    /// Claims before the work, for a joined attempt that has something to remember before its transaction.
    pub(super) async fn claim_first(&self, shared: &Shared) -> Result<Held, Error> {
        let since = tokio::time::Instant::now();
        let intent = shared.intent();
        debug_assert_eq!(intent.claiming, Claiming::Joined);
        match self.keys.engine().claim(intent.wish()).await {
            Ok(samekey_core::store::Claimed::Won(claim)) => {
                let held = intent.held(claim.token);
                shared.set(Phase::Claimed(held.clone()));
                shared.beats(held.token);
                drop(self.keys.engine().beat(held.clone(), intent.lease, since));
                Ok(held)
            }
            Ok(samekey_core::store::Claimed::Met(_)) => {
                shared.set(Phase::Met);
                Err(Error::Duplicate)
            }
            Err(error) => Err(Error::Store(StoreError::Busy { source: error.to_string().into() })),
        }
    }

    /// Marks the record unknown: nobody can tell what happened.
    async fn unknown(&self, shared: &Shared, held: &Held) -> Error {
        self.keys.end_lease(held).await;
        match self.keys.store().mark_unknown(held).await {
            Ok(true) => {}
            Ok(false) => {
                shared.set(Phase::Lost);
                return Error::LeaseLost;
            }
            Err(error) => {
                tracing::warn!(%error, "the record was not marked unknown; the next attempt finds it so");
            }
        }
        shared.set(Phase::Unknown);
        Error::OutcomeUnknown
    }
}

/// What a begin found.
enum Begun<T> {
    Kept(T),
    Call { held: Held, begun: samekey_core::store::BegunStep },
}
