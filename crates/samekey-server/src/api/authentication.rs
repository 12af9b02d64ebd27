//! Who is asking: an API key names its project.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use samekey_core::store::Projects;
use samekey_core::tenant::{ApiKeyHash, ProjectId};
use tokio::time::Instant;

use super::Problem;
use crate::store::Store;

/// A revoked key is refused after this at the latest, by every process.
const REMEMBERED: Duration = Duration::from_secs(5);
/// Answers remembered at once; a guesser only empties the memory.
const MAX_REMEMBERED: usize = 10_000;

/// What a key named, and when that was looked up.
type Remembered = HashMap<ApiKeyHash, (Option<ProjectId>, Instant)>;

/// Looks up API keys, and remembers the answers for a few seconds.
#[derive(Clone)]
pub struct Authentication {
    store: Store,
    /// Known without being stored: the demo key of `--dev`.
    known: Option<(ApiKeyHash, ProjectId)>,
    remembered: Arc<RwLock<Remembered>>,
}

impl Authentication {
    /// Against the store alone.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, known: None, remembered: Arc::default() }
    }

    /// Also takes one key that is not in the store.
    #[must_use]
    pub fn knowing(self, key: &str, project: ProjectId) -> Self {
        Self { known: Some((ApiKeyHash::of(key), project)), ..self }
    }

    /// The project of the request's bearer token (RFC 6750, section 2.1).
    ///
    /// # Errors
    /// 401 where the token is missing or names nothing, 503 where the store is away.
    pub async fn project(&self, headers: &HeaderMap) -> Result<ProjectId, Problem> {
        let hash = ApiKeyHash::of(bearer(headers)?);
        if let Some((known, project)) = self.known
            && known == hash
        {
            return Ok(project);
        }
        let project = match self.recall(hash) {
            Some(project) => project,
            None => self.look_up(hash).await?,
        };
        project.ok_or_else(|| Problem::unauthorized("the API key is unknown or revoked"))
    }

    fn recall(&self, hash: ApiKeyHash) -> Option<Option<ProjectId>> {
        let remembered = self.remembered.read().unwrap_or_else(PoisonError::into_inner);
        remembered.get(&hash).filter(|(_, since)| since.elapsed() < REMEMBERED).map(|(project, _)| *project)
    }

    async fn look_up(&self, hash: ApiKeyHash) -> Result<Option<ProjectId>, Problem> {
        let project = self.store.authenticate(hash).await?;
        let mut remembered = self.remembered.write().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(hash, (project, Instant::now()));
        Ok(project)
    }
}

impl std::fmt::Debug for Authentication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authentication").finish_non_exhaustive()
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let missing =
        || Problem::unauthorized("send `Authorization: Bearer sk_…` with an API key of your project");
    let value = headers.get(AUTHORIZATION).ok_or_else(missing)?.to_str().map_err(|_| missing())?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() => {
            Ok(token.trim())
        }
        _ => Err(missing()),
    }
}
