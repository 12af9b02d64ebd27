//! The schema, and who may work on it.
//!
//! Migrations expand in one release and contract in a later one, so that two releases can run side by side during a
//! deploy. The database says itself which binaries may work on it (`readable_by`): a newer schema is no reason to refuse,
//! a schema that this binary would damage is.

use samekey_core::StoreError;

use crate::Postgres;
use crate::columns::column;
use crate::driver::Driver;
#[cfg(feature = "tokio-postgres")]
use crate::pool::error;
use crate::statements::in_schema;

/// The schema that this release knows.
pub const SCHEMA_VERSION: i32 = 1;

/// Each migration with the oldest release (by its schema) that may work on its outcome.
const MIGRATIONS: [(&str, i32); SCHEMA_VERSION as usize] = [(include_str!("../sql/migrations/0001.sql"), 1)];

const META: &str = include_str!("../sql/meta.sql");

/// An advisory lock, held while a migration runs: processes that start at once take turns. The number has no meaning; it
/// is ours.
pub const MIGRATION_LOCK: i64 = 0x5a4d_454b_4559;

/// The whole schema as SQL, for people's own migration tools.
#[must_use]
pub fn schema_sql(schema: &str) -> String {
    let (texts, oldest): (Vec<&str>, Vec<i32>) = MIGRATIONS.into_iter().unzip();
    let readable_by = oldest.last().copied().unwrap_or_default();
    let said = format!(
        "INSERT INTO samekey.meta (schema, readable_by) VALUES ({SCHEMA_VERSION}, {readable_by})\n  \
         ON CONFLICT (one) DO UPDATE SET schema = excluded.schema, readable_by = excluded.readable_by;\n"
    );
    in_schema(&[META, &texts.join("\n"), &said].join("\n"), schema)
}

#[cfg(feature = "tokio-postgres")]
impl Postgres {
    /// # Guarantees
    /// Each migration commits with its number or not at all; a crash in the middle leaves the schema before it.
    pub(crate) async fn run_migrations(&self) -> Result<(), StoreError> {
        let schema = self.sql.schema.as_str();
        let mut client = self.connections.client().await?;
        let tx = client.transaction().await.map_err(error::before_commit)?;
        tx.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])
            .await
            .map_err(error::before_commit)?;
        let exists = tx
            .query_one("SELECT to_regclass($1) IS NOT NULL AS exists", &[&format!("{schema}.meta")])
            .await
            .map_err(error::before_commit)?;
        let mut stands = 0;
        if column(&exists, "exists")? {
            let rows = tx.query(&in_schema("SELECT schema FROM samekey.meta", schema), &[]).await;
            let rows = rows.map_err(error::before_commit)?;
            stands = rows.first().map_or(Ok(0), |row| column(row, "schema"))?;
        }
        let missing = MIGRATIONS.iter().skip(usize::try_from(stands).unwrap_or_default());
        if stands < SCHEMA_VERSION {
            tx.batch_execute(&in_schema(META, schema)).await.map_err(error::before_commit)?;
            for (text, _) in missing {
                tx.batch_execute(&in_schema(text, schema)).await.map_err(error::before_commit)?;
            }
            let readable_by = MIGRATIONS.last().map_or(0, |(_, oldest)| *oldest);
            let said = "INSERT INTO samekey.meta (schema, readable_by) VALUES ($1, $2)
                        ON CONFLICT (one) DO UPDATE SET schema = $1, readable_by = $2";
            tx.execute(&in_schema(said, schema), &[&SCHEMA_VERSION, &readable_by])
                .await
                .map_err(error::before_commit)?;
        }
        tx.commit().await.map_err(error::at_commit)
    }
}

impl<D: Driver> Postgres<D> {
    /// Refuses a schema that is missing, too old, or not to be worked on by this release.
    ///
    /// # Errors
    /// [`StoreError::Schema`], with what to do; [`StoreError::Away`].
    pub async fn check_schema(&self) -> Result<(), StoreError> {
        let schema = self.sql.schema.as_str();
        let exists = self
            .connections
            .read("SELECT to_regclass($1) IS NOT NULL AS exists", values![format!("{schema}.meta").as_str()])
            .await?;
        if !exists.first().map_or(Ok(false), |row| column(row, "exists"))? {
            return Err(StoreError::Schema(format!(
                "the database has no schema `{schema}`: run `samekey migrate --database …`, or create it with the SQL \
                 of `samekey schema postgres`"
            )));
        }
        let sql = in_schema("SELECT schema, readable_by FROM samekey.meta", schema);
        let rows = self.connections.read(&sql, values![]).await?;
        let row = rows.first().ok_or_else(|| StoreError::Schema(format!("`{schema}.meta` is empty")))?;
        let (stands, readable_by): (i32, i32) = (column(row, "schema")?, column(row, "readable_by")?);
        if readable_by > SCHEMA_VERSION {
            return Err(StoreError::Schema(format!(
                "the database has schema {stands}, which only releases that know schema {readable_by} may work on; this \
                 one knows {SCHEMA_VERSION}: install the newer release"
            )));
        }
        if stands < SCHEMA_VERSION {
            return Err(StoreError::Schema(format!(
                "the database has schema {stands}, this release needs {SCHEMA_VERSION}: run `samekey migrate --database …`"
            )));
        }
        Ok(())
    }
}
