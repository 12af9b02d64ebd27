//! Complete: state and answer become visible together.

use samekey_core::store::Held;
use samekey_core::{Answer, StoreError};

use crate::Memory;
use crate::fault::Call;
use crate::row::name;
use crate::state::Turn;

impl Turn<'_> {
    /// Also completes what was meanwhile marked unknown, if nobody took a new token.
    pub(crate) fn complete(&mut self, held: &Held, answer: &Answer) -> Result<(), StoreError> {
        let now = self.now;
        let row = self.state.rows.get_mut(&name(held)).filter(|row| row.can_be_completed_by(held.token));
        row.ok_or(StoreError::ClaimLost)?.complete(answer.clone(), now);
        Ok(())
    }
}

impl Memory {
    pub(crate) fn completed(&self, held: &Held, answer: &Answer) -> Result<(), StoreError> {
        self.run(Call::Commit, |turn| turn.complete(held, answer))
    }
}
