//! Keys without HTTP: gRPC, GraphQL, jobs. The same record, the same rules.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use samekey_core::fingerprint::Request;
use samekey_core::lease::Lease;
use samekey_core::record::AbandonedWork;
use samekey_core::store::Records;
use samekey_core::{Answer, Fingerprint, Key, Recipe, Scope, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument as _;

use crate::attempt::{Attempt, Completed, Cookies, KeptResponse};
use crate::keys::{Claiming, Identify, Intent, Keys, Name, Performed, Refusal, WorkOutcome};
use crate::random::claim_id;

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Shorter than the lease, as the layer's.
const DEADLINE: Duration = Duration::from_secs(25);
const ANSWER_LIMIT: usize = 1 << 20;

/// What an intent came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ran<T> {
    /// It ran now.
    Now(T),
    /// It ran before; this is what it came to then.
    Before(T),
}

impl<T> Ran<T> {
    /// What it came to.
    pub fn into_inner(self) -> T {
        match self {
            Self::Now(value) | Self::Before(value) => value,
        }
    }
}

/// Why an intent has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// Another attempt is running. Come back.
    #[error("another attempt of this intent is running")]
    InProgress,
    /// The key was used with another input.
    #[error("the key was used with another input")]
    Reused,
    /// The key was used so long ago that its answer is no longer kept.
    #[error("the key has expired")]
    Expired,
    /// What an earlier attempt did is not known; somebody must settle it.
    #[error("what an earlier attempt did is not known")]
    Unknown,
    /// The answer was not kept, being too long.
    #[error("the intent was done before, and its answer was not kept")]
    NotReplayable,
    /// The store failed, or the process has too much to do; nothing is known to have happened.
    #[error("the store is away: {0}")]
    Store(Arc<StoreError>),
    /// Too many attempts run in this process. Nothing was done.
    #[error("too many attempts run at once")]
    Full,
    /// The work was interrupted; the next attempt resumes.
    #[error("the attempt did not come to its end")]
    Interrupted,
    /// The work itself failed; the key is free again, or the next attempt resumes after its steps.
    #[error("the work failed")]
    Failed(E),
    /// The answer is not what this release reads.
    #[error("the kept answer cannot be read: {0}")]
    Value(serde_json::Error),
}

struct Input {
    json: Vec<u8>,
}

impl Identify for Input {
    fn fingerprint(&self, recipe: &Recipe) -> Fingerprint {
        let (method, path, query, content_type) = ("RUN", "", "", "application/json");
        recipe.fingerprint(&Request { method, path, query, content_type, body: &self.json })
    }
}

impl<S: Records> Keys<S> {
    /// Does the work once for (scope, key), however often it is called, in any process on the store.
    ///
    /// `input` is what makes two calls the same. The work ends with [`Attempt::finish`] or [`Attempt::complete`], given
    /// `axum`'s `Json(&value)` or any other answer whose body is that JSON; `T` is read from it, now and later.
    ///
    /// # Errors
    /// [`RunError`]: each says what it means for a further attempt.
    ///
    /// # Guarantees
    /// As the layer's. The work runs on a task of its own: dropping this future changes nothing.
    pub async fn run<I, T, E, F, W>(
        &self,
        scope: &Scope,
        key: &Key,
        input: &I,
        work: W,
    ) -> Result<Ran<T>, RunError<E>>
    where
        I: Serialize + Sync,
        T: DeserializeOwned,
        E: Send + 'static,
        W: FnOnce(Attempt<S>) -> F + Send + 'static,
        F: Future<Output = Result<Completed, E>> + Send + 'static,
    {
        let input = Input { json: serde_json::to_vec(input).map_err(RunError::Value)? };
        let name = Name { scope: scope.clone(), key: key.clone() };
        let intent = self.intent(name, input).await.map_err(|error| RunError::Store(Arc::new(error)))?;
        let (failed, failure) = tokio::sync::oneshot::channel();
        let work = move |attempt| async move {
            match work(attempt).await {
                Ok(completed) => {
                    WorkOutcome::Answered(axum_core::response::IntoResponse::into_response(completed))
                }
                Err(error) => {
                    // Nobody waits any more; the record knows all the same.
                    let _ = failed.send(error);
                    WorkOutcome::Failed("the work failed")
                }
            }
        };
        let span = tracing::info_span!("attempt", key = %intent.name.shown());
        let task = self.engine().tasks.spawn(self.clone().perform(intent, work).instrument(span));
        let performed = task.await.map_err(|_| RunError::Interrupted)?;
        read(performed, failure.await.ok()).await
    }

    async fn intent(&self, name: Name, input: Input) -> Result<Intent, StoreError> {
        let recipe = Recipe::canonical();
        Ok(Intent {
            name,
            claim: claim_id(),
            fingerprint: input.fingerprint(&recipe),
            recipe: self.store().recipe(&recipe).await?,
            request: Arc::new(input),
            claiming: Claiming::First,
            lease: Lease::RECORD,
            retention: DAY,
            tombstone: 7 * DAY,
            abandoned: AbandonedWork::AtLeastOnce,
            deadline: DEADLINE,
            wait_until: None,
            keeping: KeptResponse { limit: Some(ANSWER_LIMIT), cookies: Cookies::LeaveOut },
        })
    }
}

async fn read<T: DeserializeOwned, E>(
    performed: Performed,
    failure: Option<E>,
) -> Result<Ran<T>, RunError<E>> {
    match performed {
        Performed::Answer(response) => {
            let body = http_body_util::BodyExt::collect(response.into_body()).await;
            let body = body.map_err(|_| RunError::NotReplayable)?.to_bytes();
            serde_json::from_slice(&body).map(Ran::Now).map_err(RunError::Value)
        }
        Performed::Replay(kept) => {
            let Answer { body, .. } = &kept.answer;
            let body = body.as_ref().ok_or(RunError::NotReplayable)?;
            serde_json::from_slice(body).map(Ran::Before).map_err(RunError::Value)
        }
        Performed::Refused(refusal) => Err(match refusal {
            Refusal::InProgress { .. } => RunError::InProgress,
            Refusal::Reused => RunError::Reused,
            Refusal::Expired { .. } => RunError::Expired,
            Refusal::Unknown => RunError::Unknown,
            Refusal::NotReplayable { .. } => RunError::NotReplayable,
            Refusal::Store(error) => RunError::Store(error),
            Refusal::Full => RunError::Full,
        }),
        Performed::Failed(_) => Err(failure.map_or(RunError::Interrupted, RunError::Failed)),
    }
}
