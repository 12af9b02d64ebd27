//! From `--database` to an open store.

use std::path::Path;

use samekey_core::StoreError;
use samekey_postgres::Postgres;
use samekey_sqlite::Sqlite;

use super::Failure;
use super::options::Database;
use crate::store::Store;

/// What to do about an old or missing schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    Migrate,
    Require,
}

impl Database {
    /// What was asked for.
    pub(super) fn schema(&self) -> Schema {
        if self.no_migrate { Schema::Require } else { Schema::Migrate }
    }
}

/// Opens the store.
pub(super) async fn open(database: &Database, schema: Schema) -> Result<Store, Failure> {
    let default = || format!("sqlite:{}", database.data_dir.join("samekey.db").display());
    let url = database.database.clone().unwrap_or_else(default);
    match url.split_once(':') {
        Some(("sqlite", path)) => open_sqlite(path.strip_prefix("//").unwrap_or(path), schema).await,
        Some(("postgres" | "postgresql", _)) => open_postgres(&url, database, schema).await,
        _ => Err(Failure::new("--database is neither `sqlite:PATH` nor `postgres://…`")),
    }
}

async fn open_sqlite(path: &str, schema: Schema) -> Result<Store, Failure> {
    let path = Path::new(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|_| schema == Schema::Migrate) {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("{} cannot be created: {error}", folder.display())))?;
    }
    let opened = match schema {
        Schema::Migrate => Sqlite::migrate(path).await,
        Schema::Require => Sqlite::open(path).await,
    };
    let store = opened.map_err(|error| failure(&error))?;
    for caution in store.cautions() {
        tracing::warn!("ACKNOWLEDGED WORK CAN BE LOST: {caution}");
    }
    Ok(Store::Sqlite(store))
}

async fn open_postgres(url: &str, database: &Database, schema: Schema) -> Result<Store, Failure> {
    let options = samekey_postgres::Options::from_url(url)
        .map_err(|error| Failure::new(format!("--database: {error}")))?
        .with_connections(database.connections)
        .in_schema(&database.schema_name)
        .map_err(|error| Failure::new(format!("--schema-name: {error}")))?;
    let opened = match schema {
        Schema::Migrate => Postgres::migrate(&options).await,
        Schema::Require => Postgres::open(&options).await,
    };
    let store = opened.map_err(|error| failure(&error))?;
    for caution in store.cautions().await.map_err(|error| failure(&error))? {
        let (setting, value, consequence) = (caution.setting, caution.value, caution.consequence);
        tracing::warn!("ACKNOWLEDGED WORK CAN BE LOST: {setting} = {value}: {consequence}");
    }
    Ok(Store::Postgres(store))
}

/// A driver's error often hides its cause one level down.
fn failure(error: &StoreError) -> Failure {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    Failure::new(text)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        failure(&error)
    }
}
