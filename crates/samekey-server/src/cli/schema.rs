//! `samekey schema`.
//!
//! Not everybody lets a service change their database. Who runs migrations with a tool of their own prints the schema here,
//! keeps it among their migrations, and starts the service with `--no-migrate`.

use super::options::{Schema, SchemaOf};
use super::{Failure, say};

/// Prints the schema.
pub(super) fn print(schema: &Schema) -> Result<(), Failure> {
    let sql = match &schema.of {
        SchemaOf::Postgres { schema } => {
            check_name(schema)?;
            samekey_postgres::schema_sql(schema)
        }
        SchemaOf::Sqlite => samekey_sqlite::schema_sql(),
    };
    say(sql.trim_end());
    Ok(())
}

/// The name is written into every statement, so the store itself says which names are good.
fn check_name(schema: &str) -> Result<(), Failure> {
    let checked = samekey_postgres::Options::from_url("postgres://localhost")
        .and_then(|options| options.in_schema(schema));
    checked.map(drop).map_err(|error| Failure::new(format!("--schema: {error}")))
}
