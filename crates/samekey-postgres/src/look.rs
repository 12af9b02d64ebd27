//! Look: what stands there, without claiming.

use samekey_core::record::Record;
use samekey_core::{Key, Scope, StoreError};

use crate::{Postgres, columns};

impl Postgres {
    pub(crate) async fn look(&self, scope: &Scope, key: &Key) -> Result<Option<Record>, StoreError> {
        let rows = self.connections.read(&self.sql.load, &[&scope.as_bytes(), &key.as_bytes()]).await?;
        rows.first().map(columns::record).transpose()
    }
}
