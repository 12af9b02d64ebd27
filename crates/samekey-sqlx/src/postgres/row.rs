//! Rows of `sqlx`.

use samekey_core::StoreError;
use samekey_postgres::driver::Columns;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

/// A row of this driver.
#[derive(Debug)]
pub(crate) struct Row(pub(super) PgRow);

macro_rules! columns {
    ($($method:ident -> $kind:ty,)*) => {
        impl Columns for Row {
            $(fn $method(&self, name: &str) -> Result<Option<$kind>, StoreError> {
                self.0.try_get(name).map_err(|error| StoreError::Unreadable(error.to_string()))
            })*
        }
    };
}

columns! {
    small -> i16,
    int -> i32,
    big -> i64,
    float -> f64,
    flag -> bool,
    text -> &str,
    bytes -> &[u8],
    uuid -> Uuid,
}
