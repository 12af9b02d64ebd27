//! One attempt, from its claim to its end.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum_core::body::Body;
use futures_util::FutureExt as _;
use http::Response;
use samekey_core::lease::Lease;
use samekey_core::record::AbandonedWork;
use samekey_core::store::{Claim, ClaimRequest, Held, RecipeId, Records};
use samekey_core::{FencingToken, Fingerprint};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::admission::{Admitted, Refusal, Replay};
use super::cache::Completed;
use super::ending::Outcome as WorkOutcome;
use super::flights::Flight;
use super::heart::Believed;
use super::{Engine, Identify, Keys, Name, Outcome};
use crate::attempt::{Attempt, Kept, KeptResponse, Phase, Shared};

/// When the record is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claiming {
    /// Before the work, in a transaction of its own.
    First,
    /// Inside the work's own transaction.
    Joined,
}

/// One request with a key, and how its route wants it.
pub(crate) struct Intent {
    pub(crate) name: Name,
    pub(crate) claim: Uuid,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) recipe: RecipeId,
    pub(crate) request: Arc<dyn Identify>,
    pub(crate) claiming: Claiming,
    pub(crate) lease: Lease,
    pub(crate) retention: Duration,
    pub(crate) tombstone: Duration,
    pub(crate) abandoned: AbandonedWork,
    pub(crate) deadline: Duration,
    pub(crate) wait_until: Option<Instant>,
    pub(crate) keeping: KeptResponse,
}

impl Intent {
    pub(crate) fn wish(&self) -> ClaimRequest {
        ClaimRequest {
            scope: self.name.scope.clone(),
            key: self.name.key.clone(),
            claim: self.claim,
            fingerprint: self.fingerprint,
            recipe: self.recipe,
            lease: self.lease,
            retention: self.retention,
            tombstone: self.tombstone,
        }
    }

    pub(crate) fn held(&self, token: FencingToken) -> Held {
        Held { scope: self.name.scope.clone(), key: self.name.key.clone(), token }
    }

    /// Whether the caller would still rather wait.
    pub(crate) fn waits(&self) -> bool {
        self.wait_until.is_some_and(|until| Instant::now() < until)
    }
}

/// How an attempt went.
pub(crate) enum Performed {
    /// Its own answer, kept or not.
    Answer(Response<Body>),
    /// An answer that was given before.
    Replay(Replay),
    /// It did not run, or may not say how it went.
    Refused(Refusal),
    /// It did not finish, or failed; the reason is for the log and for people.
    Failed(Failure),
}

/// Why there is no answer of the work's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A joined attempt answered with success and never completed.
    NotCompleted,
    /// It was interrupted after a step; the next attempt resumes.
    Interrupted,
    /// It panicked or failed; nothing happened.
    Broken,
    /// It took too long; nothing happened.
    TimedOut,
}

impl<S: Records> Keys<S> {
    /// Claims, works, ends. Runs to its end whatever becomes of the caller: spawn it.
    ///
    /// # Guarantees
    /// Of all attempts of one intent, one at a time works, and once one has completed, none works again. A crash while the
    /// work runs leaves the record in progress; when its lease is over, the next attempt takes over or hears `unknown`, by
    /// the contract's table. A crash after the commit and before the answer leaves a completed record, which replays.
    pub(crate) async fn perform<W, F>(self, intent: Intent, work: W) -> Performed
    where
        W: FnOnce(Attempt<S>) -> F + Send,
        F: Future<Output = WorkOutcome> + Send,
    {
        let engine = self.engine().clone();
        let Ok(_place) = engine.places.try_acquire() else { return self.refused(Refusal::Full) };
        let intent = Arc::new(intent);
        let (first, claim, since) = match engine.admit(&intent).await {
            Admitted::Run { first, claim, since } => (first, claim, since),
            Admitted::Replay(kept) => return self.replayed(kept),
            Admitted::Refused(refusal) => return self.refused(refusal),
        };
        first.say(Flight::Running { fingerprint: intent.fingerprint, recipe: intent.recipe });
        let ended = match self.begin(&intent, claim, since).await {
            Ok((shared, believed)) => {
                let attempt = Attempt::of(self.clone(), Some(shared.clone()));
                let outcome = run(work(attempt), &shared, believed, intent.deadline).await;
                self.end(&intent, &shared, outcome).await
            }
            Err(refusal) => Ended::Other(self.refused(refusal)),
        };
        if let Some(kept) = engine.kept_of(&intent, &ended) {
            first.say(Flight::Answered(kept));
        }
        ended.response()
    }

