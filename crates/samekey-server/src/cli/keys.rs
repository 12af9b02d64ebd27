//! `samekey keys`: what a person does about a record whose outcome nobody can tell.
//!
//! Nothing here creates or upgrades a database: who mistypes an address must not be told that there are no keys.

mod arguments;
mod text;

use std::io::Read as _;
use std::path::Path;

use samekey_core::Answer;
use samekey_core::record::RecordState;
use samekey_core::store::{Held, ListFilter, Listed, MAX_PAGE, Operators as _, Resolution, Shown};

use super::options::Database;
use super::{Failure, database, say};
use crate::store::Store;
pub(super) use arguments::Keys;
use arguments::{Action, By, List, Named, Release, Resolve, Show};

/// `samekey keys …`
pub(super) async fn keys(keys: Keys) -> Result<(), Failure> {
    match keys.action {
        Action::List(list) => self::list(list).await,
        Action::Show(show) => self::show(show).await,
        Action::Resolve(resolve) => self::resolve(resolve).await,
        Action::Release(release) => self::release(release).await,
    }
}

async fn list(list: List) -> Result<(), Failure> {
    let store = open(&list.database).await?;
    let mut filter = ListFilter {
        scope: list.scope,
        state: list.state.map(arguments::State::in_store),
        after: None,
        limit: 0,
    };
    let mut records = Vec::new();
    loop {
        filter.limit = (list.limit - records.len()).min(MAX_PAGE);
        let page = store.list(&filter).await?;
        records.extend(page.records);
        filter.after = page.next;
        if filter.after.is_none() || records.len() >= list.limit {
            break;
        }
    }
    if list.json {
        records.iter().for_each(|record| say(&text::listed_json(record).to_string()));
    } else {
        text::table(&records).iter().for_each(|line| say(line));
    }
    if filter.after.is_some() {
        tell(&format!("stopped after {} records: there may be more, see --limit", records.len()));
    }
    Ok(())
}

async fn show(show: Show) -> Result<(), Failure> {
    let store = open(&show.database).await?;
    let shown = find(&store, &show.named).await?;
    if show.json {
        say(&text::shown_json(&shown).to_string());
    } else {
        text::sheet(&shown).iter().for_each(|line| say(line));
    }
    Ok(())
}

async fn resolve(resolve: Resolve) -> Result<(), Failure> {
    let by = resolution(resolve.by)?;
    let answer = match &resolve.body {
        None => Answer::bare(resolve.status),
        Some(file) => {
            let headers = vec![("content-type".to_owned(), resolve.content_type.into_bytes())];
            Answer { status: resolve.status, headers, body: Some(read(file)?.into()) }
        }
    };
    let store = open(&resolve.database).await?;
    let seen = held(&find(&store, &resolve.named).await?.record);
    if !store.resolve_succeeded(&seen, &answer, &by).await? {
        return Err(why_not_resolved(&find(&store, &resolve.named).await?.record));
    }
    say(&format!("settled as succeeded: retries get the response {}", resolve.status));
    Ok(())
}

async fn release(release: Release) -> Result<(), Failure> {
    let by = resolution(release.by)?;
    let store = open(&release.database).await?;
    let seen = held(&find(&store, &release.named).await?.record);
    if !store.resolve_failed(&seen, &by).await? {
        return Err(why_not_released(&find(&store, &release.named).await?.record));
    }
    say("settled as failed: the key is free, and the next request under it runs");
    Ok(())
}

async fn open(database: &Database) -> Result<Store, Failure> {
    database::open(database, database::Schema::Require).await
}

async fn find(store: &Store, named: &Named) -> Result<Shown, Failure> {
    let found = store.show(&named.scope, &named.key).await?;
    let scope = text::scope(&named.scope);
    found.ok_or_else(|| {
        Failure::new(format!("there is no record of this key in scope `{scope}`: see `samekey keys list`"))
    })
}

fn held(record: &Listed) -> Held {
    Held { scope: record.scope.clone(), key: record.key.clone(), token: record.token }
}

fn resolution(by: By) -> Result<Resolution, Failure> {
    for (option, text) in [("--who", &by.who), ("--why", &by.why)] {
        if text.trim().is_empty() {
            return Err(Failure::new(format!(
                "{option} is empty: it is what others will know of this decision"
            )));
        }
    }
    Ok(Resolution { who: by.who, why: by.why })
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    if file != Path::new("-") {
        return std::fs::read(file)
            .map_err(|error| Failure::new(format!("--body {}: {error}", file.display())));
    }
    let mut body = Vec::new();
    std::io::stdin()
        .read_to_end(&mut body)
        .map_err(|error| Failure::new(format!("--body -: standard input cannot be read: {error}")))?;
    Ok(body)
}

fn why_not_resolved(record: &Listed) -> Failure {
    match record.state {
        RecordState::Completed => {
            Failure::new("the record is completed; its answer never changes: see `samekey keys show`")
        }
        RecordState::InProgress if record.lease_left.is_zero() => Failure::new(
            "the record is not unknown: its lease is over, and the next attempt decides. To free the key at once: \
             `samekey keys release`",
        ),
        _ => still_moving(record),
    }
}

fn why_not_released(record: &Listed) -> Failure {
    match record.state {
        RecordState::Completed => Failure::new(
            "the record is completed; a completed record is never released: a new intent needs a new key",
        ),
        _ => still_moving(record),
    }
}

/// Somebody works on it, or did so between our look and our write.
fn still_moving(record: &Listed) -> Failure {
    if record.state == RecordState::InProgress && !record.lease_left.is_zero() {
        let seconds = record.lease_left.as_secs() + 1;
        return Failure::new(format!(
            "the record is in progress, and its owner gave a sign of life: its lease holds for another {seconds} s. Come \
             back when it is over"
        ));
    }
    Failure::new(
        "somebody else settled or claimed the record at this moment: look again, `samekey keys show`",
    )
}

/// A line for people, beside the output.
fn tell(line: &str) {
    use std::io::Write as _;
    // Standard error that is gone leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}
