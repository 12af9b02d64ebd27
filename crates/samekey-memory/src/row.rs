//! The row for (scope, key), and how it reads as a record.

use std::collections::BTreeMap;

use bytes::Bytes;
use samekey_core::record::{Age, Record, RecordState, StepInDoubt};
use samekey_core::store::{Claim, ClaimRequest, Held, RecipeId, StepKind};
use samekey_core::{Answer, FencingToken, Fingerprint, Key, Scope};
use uuid::Uuid;

use crate::clock::{as_millis, millis};

/// Whose row it is.
pub(crate) type Name = (Scope, Key);

/// All times are the store's clock, in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) token: FencingToken,
    pub(crate) claim: Uuid,
    pub(crate) state: RecordState,
    /// Of no meaning unless it is in progress.
    pub(crate) lease_until: i64,
    pub(crate) expires_at: i64,
    pub(crate) purge_at: i64,
    /// As it was asked for: a late completion starts it anew.
    pub(crate) retention: i64,
    pub(crate) generation: u32,
    pub(crate) steps_begun: u32,
    pub(crate) recipe: RecipeId,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) answer: Option<Answer>,
    /// They live and go with the row: a new record never finds an older one's steps.
    pub(crate) steps: BTreeMap<String, Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Of the claim that (last) began it.
    pub(crate) token: FencingToken,
    pub(crate) kind: StepKind,
    pub(crate) input: Bytes,
    /// `None`: begun, and not ended.
    pub(crate) result: Option<Bytes>,
}

impl Row {
    /// Claimed just now.
    pub(crate) fn new(wish: &ClaimRequest, token: FencingToken, now: i64) -> Self {
        let retention = as_millis(wish.retention);
        Self {
            token,
            claim: wish.claim,
            state: RecordState::InProgress,
            lease_until: now + as_millis(wish.lease.length()),
            expires_at: now + retention,
            purge_at: now + retention + as_millis(wish.tombstone),
            retention,
            generation: 0,
            steps_begun: 0,
            recipe: wish.recipe,
            fingerprint: wish.fingerprint,
            answer: None,
            steps: BTreeMap::new(),
        }
    }

    pub(crate) fn claim(&self) -> Claim {
        Claim { token: self.token, generation: self.generation, steps_begun: self.steps_begun }
    }

    /// Whether it is in progress under this token.
    pub(crate) fn is_run_by(&self, token: FencingToken) -> bool {
        self.token == token && self.state == RecordState::InProgress
    }

    /// Whether this token may complete it: also once it was marked unknown, if nobody took a new token.
    pub(crate) fn can_be_completed_by(&self, token: FencingToken) -> bool {
        self.token == token && self.state != RecordState::Completed
    }

    /// Completed just now; an unknown one starts its retention anew.
    pub(crate) fn complete(&mut self, answer: Answer, now: i64) {
        if self.state == RecordState::Unknown {
            let tombstone = self.purge_at - self.expires_at;
            self.expires_at = now + self.retention;
            self.purge_at = self.expires_at + tombstone;
        }
        self.state = RecordState::Completed;
        self.answer = Some(answer);
    }

    pub(crate) fn age(&self, now: i64) -> Age {
        match self.state {
            RecordState::Completed if self.purge_at <= now => Age::Purgeable,
            RecordState::Completed if self.expires_at <= now => Age::Tombstone,
            RecordState::Completed | RecordState::InProgress | RecordState::Unknown => Age::Current,
        }
    }

    /// As it is found at `now`.
    pub(crate) fn record(&self, now: i64) -> Record {
        let age = self.age(now);
        let running = self.state == RecordState::InProgress;
        let in_doubt = |step: &Step| step.kind == StepKind::Unkeyed && step.result.is_none();
        Record {
            token: self.token,
            claim: self.claim,
            state: self.state,
            generation: self.generation,
            steps_begun: self.steps_begun,
            step_in_doubt: if running && self.steps.values().any(in_doubt) {
                StepInDoubt::Yes
            } else {
                StepInDoubt::No
            },
            fingerprint: self.fingerprint,
            recipe: self.recipe,
            lease_left: if running { millis(self.lease_until - now) } else { millis(0) },
            status: self.answer.as_ref().map(|answer| answer.status),
            answer: self.answer.clone().filter(|_| age == Age::Current),
            age,
        }
    }
}

pub(crate) fn name(held: &Held) -> Name {
    (held.scope.clone(), held.key.clone())
}
