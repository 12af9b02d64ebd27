//! The columns of a row, by name and by type.

use samekey_core::StoreError;
use uuid::Uuid;

use crate::error::unreadable;

/// A row. Each method gives the column of that name, `None` where it is NULL.
///
/// # Errors
/// [`StoreError::Unreadable`] where there is no such column, or it has another type.
#[expect(missing_docs, reason = "each is named after the type that it gives")]
pub trait Columns: Send + Sync {
    fn small(&self, name: &str) -> Result<Option<i16>, StoreError>;
    fn int(&self, name: &str) -> Result<Option<i32>, StoreError>;
    fn big(&self, name: &str) -> Result<Option<i64>, StoreError>;
    fn float(&self, name: &str) -> Result<Option<f64>, StoreError>;
    fn flag(&self, name: &str) -> Result<Option<bool>, StoreError>;
    fn text(&self, name: &str) -> Result<Option<&str>, StoreError>;
    fn bytes(&self, name: &str) -> Result<Option<&[u8]>, StoreError>;
    fn uuid(&self, name: &str) -> Result<Option<Uuid>, StoreError>;
}

/// What a column can be read as; as an `Option`, where it may be NULL.
pub trait FromColumn<'r>: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// As [`Columns`], and where it is NULL and must not be.
    fn from_column(row: &'r impl Columns, name: &str) -> Result<Self, StoreError>;
}

macro_rules! columns {
    ($($kind:ty => $method:ident,)*) => {$(
        impl<'r> FromColumn<'r> for Option<$kind> {
            fn from_column(row: &'r impl Columns, name: &str) -> Result<Self, StoreError> {
                row.$method(name)
            }
        }

        impl<'r> FromColumn<'r> for $kind {
            fn from_column(row: &'r impl Columns, name: &str) -> Result<Self, StoreError> {
                row.$method(name)?.ok_or_else(|| unreadable(format_args!("{name} is NULL")))
            }
        }
    )*};
}

columns! {
    i16 => small,
    i32 => int,
    i64 => big,
    f64 => float,
    bool => flag,
    &'r str => text,
    &'r [u8] => bytes,
    Uuid => uuid,
}

impl<'r> FromColumn<'r> for Option<String> {
    fn from_column(row: &'r impl Columns, name: &str) -> Result<Self, StoreError> {
        Ok(row.text(name)?.map(str::to_owned))
    }
}

impl<'r> FromColumn<'r> for String {
    fn from_column(row: &'r impl Columns, name: &str) -> Result<Self, StoreError> {
        <&str>::from_column(row, name).map(str::to_owned)
    }
}
