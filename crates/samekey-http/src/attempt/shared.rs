//! What the attempt in the handler's hands and the layer around it both know.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samekey_core::FencingToken;
use samekey_core::store::Held;

use super::kept::{Completed, Kept};
use crate::Error;
use crate::keys::Intent;
use crate::keys::Steps;

/// How far the attempt has come. Whoever ends it acts on this alone.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// A joined attempt that has not claimed.
    Unclaimed,
    /// Claimed inside the user's transaction, which is open.
    Joined(Held),
    /// Claimed before the work.
    Claimed(Held),
    /// A commit is under way, or its answer was lost. `held` is missing where the claim rides in that same transaction.
    /// `kept` is missing where the answer is made inside that transaction.
    Committing { held: Option<Held>, kept: Option<Kept> },
    /// The record has this answer.
    Completed(Kept),
    /// Another attempt took over.
    Lost,
    /// The record was there already.
    Met,
    /// Nobody can tell what happened, and the record says so.
    Unknown,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Begun by this attempt.
    begun: usize,
    /// Begun by this attempt, and not ended.
    open: usize,
    /// Begun by earlier attempts, and not asked for by this one.
    unasked: BTreeSet<String>,
    resumed: bool,
    /// The claim that a heartbeat renews.
    beating: Option<FencingToken>,
}

pub(crate) struct Shared {
    intent: Arc<Intent>,
    state: Mutex<State>,
    /// Claims and completions take turns.
    turn: tokio::sync::Mutex<()>,
}

impl Shared {
    pub(crate) fn new(intent: Arc<Intent>, phase: Phase, earlier: Vec<String>) -> Self {
        let resumed = !earlier.is_empty();
        let unasked = earlier.into_iter().collect();
        let state = State { phase, begun: 0, open: 0, unasked, resumed, beating: None };
        Self { intent, state: Mutex::new(state), turn: tokio::sync::Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn intent(&self) -> &Intent {
        &self.intent
    }

    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    pub(crate) fn set(&self, phase: Phase) {
        self.state().phase = phase;
    }

    /// The end has come; what the handler may still hold of this attempt can write nothing more.
    pub(crate) fn take_phase(&self) -> Phase {
        std::mem::replace(&mut self.state().phase, Phase::Lost)
    }

    pub(crate) fn beats(&self, token: FencingToken) {
        self.state().beating = Some(token);
    }

    /// The claim whose heartbeat is to be stopped.
    pub(crate) fn beating(&self) -> Option<FencingToken> {
        self.state().beating
    }

    pub(crate) fn held(&self) -> Option<Held> {
        match &self.state().phase {
            Phase::Joined(held) | Phase::Claimed(held) => Some(held.clone()),
            _ => None,
        }
    }

    pub(crate) fn token(&self) -> Option<FencingToken> {
        self.held().map(|held| held.token)
    }

    pub(crate) fn is_unclaimed(&self) -> bool {
        matches!(self.state().phase, Phase::Unclaimed)
    }

    pub(crate) fn is_joined(&self) -> bool {
        matches!(self.state().phase, Phase::Joined(_))
    }

    pub(crate) fn is_committing(&self) -> bool {
        matches!(self.state().phase, Phase::Committing { .. })
    }

    /// Why nothing more can be done with this attempt.
    pub(crate) fn refusal(&self) -> Error {
        match self.state().phase {
            Phase::Met => Error::Duplicate,
            Phase::Unknown => Error::OutcomeUnknown,
            Phase::Completed(_) | Phase::Committing { .. } => Error::AlreadyCompleted,
            _ => Error::LeaseLost,
        }
    }

    /// From here on, only the store knows. Gives the phase before.
    pub(crate) fn commits(&self, held: &Held, kept: Option<&Kept>) -> Phase {
        let mut state = self.state();
        let held = match &state.phase {
            Phase::Joined(_) => None,
            _ => Some(held.clone()),
        };
        std::mem::replace(&mut state.phase, Phase::Committing { held, kept: kept.cloned() })
    }

    pub(crate) fn completed(&self, kept: Kept) -> Completed {
        let completed = Completed::kept(&kept);
        self.set(Phase::Completed(kept));
        completed
    }

    pub(crate) fn steps(&self) -> Steps {
        let state = self.state();
        match (state.open + state.unasked.len(), state.begun, state.resumed) {
            (0, 0, false) => Steps::None,
            (0, _, _) => Steps::Ended,
            _ => Steps::Open,
        }
    }

    /// A step is about to begin. Says whether an earlier attempt began one that this attempt has not asked for: then it was
    /// renamed, and what it did was done under its old name.
    pub(crate) fn begins(&self, name: &str) -> Begins {
        let mut state = self.state();
        if state.unasked.remove(name) {
            state.begun += 1;
            state.open += 1;
            return Begins::Resumed;
        }
        if !state.unasked.is_empty() {
            return Begins::WhileUnasked;
        }
        state.begun += 1;
        state.open += 1;
        Begins::New
    }

    pub(crate) fn step_ended(&self) {
        self.state().open -= 1;
    }

    /// The step left nothing behind.
    pub(crate) fn step_undone(&self) {
        let mut state = self.state();
        state.open -= 1;
        state.begun -= 1;
    }
}

/// What kind of beginning it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    New,
    Resumed,
    WhileUnasked,
}
