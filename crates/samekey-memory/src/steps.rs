//! Steps: a named external call inside an intent.

use bytes::Bytes;
use samekey_core::StoreError;
use samekey_core::derived::DerivedKey;
use samekey_core::store::{BegunStep, Held, Reply, StepKind};

use crate::Memory;
use crate::fault::Call;
use crate::row::{Step, name};

impl Memory {
    pub(crate) fn step_begun(
        &self,
        held: &Held,
        name: &str,
        kind: StepKind,
        input: &[u8],
    ) -> Result<BegunStep, StoreError> {
        self.run(Call::Other, |turn| {
            let row = turn.running(held).ok_or(StoreError::ClaimLost)?;
            row.steps_begun += 1;
            let mut reply = Reply::Begun;
            let step = row.steps.entry(name.to_owned()).or_insert_with(|| {
                reply = Reply::New;
                Step { token: held.token, kind, input: Bytes::copy_from_slice(input), result: None }
            });
            step.token = held.token;
            let reply = step.result.clone().map_or(reply, Reply::Kept);
            let derived_key = DerivedKey::new(&held.scope, &held.key, row.generation, name);
            Ok(BegunStep { derived_key, input: step.input.clone(), reply })
        })
    }

    pub(crate) fn step_names(&self, held: &Held) -> Result<Vec<String>, StoreError> {
        self.run(Call::Other, |turn| {
            let row = turn.state.rows.get(&name(held));
            Ok(row.map(|row| row.steps.keys().cloned().collect()).unwrap_or_default())
        })
    }

    pub(crate) fn step_ended(&self, held: &Held, step: &str, result: &[u8]) -> Result<(), StoreError> {
        self.run(Call::Other, |turn| {
            let row = turn.state.rows.get_mut(&name(held));
            let step = row.and_then(|row| row.steps.get_mut(step));
            let mine = step.filter(|step| step.token == held.token && step.result.is_none());
            mine.ok_or(StoreError::ClaimLost)?.result = Some(Bytes::copy_from_slice(result));
            Ok(())
        })
    }

    pub(crate) fn step_undone(&self, held: &Held, step: &str) -> Result<(), StoreError> {
        self.run(Call::Other, |turn| {
            let row = turn.running(held).ok_or(StoreError::ClaimLost)?;
            let begun = |begun: &Step| begun.token == held.token && begun.result.is_none();
            if !row.steps.get(step).is_some_and(begun) {
                return Err(StoreError::ClaimLost);
            }
            row.steps.remove(step);
            row.steps_begun -= 1;
            Ok(())
        })
    }
}