    /// Renews the claim from now on. A resumed attempt must ask for every step of its predecessors before it begins another
    /// one, so it is told their names.
    async fn begin(
        &self,
        intent: &Arc<Intent>,
        claim: Option<Claim>,
        since: Instant,
    ) -> Result<(Arc<Shared>, Option<Believed>), Refusal> {
        let Some(claim) = claim else {
            return Ok((Arc::new(Shared::new(intent.clone(), Phase::Unclaimed, Vec::new())), None));
        };
        let held = intent.held(claim.token);
        let believed = self.engine().beat(held.clone(), intent.lease, since);
        let earlier = match claim.steps_begun {
            0 => Ok(Vec::new()),
            _ => self.store().begun_steps(&held).await,
        };
        match earlier {
            Ok(earlier) => {
                let shared = Shared::new(intent.clone(), Phase::Claimed(held), earlier);
                shared.beats(claim.token);
                Ok((Arc::new(shared), Some(believed)))
            }
            Err(error) => {
                self.end_lease(&held).await;
                Err(Refusal::Store(Arc::new(error)))
            }
        }
    }

    pub(crate) fn replayed(&self, kept: Replay) -> Performed {
        self.engine().count(Outcome::Replayed);
        Performed::Replay(kept)
    }

    pub(crate) fn refused(&self, refusal: Refusal) -> Performed {
        if let Refusal::Store(error) = &refusal {
            tracing::warn!(target: "samekey::rejection", %error, "the store failed");
        }
        self.engine().count(refusal.outcome());
        Performed::Refused(refusal)
    }
}

/// How it ended, before it becomes a response.
pub(crate) enum Ended {
    Kept(Kept),
    Other(Performed),
}

impl Ended {
    fn response(self) -> Performed {
        match self {
            Self::Kept(kept) => Performed::Answer(kept.into_response()),
            Self::Other(performed) => performed,
        }
    }
}

impl<S: Records> Engine<S> {
    /// The answer for those who watch, and for the cache.
    fn kept_of(&self, intent: &Intent, ended: &Ended) -> Option<Replay> {
        let Ended::Kept(Kept { answer, .. }) = ended else { return None };
        let (fingerprint, recipe) = (intent.fingerprint, intent.recipe);
        let kept = Arc::new(Completed { fingerprint, recipe, answer: answer.clone() });
        self.keep(&intent.name, &kept);
        Some(kept)
    }
}

/// Runs the work under its bounds. Work that is committing is not dropped: the commit is under way whatever we do.
async fn run(
    work: impl Future<Output = WorkOutcome> + Send,
    shared: &Shared,
    believed: Option<Believed>,
    deadline: Duration,
) -> WorkOutcome {
    let work = AssertUnwindSafe(work).catch_unwind();
    tokio::pin!(work);
    let lost = async {
        match believed {
            Some(believed) => believed.lost().await,
            None => std::future::pending().await,
        }
    };
    let stopped = tokio::select! {
        biased;
        outcome = &mut work => return outcome.unwrap_or(WorkOutcome::Failed("it panicked")),
        () = lost => WorkOutcome::LostLease,
        () = sleep(deadline) => WorkOutcome::TimedOut,
    };
    if shared.is_committing()
        && let Ok(outcome) = timeout(shared.intent().lease.length(), &mut work).await
    {
        return outcome.unwrap_or(WorkOutcome::Failed("it panicked"));
    }
    stopped
}
