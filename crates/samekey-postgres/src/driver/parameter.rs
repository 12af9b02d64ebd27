//! Parameters of statements, with their types.

use samekey_core::store::Value;
use uuid::Uuid;

/// A parameter of a statement. Its variant is its type in the database.
#[expect(missing_docs, reason = "each is named after its type")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    Small(i16),
    Big(Option<i64>),
    Float(f64),
    Flag(bool),
    Text(&'a str),
    Bytes(Option<&'a [u8]>),
    Uuid(Uuid),
    /// Arrays, for batches.
    Smalls(&'a [i16]),
    Ints(&'a [i32]),
    Bigs(&'a [i64]),
    Floats(&'a [f64]),
    ManyBytes(&'a [&'a [u8]]),
    Uuids(&'a [Uuid]),
}

impl<'a> From<Value<'a>> for Parameter<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Small(value) => Self::Small(value),
            Value::Big(value) => Self::Big(Some(value)),
            Value::Float(value) => Self::Float(value),
            Value::Text(value) => Self::Text(value),
            Value::Bytes(value) => Self::Bytes(Some(value)),
            Value::NoBytes => Self::Bytes(None),
            Value::Uuid(value) => Self::Uuid(value),
        }
    }
}

macro_rules! from {
    ($($kind:ty => $value:ident => $parameter:expr,)*) => {$(
        impl<'a> From<$kind> for Parameter<'a> {
            fn from($value: $kind) -> Self {
                $parameter
            }
        }
    )*};
}

from! {
    i16 => value => Self::Small(value),
    i64 => value => Self::Big(Some(value)),
    Option<i64> => value => Self::Big(value),
    f64 => value => Self::Float(value),
    bool => value => Self::Flag(value),
    &'a str => value => Self::Text(value),
    &'a [u8] => value => Self::Bytes(Some(value)),
    &'a [u8; 32] => value => Self::Bytes(Some(value)),
    Uuid => value => Self::Uuid(value),
    &'a Vec<i16> => values => Self::Smalls(values),
    &'a Vec<i32> => values => Self::Ints(values),
    &'a Vec<i64> => values => Self::Bigs(values),
    &'a Vec<f64> => values => Self::Floats(values),
    &'a Vec<&'a [u8]> => values => Self::ManyBytes(values),
    &'a Vec<Uuid> => values => Self::Uuids(values),
}
