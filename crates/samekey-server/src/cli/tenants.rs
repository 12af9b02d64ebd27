//! `samekey projects` and `samekey api-keys`.

use samekey_core::store::Projects as _;
use samekey_core::tenant::{ApiKeyHash, Project};

use super::options::{ApiKeyAction, ApiKeys, Database, ProjectAction, Projects};
use super::{Failure, database, date, say};
use crate::random;
use crate::store::Store;

/// 32 of these are 190 bits.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `samekey projects …`
pub(super) async fn projects(projects: Projects) -> Result<(), Failure> {
    match projects.action {
        ProjectAction::Create { name, database } => {
            check_name(&name)?;
            let store = open(&database).await?;
            match store.create_project(&name).await? {
                Some(project) => say(&format!("created project {}", project.name)),
                None => return Err(Failure::new(format!("there is a project `{name}` already"))),
            }
            say(&format!("next: samekey api-keys create --project {name}"));
        }
        ProjectAction::List { database } => {
            for project in open(&database).await?.projects().await? {
                say(&format!("{}\t{}", project.name, date(project.created_at)));
            }
        }
    }
    Ok(())
}

/// `samekey api-keys …`
pub(super) async fn api_keys(keys: ApiKeys) -> Result<(), Failure> {
    match keys.action {
        ApiKeyAction::Create { project, database } => {
            let store = open(&database).await?;
            let project = find(&store, &project).await?;
            let key = format!("sk_{}", random_letters());
            let kept = store.create_api_key(project.id, ApiKeyHash::of(&key), &key[key.len() - 4..]).await?;
            say(&format!("created API key {} of project {}; it is shown this once:", kept.id, project.name));
            say(&key);
        }
        ApiKeyAction::List { project, database } => {
            let store = open(&database).await?;
            let project = find(&store, &project).await?;
            for key in store.api_keys(project.id).await? {
                let state =
                    key.revoked_at.map_or_else(|| "live".to_owned(), |at| format!("revoked {}", date(at)));
                say(&format!("{}\tsk_…{}\t{}\t{state}", key.id, key.hint, date(key.created_at)));
            }
        }
        ApiKeyAction::Revoke { id, project, database } => {
            let store = open(&database).await?;
            let project = find(&store, &project).await?;
            if !store.revoke_api_key(project.id, id).await? {
                return Err(Failure::new(format!("project `{}` has no live API key {id}", project.name)));
            }
            say(&format!("revoked API key {id}; every process refuses it after 5 seconds at the latest"));
        }
    }
    Ok(())
}

async fn open(database: &Database) -> Result<Store, Failure> {
    database::open(database, database.schema()).await
}

async fn find(store: &Store, name: &str) -> Result<Project, Failure> {
    let found = store.projects().await?.into_iter().find(|project| project.name == name);
    found.ok_or_else(|| Failure::new(format!("there is no project `{name}`: samekey projects create {name}")))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if plain && (1..=64).contains(&name.len()) {
        return Ok(());
    }
    Err(Failure::new("a project's name is 1 to 64 letters, digits, `-`, `_` and `.`"))
}

/// Evenly drawn: bytes past the last whole multiple of 62 are thrown away.
fn random_letters() -> String {
    let mut letters = String::with_capacity(32);
    while letters.len() < 32 {
        let even = random::bytes::<64>().into_iter().filter(|byte| *byte < 248);
        letters.extend(even.map(|byte| char::from(LETTERS[usize::from(byte) % 62])).take(32 - letters.len()));
    }
    letters
}
