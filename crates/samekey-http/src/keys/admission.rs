//! May this attempt run? The contract's table, asked of the store until there is an answer.

use std::sync::Arc;

use samekey_core::record::{Decision, Record, Sameness};
use samekey_core::store::{Claim, ClaimRequest, Claimed, Records};
use samekey_core::{Answer, Effect, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use super::cache::Completed;
use super::flights::{Entered, First, Flight};
use super::perform::{Claiming, Intent};
use super::{Engine, Name, Outcome};

/// Each turn needs a new coincidence: the record came, went or changed hands between two statements.
const TURNS: usize = 16;
/// How often a running attempt of another process is looked at, by one waiter for all.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(150);

/// Why an attempt does not run.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    InProgress { retry_after_s: u32 },
    Reused,
    Expired { original_status: u16 },
    Unknown,
    NotReplayable { original_status: u16 },
    Store(Arc<StoreError>),
    Full,
}

/// An answer that was given before.
pub(crate) type Replay = Arc<Completed>;

/// What an attempt may do.
pub(crate) enum Admitted<'f> {
    /// `claim` is missing where the claim is to ride in the work's own transaction.
    Run {
        first: First<'f>,
        claim: Option<Claim>,
        since: Instant,
    },
    Replay(Replay),
    Refused(Refusal),
}

/// What one look said.
pub(crate) enum Verdict {
    Run(Option<Claim>),
    Replay(Replay),
    Refused(Refusal),
    Again,
}

