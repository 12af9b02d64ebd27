//! Projects and API keys.

use rusqlite::{OptionalExtension as _, Row};
use samekey_core::store::Projects;
use samekey_core::tenant::{ApiKey, ApiKeyHash, Project, ProjectId};
use samekey_core::{StoreError, UnixMs};

use crate::{Sqlite, error};

impl Projects for Sqlite {
    async fn create_project(&self, name: &str) -> Result<Option<Project>, StoreError> {
        let name = name.to_owned();
        self.writer
            .run(move |turn| {
                let sql =
                    "INSERT INTO project (name, created_at) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING
                           RETURNING id, name, created_at";
                turn.db.query_row(sql, (&name, turn.now), project).optional().map_err(error::of)
            })
            .await
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        self.readers
            .run(|look| {
                let mut statement = look
                    .db
                    .prepare_cached("SELECT id, name, created_at FROM project ORDER BY name")
                    .map_err(error::of)?;
                statement.query_map([], project).and_then(Iterator::collect).map_err(error::of)
            })
            .await
    }

    async fn create_api_key(
        &self,
        project: ProjectId,
        hash: ApiKeyHash,
        hint: &str,
    ) -> Result<ApiKey, StoreError> {
        let hint = hint.to_owned();
        self.writer
            .run(move |turn| {
                let sql = "INSERT INTO api_key (project, hash, hint, created_at) VALUES (?1, ?2, ?3, ?4)
                           RETURNING id, hint, created_at, revoked_at";
                turn.db.query_row(sql, (project.0, hash.0, &hint, turn.now), api_key).map_err(error::of)
            })
            .await
    }

    async fn api_keys(&self, project: ProjectId) -> Result<Vec<ApiKey>, StoreError> {
        self.readers
            .run(move |look| {
                let sql =
                    "SELECT id, hint, created_at, revoked_at FROM api_key WHERE project = ?1 ORDER BY id";
                let mut statement = look.db.prepare_cached(sql).map_err(error::of)?;
                statement.query_map([project.0], api_key).and_then(Iterator::collect).map_err(error::of)
            })
            .await
    }

    async fn revoke_api_key(&self, project: ProjectId, id: i64) -> Result<bool, StoreError> {
        self.writer
            .run(move |turn| {
                let rows = turn.execute(
                    "UPDATE api_key SET revoked_at = ?3 WHERE project = ?1 AND id = ?2 AND revoked_at IS NULL",
                    (project.0, id, turn.now),
                )?;
                Ok(rows > 0)
            })
            .await
    }

    async fn authenticate(&self, hash: ApiKeyHash) -> Result<Option<ProjectId>, StoreError> {
        self.readers
            .run(move |look| {
                look.db
                    .prepare_cached("SELECT project FROM api_key WHERE hash = ?1 AND revoked_at IS NULL")
                    .and_then(|mut statement| {
                        statement.query_row([hash.0], |row| row.get(0).map(ProjectId)).optional()
                    })
                    .map_err(error::of)
            })
            .await
    }
}

fn project(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project { id: ProjectId(row.get(0)?), name: row.get(1)?, created_at: UnixMs(row.get(2)?) })
}

fn api_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: row.get(0)?,
        hint: row.get(1)?,
        created_at: UnixMs(row.get(2)?),
        revoked_at: row.get::<_, Option<i64>>(3)?.map(UnixMs),
    })
}
