//! The store that was chosen at the start.
//!
//! The traits of the rules are not object-safe, on purpose; the server is where a concrete store is chosen, and it
//! matches on an enum of the two there are.

use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::message::{
    Accepted, ChannelKind, Finished, MessageId, MessageView, NewMessage, Settled, Take, Taken,
};
use samekey_core::store::{
    Backlog, Held, ListFilter, Messages, Operators, Page, Projects, RecipeId, Records, Resolution, Shown,
    SweepCursor, Swept,
};
use samekey_core::tenant::{ApiKey, ApiKeyHash, Project, ProjectId};
use samekey_core::{Answer, FencingToken, Key, Recipe, Scope, StoreError};
use samekey_postgres::Postgres;
use samekey_sqlite::Sqlite;

/// One of the stores.
#[derive(Clone, Debug)]
pub enum Store {
    /// Many stateless processes on one database.
    Postgres(Postgres),
    /// One machine, one file.
    Sqlite(Sqlite),
}

macro_rules! chosen {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Store::Postgres($store) => $call.await,
            Store::Sqlite($store) => $call.await,
        }
    };
}

impl Store {
    /// See [`Records::recipe`].
    ///
    /// # Errors
    /// Any [`StoreError`].
    pub async fn recipe(&self, recipe: &Recipe) -> Result<RecipeId, StoreError> {
        chosen!(self, store => store.recipe(recipe))
    }

    /// See [`Records::recipe_of`].
    ///
    /// # Errors
    /// Any [`StoreError`].
    pub async fn recipe_of(&self, id: RecipeId) -> Result<Recipe, StoreError> {
        chosen!(self, store => store.recipe_of(id))
    }

    /// See [`Records::sweep`].
    ///
    /// # Errors
    /// Any [`StoreError`].
    pub async fn sweep_records(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        chosen!(self, store => store.sweep(from, limit))
    }
}

impl Messages for Store {
    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, StoreError> {
        chosen!(self, store => store.accept(messages))
    }

    async fn take(&self, take: Take) -> Result<Vec<Taken>, StoreError> {
        chosen!(self, store => store.take(take))
    }

    async fn renew_deliveries(
        &self,
        held: &[(MessageId, FencingToken)],
        lease: Lease,
    ) -> Result<Vec<MessageId>, StoreError> {
        chosen!(self, store => store.renew_deliveries(held, lease))
    }

    async fn finish(&self, finished: &[Finished]) -> Result<Vec<Settled>, StoreError> {
        chosen!(self, store => store.finish(finished))
    }

    async fn message(&self, project: ProjectId, id: MessageId) -> Result<Option<MessageView>, StoreError> {
        chosen!(self, store => store.message(project, id))
    }

    async fn next_due(&self, channel: ChannelKind) -> Result<Option<Duration>, StoreError> {
        chosen!(self, store => store.next_due(channel))
    }

    async fn backlog(&self, channel: ChannelKind) -> Result<Backlog, StoreError> {
        chosen!(self, store => store.backlog(channel))
    }

    async fn sweep_keys(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        chosen!(self, store => store.sweep_keys(from, limit))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        chosen!(self, store => store.ping())
    }
}

impl Operators for Store {
    async fn list(&self, filter: &ListFilter) -> Result<Page, StoreError> {
        chosen!(self, store => store.list(filter))
    }

    async fn show(&self, scope: &Scope, key: &Key) -> Result<Option<Shown>, StoreError> {
        chosen!(self, store => store.show(scope, key))
    }

    async fn resolve_succeeded(
        &self,
        seen: &Held,
        answer: &Answer,
        by: &Resolution,
    ) -> Result<bool, StoreError> {
        chosen!(self, store => store.resolve_succeeded(seen, answer, by))
    }

    async fn resolve_failed(&self, seen: &Held, by: &Resolution) -> Result<bool, StoreError> {
        chosen!(self, store => store.resolve_failed(seen, by))
    }

    async fn mark_abandoned(&self, limit: usize) -> Result<usize, StoreError> {
        chosen!(self, store => store.mark_abandoned(limit))
    }
}

impl Projects for Store {
    async fn create_project(&self, name: &str) -> Result<Option<Project>, StoreError> {
        chosen!(self, store => store.create_project(name))
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        chosen!(self, store => store.projects())
    }

    async fn create_api_key(
        &self,
        project: ProjectId,
        hash: ApiKeyHash,
        hint: &str,
    ) -> Result<ApiKey, StoreError> {
        chosen!(self, store => store.create_api_key(project, hash, hint))
    }

    async fn api_keys(&self, project: ProjectId) -> Result<Vec<ApiKey>, StoreError> {
        chosen!(self, store => store.api_keys(project))
    }

    async fn revoke_api_key(&self, project: ProjectId, id: i64) -> Result<bool, StoreError> {
        chosen!(self, store => store.revoke_api_key(project, id))
    }

    async fn authenticate(&self, hash: ApiKeyHash) -> Result<Option<ProjectId>, StoreError> {
        chosen!(self, store => store.authenticate(hash))
    }
}
