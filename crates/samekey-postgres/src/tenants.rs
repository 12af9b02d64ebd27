//! Projects and API keys.

use samekey_core::StoreError;
use samekey_core::store::Projects;
use samekey_core::tenant::{ApiKey, ApiKeyHash, Project, ProjectId};
use samekey_core::time::UnixMs;
use tokio_postgres::Row;

use crate::Postgres;
use crate::columns::{column, unix_ms};
use crate::driver::Durability;
use crate::error::unreadable;

impl Projects for Postgres {
    async fn create_project(&self, name: &str) -> Result<Option<Project>, StoreError> {
        let rows = self.connections.write(Durability::Durable, &self.sql.create_project, &[&name]).await?;
        rows.first().map(project).transpose()
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        self.connections.read(&self.sql.projects, &[]).await?.iter().map(project).collect()
    }

    async fn create_api_key(
        &self,
        project: ProjectId,
        hash: ApiKeyHash,
        hint: &str,
    ) -> Result<ApiKey, StoreError> {
        let rows = self
            .connections
            .write(Durability::Durable, &self.sql.create_api_key, &[&project.0, &hash.0.as_slice(), &hint])
            .await?;
        rows.first().map_or_else(|| Err(unreadable("an inserted key did not come back")), api_key)
    }

    async fn api_keys(&self, project: ProjectId) -> Result<Vec<ApiKey>, StoreError> {
        self.connections.read(&self.sql.api_keys, &[&project.0]).await?.iter().map(api_key).collect()
    }

    async fn revoke_api_key(&self, project: ProjectId, id: i64) -> Result<bool, StoreError> {
        let rows =
            self.connections.write(Durability::Durable, &self.sql.revoke_api_key, &[&project.0, &id]).await?;
        Ok(!rows.is_empty())
    }

    async fn authenticate(&self, hash: ApiKeyHash) -> Result<Option<ProjectId>, StoreError> {
        let rows = self.connections.read(&self.sql.authenticate, &[&hash.0.as_slice()]).await?;
        rows.first().map(|row| column(row, "project").map(ProjectId)).transpose()
    }
}

fn project(row: &Row) -> Result<Project, StoreError> {
    Ok(Project {
        id: ProjectId(column(row, "id")?),
        name: column(row, "name")?,
        created_at: unix_ms(row, "created_at_ms")?,
    })
}

fn api_key(row: &Row) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: column(row, "id")?,
        hint: column(row, "hint")?,
        created_at: unix_ms(row, "created_at_ms")?,
        revoked_at: column::<Option<i64>>(row, "revoked_at_ms")?.map(UnixMs),
    })
}
