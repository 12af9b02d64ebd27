//! The end of an attempt: what becomes of its record, and what the caller is told.

use std::sync::Arc;
use std::time::Duration;

use axum_core::body::Body;
use http::Response;
use samekey_core::record::{Decision, Record};
use samekey_core::store::{Claimed, Held, Records};
use samekey_core::{Effect, StoreError};
use tokio::time::{Instant, sleep};

use super::admission::{Refusal, Verdict};
use super::cache::Completed;
use super::ending::{Ending, Kind, Outcome as WorkOutcome, ending};
use super::perform::{Ended, Failure, Intent, Performed};
use super::{Engine, Keys, Outcome, within};
use crate::attempt::{Kept, Phase, Shared};

/// How long a lost answer is asked for before the caller is told that it is not known yet.
const ASK_FOR: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

impl<S: Records> Keys<S> {
    /// Once the record has an answer, that is what the caller gets, whatever the handler returned.
    pub(crate) async fn end(&self, intent: &Intent, shared: &Arc<Shared>, outcome: WorkOutcome) -> Ended {
        if let WorkOutcome::Failed(why) = &outcome {
            tracing::error!(why, "the work of an attempt failed");
        }
        if let Some(token) = shared.beating() {
            self.engine().heart.stop(token);
        }
        match shared.take_phase() {
            Phase::Completed(kept) => {
                self.engine().count(Outcome::Completed);
                Ended::Kept(kept)
            }
            Phase::Committing { held, kept } => self.resolve(intent, held, kept).await,
            Phase::Lost => self.lost(intent).await,
            Phase::Met => self.met(intent, None).await,
            Phase::Unknown => Ended::Other(self.refused(Refusal::Unknown)),
            Phase::Unclaimed | Phase::Joined(_) => self.end_joined(intent, outcome).await,
            Phase::Claimed(held) => self.end_claimed(intent, shared, held, outcome).await,
        }
    }

    /// Nothing was committed: the user's transaction has rolled back by itself.
    async fn end_joined(&self, intent: &Intent, outcome: WorkOutcome) -> Ended {
        let otherwise = match outcome {
            WorkOutcome::Answered(response) if Kind::of(response.status()) == Kind::Success => {
                Performed::Failed(Failure::NotCompleted)
            }
            WorkOutcome::Answered(response) => Performed::Answer(response),
            WorkOutcome::TimedOut | WorkOutcome::LostLease => Performed::Failed(Failure::TimedOut),
            WorkOutcome::Failed(_) => Performed::Failed(Failure::Broken),
        };
        self.met(intent, Some(Ended::Other(otherwise))).await
    }

    /// Look again: the winner may have finished meanwhile, and then its answer is the answer. `otherwise`: where there is
    /// no record.
    async fn met(&self, intent: &Intent, otherwise: Option<Ended>) -> Ended {
        match self.engine().look_again(intent).await {
            Ok(Some(verdict)) => Ended::Other(self.told(verdict)),
            Ok(None) => otherwise
                .unwrap_or_else(|| Ended::Other(self.refused(Refusal::InProgress { retry_after_s: 1 }))),
            Err(refusal) => Ended::Other(self.refused(refusal)),
        }
    }

    async fn lost(&self, intent: &Intent) -> Ended {
        self.engine().count(Outcome::LostLease);
        tracing::warn!("the lease was lost before the attempt could complete; its effect was rolled back");
        self.met(intent, None).await
    }

    async fn end_claimed(
        &self,
        intent: &Intent,
        shared: &Arc<Shared>,
        held: Held,
        outcome: WorkOutcome,
    ) -> Ended {
        let (kind, response, failure) = match outcome {
            WorkOutcome::Answered(response) => (Kind::of(response.status()), Some(response), Failure::Broken),
            WorkOutcome::Failed(_) => (Kind::Failure, None, Failure::Broken),
            WorkOutcome::TimedOut => (Kind::Failure, None, Failure::TimedOut),
            WorkOutcome::LostLease => return self.lost(intent).await,
        };
        let or_failure =
            |response: Option<Response<Body>>| response.map_or(Performed::Failed(failure), Performed::Answer);
        match (ending(kind, shared.steps(), intent.abandoned), response) {
            (Ending::Complete, Some(response)) => self.complete_apart(intent, held, response).await,
            (Ending::Complete, None) => Ended::Other(Performed::Failed(failure)),
            (Ending::Release, response) => {
                match self.store().release(&held).await {
                    Ok(true) => self.engine().count(Outcome::Released),
                    Ok(false) => return self.lost(intent).await,
                    Err(error) => tracing::warn!(%error, "the key was not given back; its lease runs out"),
                }
                Ended::Other(or_failure(response))
            }
            (Ending::EndLease, _) => {
                self.end_lease(&held).await;
                self.engine().count(Outcome::Interrupted);
                Ended::Other(Performed::Failed(Failure::Interrupted))
            }
            (Ending::Unknown, _) => {
                self.end_lease(&held).await;
                match self.store().mark_unknown(&held).await {
                    Ok(true) => {}
                    Ok(false) => return self.lost(intent).await,
                    // The next attempt finds an abandoned record, and marks it by the same policy.
                    Err(error) => tracing::warn!(%error, "the record was not marked unknown"),
                }
                Ended::Other(self.refused(Refusal::Unknown))
            }
        }
    }

