//! Look: what stands there, without claiming.

use samekey_core::record::{Age, Record};
use samekey_core::{Key, Scope, StoreError};

use crate::Memory;
use crate::fault::Call;

impl Memory {
    pub(crate) fn look(&self, scope: &Scope, key: &Key) -> Result<Option<Record>, StoreError> {
        self.run(Call::Other, |turn| {
            let row = turn.state.rows.get(&(scope.clone(), key.clone()));
            Ok(row.map(|row| row.record(turn.now)).filter(|record| record.age != Age::Purgeable))
        })
    }
}