impl<S: Records> Engine<S> {
    /// Claims, or says why not. Waits for a running attempt until `intent.wait_until`, where that is set.
    ///
    /// A joined intent is only looked up: a retry would meet the handler's own checks ("already placed") and hear a refusal for
    /// its own success. Its duplicates in this process stop here too, so that one of them at most waits in the database.
    ///
    /// # Guarantees
    /// At most one attempt of all processes is admitted with a claim at a time. A crash in here leaves a claim that runs out.
    pub(crate) async fn admit<'f>(self: &'f Arc<Self>, intent: &Intent) -> Admitted<'f> {
        for _ in 0..TURNS {
            if let Some(kept) = self.kept(&intent.name) {
                return self.replay_kept(intent, kept).await;
            }
            match self.flights.enter(&intent.name) {
                Entered::Second(flight) => match self.watch(intent, flight).await {
                    Verdict::Replay(kept) => return Admitted::Replay(kept),
                    Verdict::Refused(refusal) => return Admitted::Refused(refusal),
                    Verdict::Run(_) | Verdict::Again => {}
                },
                Entered::First(first) => {
                    let since = Instant::now();
                    match self.claim_or_wait(intent, &first).await {
                        Verdict::Run(claim) => return Admitted::Run { first, claim, since },
                        Verdict::Replay(kept) => {
                            first.say(Flight::Answered(kept.clone()));
                            return Admitted::Replay(kept);
                        }
                        Verdict::Refused(refusal) => return Admitted::Refused(refusal),
                        Verdict::Again => {}
                    }
                }
            }
        }
        Admitted::Refused(Refusal::InProgress { retry_after_s: 1 })
    }

    /// Follows the attempt of this process that was here first.
    async fn watch(&self, intent: &Intent, mut flight: watch::Receiver<Flight>) -> Verdict {
        loop {
            let state = flight.borrow_and_update().clone();
            let (runs, retry_after_s) = match state {
                Flight::Asking => (None, 1),
                Flight::Running { fingerprint, recipe } => (Some((fingerprint, recipe)), 1),
                Flight::Elsewhere { fingerprint, recipe, retry_after_s } => {
                    (Some((fingerprint, recipe)), retry_after_s)
                }
                Flight::Answered(kept) => return self.replay(intent, kept).await,
                Flight::Over => return Verdict::Again,
            };
            if let Some((fingerprint, recipe)) = runs {
                match self.sameness(intent, &fingerprint, recipe).await {
                    Ok(Sameness::Same) if !intent.waits() => {
                        return Verdict::Refused(Refusal::InProgress { retry_after_s });
                    }
                    Ok(Sameness::Same) => {}
                    Ok(Sameness::Differs) => return Verdict::Refused(Refusal::Reused),
                    Err(refusal) => return Verdict::Refused(refusal),
                }
            }
            let until = intent.wait_until.filter(|_| runs.is_some());
            let changed = async {
                match until {
                    Some(until) => tokio::time::timeout_at(until, flight.changed()).await.is_ok(),
                    // It always ends: its sender speaks when it goes.
                    None => {
                        let _ = flight.changed().await;
                        true
                    }
                }
            };
            if !changed.await {
                return Verdict::Refused(Refusal::InProgress { retry_after_s });
            }
        }
    }

    /// Asks the store for all who come with this key; watches another process's attempt for as long as the intent waits.
    async fn claim_or_wait(self: &Arc<Self>, intent: &Intent, first: &First<'_>) -> Verdict {
        let wish = intent.wish();
        loop {
            let record = match self.claim_or_look(intent, &wish).await {
                Ok(record) => record,
                Err(verdict) => return verdict,
            };
            let (fingerprint, recipe) = (record.fingerprint, record.recipe);
            let verdict = self.meet(intent, &wish, record).await;
            let Verdict::Refused(Refusal::InProgress { retry_after_s }) = verdict else { return verdict };
            if !intent.waits() {
                return verdict;
            }
            first.say(Flight::Elsewhere { fingerprint, recipe, retry_after_s });
            if let Some(refused) = self.wait_elsewhere(intent, retry_after_s).await {
                return Verdict::Refused(refused);
            }
        }
    }

    /// The record that is there; else the verdict.
    async fn claim_or_look(
        self: &Arc<Self>,
        intent: &Intent,
        wish: &ClaimRequest,
    ) -> Result<Record, Verdict> {
        if intent.claiming == Claiming::Joined {
            return match self.store.load(&intent.name.scope, &intent.name.key).await {
                Ok(record) => record.ok_or(Verdict::Run(None)),
                Err(error) => Err(Verdict::Refused(Refusal::Store(Arc::new(error)))),
            };
        }
        match self.claim(wish.clone()).await {
            Ok(Claimed::Won(claim)) => {
                self.count(Outcome::Fresh);
                Err(Verdict::Run(Some(claim)))
            }
            Ok(Claimed::Met(record)) => Ok(*record),
            // Another process's claim of this very key is being committed.
            Err(error) if matches!(*error, StoreError::Busy { .. }) => {
                Err(Verdict::Refused(Refusal::InProgress { retry_after_s: 1 }))
            }
            Err(error) => Err(Verdict::Refused(Refusal::Store(error))),
        }
    }

    /// Looks until the other process's attempt has ended, or the waiting has.
    async fn wait_elsewhere(&self, intent: &Intent, retry_after_s: u32) -> Option<Refusal> {
        while intent.waits() {
            tokio::time::sleep(LOOK_EVERY).await;
            match self.store.load(&intent.name.scope, &intent.name.key).await {
                Ok(Some(record)) if !record.lease_left.is_zero() => {}
                Ok(_) => return None,
                Err(error) => return Some(Refusal::Store(Arc::new(error))),
            }
        }
        Some(Refusal::InProgress { retry_after_s })
    }

    /// What a record that is there says to this attempt.
    async fn meet(self: &Arc<Self>, intent: &Intent, wish: &ClaimRequest, record: Record) -> Verdict {
        let kept = record.answer.clone();
        let (fingerprint, recipe) = (record.fingerprint, record.recipe);
        let sameness = match self.sameness(intent, &fingerprint, recipe).await {
            Ok(sameness) => sameness,
            Err(refusal) => return Verdict::Refused(refusal),
        };
        match record.decide(sameness, intent.abandoned) {
            Decision::Replay(answer) => {
                let record = Arc::new(Completed { fingerprint, recipe, answer });
                if kept.is_some() {
                    self.keep(&intent.name, &record);
                }
                self.replayable(record)
            }
            Decision::TakeOver { seen } => match self.store.take_over(wish, seen).await {
                Ok(Some(claim)) => {
                    self.count(Outcome::TakenOver);
                    Verdict::Run(Some(claim))
                }
                // Somebody else was faster, or our own answer was lost: the next look tells.
                Ok(None) => Verdict::Again,
                Err(error) if error.effect() == Effect::Unknown => Verdict::Again,
                Err(error) => Verdict::Refused(Refusal::Store(Arc::new(error))),
            },
            Decision::BecomesUnknown { seen } => match self.store.mark_unknown(&intent.held(seen)).await {
                Ok(true) => Verdict::Refused(Refusal::Unknown),
                Ok(false) => Verdict::Again,
                Err(error) => Verdict::Refused(Refusal::Store(Arc::new(error))),
            },
            Decision::InProgress { retry_after_s } => Verdict::Refused(Refusal::InProgress { retry_after_s }),
            Decision::Reused => Verdict::Refused(Refusal::Reused),
            Decision::Unknown => Verdict::Refused(Refusal::Unknown),
            Decision::Expired { original_status } => Verdict::Refused(Refusal::Expired { original_status }),
            // The claim removes it, and is asked again.
            Decision::Gone { .. } => Verdict::Again,
        }
    }

    async fn replay_kept<'f>(&self, intent: &Intent, kept: Replay) -> Admitted<'f> {
        match self.replay(intent, kept).await {
            Verdict::Replay(kept) => Admitted::Replay(kept),
            Verdict::Refused(refusal) => Admitted::Refused(refusal),
            Verdict::Run(_) | Verdict::Again => Admitted::Refused(Refusal::InProgress { retry_after_s: 1 }),
        }
    }

    /// The answer again, if it is the same request.
    async fn replay(&self, intent: &Intent, kept: Replay) -> Verdict {
        match self.sameness(intent, &kept.fingerprint, kept.recipe).await {
            Ok(Sameness::Same) => self.replayable(kept),
            Ok(Sameness::Differs) => Verdict::Refused(Refusal::Reused),
            Err(refusal) => Verdict::Refused(refusal),
        }
    }

    pub(crate) fn replayable(&self, kept: Replay) -> Verdict {
        match kept.answer {
            Answer { body: None, status, .. } => {
                Verdict::Refused(Refusal::NotReplayable { original_status: status })
            }
            Answer { .. } => Verdict::Replay(kept),
        }
    }

    /// By the record's own recipe, also after a deploy that changed the route's.
    pub(crate) async fn sameness(
        &self,
        intent: &Intent,
        fingerprint: &samekey_core::Fingerprint,
        recipe: samekey_core::store::RecipeId,
    ) -> Result<Sameness, Refusal> {
        let mine = if recipe == intent.recipe {
            intent.fingerprint
        } else {
            let recipe = self.store.recipe_of(recipe).await.map_err(|e| Refusal::Store(Arc::new(e)))?;
            intent.request.fingerprint(&recipe)
        };
        Ok(if mine == *fingerprint { Sameness::Same } else { Sameness::Differs })
    }

    pub(crate) fn kept(&self, name: &Name) -> Option<Replay> {
        self.cache.get(name)
    }

    pub(crate) fn keep(&self, name: &Name, record: &Replay) {
        self.cache.keep(name, record);
    }
}

impl Refusal {
    /// What it is counted as.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::InProgress { .. } => Outcome::InProgress,
            Self::Reused => Outcome::Reused,
            Self::Expired { .. } => Outcome::Expired,
            Self::Unknown => Outcome::Unknown,
            Self::NotReplayable { .. } => Outcome::NotReplayable,
            Self::Store(_) | Self::Full => Outcome::Unavailable,
        }
    }
}
