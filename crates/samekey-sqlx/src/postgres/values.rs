//! Statements and their parameters in the form that `sqlx` wants.

use samekey_core::StoreError;
use samekey_postgres::driver::Parameter;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Arguments as _, AssertSqlSafe, Postgres};

/// An unnamed statement. Its text is the store's own; what comes from outside is in the parameters.
pub(super) fn query<'q>(
    sql: &str,
    values: &[Parameter<'_>],
) -> Result<Query<'q, Postgres, PgArguments>, StoreError> {
    let mut arguments = PgArguments::default();
    for value in values {
        add(&mut arguments, value).map_err(|source| StoreError::Refused { source })?;
    }
    Ok(sqlx::query_with(AssertSqlSafe(sql), arguments).persistent(false))
}

fn add(arguments: &mut PgArguments, value: &Parameter<'_>) -> Result<(), sqlx::error::BoxDynError> {
    match *value {
        Parameter::Small(value) => arguments.add(value),
        Parameter::Big(value) => arguments.add(value),
        Parameter::Float(value) => arguments.add(value),
        Parameter::Flag(value) => arguments.add(value),
        Parameter::Text(value) => arguments.add(value),
        Parameter::Bytes(value) => arguments.add(value),
        Parameter::Uuid(value) => arguments.add(value),
        Parameter::Smalls(values) => arguments.add(values),
        Parameter::Ints(values) => arguments.add(values),
        Parameter::Bigs(values) => arguments.add(values),
        Parameter::Floats(values) => arguments.add(values),
        Parameter::ManyBytes(values) => arguments.add(values),
        Parameter::Uuids(values) => arguments.add(values),
    }
}
