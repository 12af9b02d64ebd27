//! Rows of `tokio-postgres`.

use samekey_core::StoreError;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::driver::Columns;
use crate::error::unreadable;

macro_rules! columns {
    ($($method:ident -> $kind:ty,)*) => {
        impl Columns for Row {
            $(fn $method(&self, name: &str) -> Result<Option<$kind>, StoreError> {
                self.try_get(name).map_err(unreadable)
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
