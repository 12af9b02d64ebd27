//! Parameters in the form that `tokio-postgres` wants.

use std::error::Error as StdError;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::driver::Parameter;

impl Parameter<'_> {
    /// Its type in the database.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Self::Small(_) => Type::INT2,
            Self::Big(_) => Type::INT8,
            Self::Float(_) => Type::FLOAT8,
            Self::Flag(_) => Type::BOOL,
            Self::Text(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
            Self::Uuid(_) => Type::UUID,
            Self::Smalls(_) => Type::INT2_ARRAY,
            Self::Ints(_) => Type::INT4_ARRAY,
            Self::Bigs(_) => Type::INT8_ARRAY,
            Self::Floats(_) => Type::FLOAT8_ARRAY,
            Self::ManyBytes(_) => Type::BYTEA_ARRAY,
            Self::Uuids(_) => Type::UUID_ARRAY,
        }
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        if *ty != self.kind() {
            return Err(format!("a parameter is {ty}, not {}", self.kind()).into());
        }
        match self {
            Self::Small(value) => value.to_sql(ty, out),
            Self::Big(value) => value.to_sql(ty, out),
            Self::Float(value) => value.to_sql(ty, out),
            Self::Flag(value) => value.to_sql(ty, out),
            Self::Text(value) => value.to_sql(ty, out),
            Self::Bytes(value) => value.to_sql(ty, out),
            Self::Uuid(value) => value.to_sql(ty, out),
            Self::Smalls(values) => values.to_sql(ty, out),
            Self::Ints(values) => values.to_sql(ty, out),
            Self::Bigs(values) => values.to_sql(ty, out),
            Self::Floats(values) => values.to_sql(ty, out),
            Self::ManyBytes(values) => values.to_sql(ty, out),
            Self::Uuids(values) => values.to_sql(ty, out),
        }
    }

    /// Which one it is, only the value itself knows: see [`ToSql::to_sql`] above.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
