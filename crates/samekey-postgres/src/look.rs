//! Look: what stands there, without claiming.

use samekey_core::record::Record;
use samekey_core::{Key, Scope, StoreError};

use crate::driver::Driver;
use crate::{Postgres, columns};

impl<D: Driver> Postgres<D> {
    pub(crate) async fn look(&self, scope: &Scope, key: &Key) -> Result<Option<Record>, StoreError> {
        let rows = self.connections.read(&self.sql.load, values![scope.as_bytes(), key.as_bytes()]).await?;
        rows.first().map(columns::record).transpose()
    }
}