    /// The next attempt need not wait.
    pub(crate) async fn end_lease(&self, held: &Held) {
        self.engine().heart.stop(held.token);
        self.engine().heart.quiet().await;
        if let Err(error) = self.store().end_lease(held).await {
            tracing::warn!(%error, "the lease was not ended; it runs out");
        }
    }

    /// The handler knows nothing of keys: its answer is kept in a transaction of its own.
    async fn complete_apart(&self, intent: &Intent, held: Held, response: Response<Body>) -> Ended {
        let kept = Kept::of(response, intent.keeping).await;
        match self.store().complete(&held, &kept.answer).await {
            Ok(()) => {
                self.engine().count(Outcome::CompletedApart);
                Ended::Kept(kept)
            }
            Err(StoreError::ClaimLost) => self.lost(intent).await,
            Err(error) if error.effect() == Effect::Unknown => {
                tracing::warn!(%error, "the answer to a completion was lost; asking what became of it");
                self.resolve(intent, Some(held), Some(kept)).await
            }
            Err(error) => {
                // The work is done and its answer is not kept: the lease runs out, and the route's policy speaks.
                Ended::Other(self.refused(Refusal::Store(Arc::new(error))))
            }
        }
    }

    /// A commit without an answer is never guessed at. Leased: fence first, so that the old transaction can never complete;
    /// then read. Joined: claim again, which waits on the index for the old transaction, and see whose record it is.
    async fn resolve(&self, intent: &Intent, held: Option<Held>, kept: Option<Kept>) -> Ended {
        let until = within(ASK_FOR);
        loop {
            let asked = match &held {
                Some(held) => self.fence_and_read(intent, held).await,
                None => self.claim_again(intent).await,
            };
            match asked {
                Ok(Resolved::Mine) => {
                    self.engine().count(Outcome::Completed);
                    return match kept {
                        Some(kept) => Ended::Kept(kept),
                        None => self.met(intent, None).await,
                    };
                }
                Ok(Resolved::Nothing) => return Ended::Other(Performed::Failed(Failure::Interrupted)),
                Ok(Resolved::Others) => return self.lost(intent).await,
                Err(error) if Instant::now() < until => {
                    tracing::warn!(%error, "what became of a commit is not known yet; asking again");
                    sleep(PAUSE).await;
                }
                Err(error) => return Ended::Other(self.refused(Refusal::Store(Arc::new(error)))),
            }
        }
    }

    async fn fence_and_read(&self, intent: &Intent, held: &Held) -> Result<Resolved, StoreError> {
        if let Some(token) = self.store().fence(held, intent.lease).await? {
            // The old transaction can never complete now: nothing was committed, and the next attempt may run at once.
            self.end_lease(&intent.held(token)).await;
            return Ok(Resolved::Nothing);
        }
        let record = self.store().load(&held.scope, &held.key).await?;
        Ok(match record {
            Some(record) if record.token == held.token => Resolved::Mine,
            _ => Resolved::Others,
        })
    }

    async fn claim_again(&self, intent: &Intent) -> Result<Resolved, StoreError> {
        let mut claimed = self.store().claim(vec![intent.wish()]).await?;
        Ok(match claimed.pop() {
            Some(Claimed::Won(claim)) => {
                let held = intent.held(claim.token);
                if !self.store().release(&held).await? {
                    self.end_lease(&held).await;
                }
                Resolved::Nothing
            }
            Some(Claimed::Met(record)) if record.claim == intent.claim => Resolved::Mine,
            _ => Resolved::Others,
        })
    }

    /// What was seen of a record that is not ours to work on.
    pub(crate) fn told(&self, verdict: Verdict) -> Performed {
        match verdict {
            Verdict::Replay(kept) => self.replayed(kept),
            Verdict::Refused(refusal) => self.refused(refusal),
            Verdict::Run(_) | Verdict::Again => self.refused(Refusal::InProgress { retry_after_s: 1 }),
        }
    }
}

/// What became of a commit whose answer was lost.
enum Resolved {
    /// It was committed.
    Mine,
    /// It was not, and never will be.
    Nothing,
    /// Somebody else has the record.
    Others,
}

impl<S: Records> Engine<S> {
    /// Looks after an attempt has run: nothing is taken over any more.
    async fn look_again(&self, intent: &Intent) -> Result<Option<Verdict>, Refusal> {
        let Some(record) = self.load(intent).await? else { return Ok(None) };
        let (fingerprint, recipe) = (record.fingerprint, record.recipe);
        let sameness = self.sameness(intent, &fingerprint, recipe).await?;
        Ok(Some(match record.decide(sameness, intent.abandoned) {
            Decision::Replay(answer) => self.replayable(Arc::new(Completed { fingerprint, recipe, answer })),
            Decision::Reused => Verdict::Refused(Refusal::Reused),
            Decision::Unknown => Verdict::Refused(Refusal::Unknown),
            Decision::Expired { original_status } => Verdict::Refused(Refusal::Expired { original_status }),
            Decision::InProgress { retry_after_s } => Verdict::Refused(Refusal::InProgress { retry_after_s }),
            Decision::TakeOver { .. } | Decision::BecomesUnknown { .. } | Decision::Gone { .. } => {
                Verdict::Again
            }
        }))
    }

    async fn load(&self, intent: &Intent) -> Result<Option<Record>, Refusal> {
        let loaded = self.store.load(&intent.name.scope, &intent.name.key).await;
        loaded.map_err(|error| Refusal::Store(Arc::new(error)))
    }
}
