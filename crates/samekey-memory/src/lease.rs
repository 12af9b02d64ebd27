//! Heartbeats, and the single-row changes that name a token.

use samekey_core::lease::Lease;
use samekey_core::record::RecordState;
use samekey_core::store::Held;
use samekey_core::{FencingToken, StoreError};

use crate::Memory;
use crate::clock::as_millis;
use crate::fault::Call;
use crate::row::{Row, name};

impl Memory {
    /// Changes the row that is in progress under the token; says whether there was one.
    fn change(&self, held: &Held, change: impl FnOnce(&mut Row, i64) -> bool) -> Result<bool, StoreError> {
        self.run(Call::Other, |turn| {
            let now = turn.now;
            Ok(turn.running(held).is_some_and(|row| change(row, now)))
        })
    }

    /// The token stays, so that a stalled owner can still bring the true answer by completing.
    pub(crate) fn mark_abandoned_unknown(&self, seen: &Held) -> Result<bool, StoreError> {
        self.change(seen, |row, now| {
            let abandoned = row.lease_until <= now;
            if abandoned {
                row.state = RecordState::Unknown;
            }
            abandoned
        })
    }

    pub(crate) fn lease_ended(&self, held: &Held) -> Result<bool, StoreError> {
        self.change(held, |row, now| {
            row.lease_until = now;
            true
        })
    }

    pub(crate) fn released(&self, held: &Held) -> Result<bool, StoreError> {
        self.run(Call::Other, |turn| {
            let nothing_happened = turn.running(held).is_some_and(|row| row.steps_begun == 0);
            if nothing_happened {
                turn.state.rows.remove(&name(held));
            }
            Ok(nothing_happened)
        })
    }

    pub(crate) fn renew_claims(&self, held: &[Held], lease: Lease) -> Result<Vec<FencingToken>, StoreError> {
        self.run(Call::Other, |turn| {
            let until = turn.now + as_millis(lease.length());
            let mut renewed = Vec::new();
            for one in held {
                if let Some(row) = turn.running(one) {
                    row.lease_until = until;
                    renewed.push(one.token);
                }
            }
            Ok(renewed)
        })
    }

    /// A row that was meanwhile marked unknown keeps that state under its new token.
    pub(crate) fn fenced(&self, held: &Held, lease: Lease) -> Result<Option<FencingToken>, StoreError> {
        self.run(Call::Other, |turn| {
            let (token, until) = (turn.token(), turn.now + as_millis(lease.length()));
            let row = turn.state.rows.get_mut(&name(held)).filter(|row| row.can_be_completed_by(held.token));
            Ok(row.map(|row| {
                row.token = token;
                row.lease_until = until;
                token
            }))
        })
    }
}
