//! Look and resolve, for people who run the store.

use rusqlite::{OptionalExtension as _, Row};
use samekey_core::record::{Age, RecordState};
use samekey_core::store::{
    Held, ListFilter, Listed, MAX_LOOK, MAX_PAGE, Operators, Outcome, Page, Place, Resolution, Resolved,
    Shown, ShownStep, StepKind, StepState,
};
use samekey_core::{Answer, FencingToken, Key, Scope, StoreError, UnixMs};

use crate::Sqlite;
use crate::columns::{column, millis};
use crate::error::{self, unreadable};
use crate::readers::Look;
use crate::writer::Turn;

/// After every scope: a scope has 64 bytes at the most.
const LAST_SCOPE: [u8; 65] = [0xff; 65];

/// The columns that [`listed`] reads.
const LISTED: &str =
    "id, scope, key, token, state, generation, steps_begun, status, lease_until, expires_at, purge_at";

impl Operators for Sqlite {
    async fn list(&self, filter: &ListFilter) -> Result<Page, StoreError> {
        let filter = filter.clone();
        self.readers.run(move |look| list(look, &filter)).await
    }

    async fn show(&self, scope: &Scope, key: &Key) -> Result<Option<Shown>, StoreError> {
        let (scope, key) = (scope.clone(), key.clone());
        self.readers.run(move |look| show(look, &scope, &key)).await
    }

    async fn resolve_succeeded(
        &self,
        seen: &Held,
        answer: &Answer,
        by: &Resolution,
    ) -> Result<bool, StoreError> {
        let (seen, answer, by) = (seen.clone(), answer.clone(), by.clone());
        self.writer.run(move |turn| succeeded(turn, &seen, &answer, &by)).await
    }

    async fn resolve_failed(&self, seen: &Held, by: &Resolution) -> Result<bool, StoreError> {
        let (seen, by) = (seen.clone(), by.clone());
        self.writer.run(move |turn| failed(turn, &seen, &by)).await
    }

    async fn mark_abandoned(&self, limit: usize) -> Result<usize, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        // The token stays, so that a stalled owner can still bring the true answer by completing.
        let sql = "UPDATE record SET state = 3, lease_until = NULL WHERE id IN (
                     SELECT id FROM record WHERE purge_at <= ?1 AND state = 1 AND lease_until <= ?1 AND steps_begun > 0
                      ORDER BY purge_at LIMIT ?2)";
        self.writer.run(move |turn| turn.execute(sql, (turn.now, limit))).await
    }
}

/// Looks at so many rows at the most, whatever it is asked for, and says where it stopped.
fn list(look: &Look<'_>, filter: &ListFilter) -> Result<Page, StoreError> {
    let scope = filter.scope.as_ref().map(Scope::as_bytes);
    let first = || (scope.unwrap_or_default(), &[][..]);
    let after =
        filter.after.as_ref().map_or_else(first, |place| (place.scope.as_bytes(), place.key.as_bytes()));
    let sql = format!(
        "SELECT {LISTED} FROM record WHERE (scope, key) > (?1, ?2) AND scope <= ?3 ORDER BY scope, key LIMIT ?4"
    );
    let mut statement = look.db.prepare_cached(&sql).map_err(error::of)?;
    let most = i64::try_from(MAX_LOOK).unwrap_or(i64::MAX);
    let mut rows =
        statement.query((after.0, after.1, scope.unwrap_or(&LAST_SCOPE), most)).map_err(error::of)?;
    let (mut page, mut looked_at) = (Page { records: Vec::new(), next: None }, 0);
    while let Some(row) = rows.next().map_err(error::of)? {
        let record = listed(row, look.now)?;
        looked_at += 1;
        let place = Place { scope: record.scope.clone(), key: record.key.clone() };
        if record.age != Age::Purgeable && filter.state.is_none_or(|state| state == record.state) {
            page.records.push(record);
        }
        if page.records.len() >= filter.limit.min(MAX_PAGE) || looked_at == MAX_LOOK {
            page.next = Some(place);
            break;
        }
    }
    Ok(page)
}

fn show(look: &Look<'_>, scope: &Scope, key: &Key) -> Result<Option<Shown>, StoreError> {
    let sql = format!("SELECT {LISTED} FROM record WHERE scope = ?1 AND key = ?2");
    let mut statement = look.db.prepare_cached(&sql).map_err(error::of)?;
    let found = statement
        .query_row((scope.as_bytes(), key.as_bytes()), |row| Ok((row.get("id")?, listed(row, look.now))))
        .optional()
        .map_err(error::of)?;
    let Some((id, record)) = found else { return Ok(None) };
    let record = record?;
    if record.age == Age::Purgeable {
        return Ok(None);
    }
    let steps = "SELECT name, unkeyed, state, length(result) AS result_bytes FROM step WHERE record = ?1 ORDER BY name";
    let resolutions = "SELECT token, at, outcome, who, why FROM resolution WHERE record = ?1 ORDER BY token";
    Ok(Some(Shown {
        record,
        steps: of_record(look, steps, id, step)?,
        resolutions: of_record(look, resolutions, id, resolved)?,
    }))
}

/// The rows that belong to a record.
fn of_record<T>(
    look: &Look<'_>,
    sql: &str,
    record: i64,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = look.db.prepare_cached(sql).map_err(error::of)?;
    let mut rows = statement.query([record]).map_err(error::of)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(error::of)? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn succeeded(turn: &Turn<'_>, seen: &Held, answer: &Answer, by: &Resolution) -> Result<bool, StoreError> {
    let token = turn.tokens(1)?;
    let rows = turn.execute(
        "UPDATE record SET token = ?4, state = 2, status = ?5, answer = ?6,
                purge_at = ?7 + retention_ms + purge_at - expires_at, expires_at = ?7 + retention_ms
          WHERE scope = ?1 AND key = ?2 AND token = ?3 AND state = 3",
        (
            seen.scope.as_bytes(),
            seen.key.as_bytes(),
            seen.token.0,
            token,
            answer.status,
            answer.encode(),
            turn.now,
        ),
    )?;
    if rows > 0 {
        write_down(turn, seen, token, Outcome::Succeeded, by)?;
    }
    Ok(rows > 0)
}

fn failed(turn: &Turn<'_>, seen: &Held, by: &Resolution) -> Result<bool, StoreError> {
    let token = turn.tokens(1)?;
    let rows = turn.execute(
        "UPDATE record SET token = ?4, claim = zeroblob(16), state = 1, lease_until = ?5,
                generation = generation + 1, steps_begun = 0,
                purge_at = ?5 + retention_ms + purge_at - expires_at, expires_at = ?5 + retention_ms
          WHERE scope = ?1 AND key = ?2 AND token = ?3 AND (state = 3 OR (state = 1 AND lease_until <= ?5))",
        (seen.scope.as_bytes(), seen.key.as_bytes(), seen.token.0, token, turn.now),
    )?;
    if rows > 0 {
        turn.execute(
            "DELETE FROM step WHERE record = (SELECT id FROM record WHERE scope = ?1 AND key = ?2)",
            (seen.scope.as_bytes(), seen.key.as_bytes()),
        )?;
        write_down(turn, seen, token, Outcome::Failed, by)?;
    }
    Ok(rows > 0)
}

fn write_down(
    turn: &Turn<'_>,
    seen: &Held,
    token: i64,
    outcome: Outcome,
    by: &Resolution,
) -> Result<(), StoreError> {
    turn.execute(
        "INSERT INTO resolution (record, token, at, outcome, who, why)
         SELECT id, ?3, ?4, ?5, ?6, ?7 FROM record WHERE scope = ?1 AND key = ?2",
        (seen.scope.as_bytes(), seen.key.as_bytes(), token, turn.now, outcome.code(), &by.who, &by.why),
    )?;
    Ok(())
}

fn listed(row: &Row<'_>, now: i64) -> Result<Listed, StoreError> {
    let state: i16 = column(row, "state")?;
    let state =
        RecordState::from_code(state).ok_or_else(|| unreadable(format_args!("record state {state}")))?;
    let lease_until: Option<i64> = column(row, "lease_until")?;
    let (expires_at, purge_at): (i64, i64) = (column(row, "expires_at")?, column(row, "purge_at")?);
    Ok(Listed {
        scope: Scope::from_stored(&column::<Vec<u8>>(row, "scope")?),
        key: Key::from_bytes(&column::<Vec<u8>>(row, "key")?).map_err(unreadable)?,
        token: FencingToken(column(row, "token")?),
        state,
        generation: column(row, "generation")?,
        steps_begun: column(row, "steps_begun")?,
        lease_left: millis(lease_until.unwrap_or(now) - now),
        status: column(row, "status")?,
        expires_at: UnixMs(expires_at),
        purge_at: UnixMs(purge_at),
        age: Age::of(state, UnixMs(expires_at), UnixMs(purge_at), UnixMs(now)),
    })
}

fn step(row: &Row<'_>) -> Result<ShownStep, StoreError> {
    let state: i16 = column(row, "state")?;
    Ok(ShownStep {
        name: column(row, "name")?,
        kind: if column(row, "unkeyed")? { StepKind::Unkeyed } else { StepKind::Keyed },
        state: StepState::from_code(state).ok_or_else(|| unreadable(format_args!("step state {state}")))?,
        result_bytes: column::<Option<u32>>(row, "result_bytes")?.map(|bytes| bytes as usize),
    })
}

fn resolved(row: &Row<'_>) -> Result<Resolved, StoreError> {
    let outcome: i16 = column(row, "outcome")?;
    Ok(Resolved {
        token: FencingToken(column(row, "token")?),
        at: UnixMs(column(row, "at")?),
        outcome: Outcome::from_code(outcome).ok_or_else(|| unreadable(format_args!("outcome {outcome}")))?,
        by: Resolution { who: column(row, "who")?, why: column(row, "why")? },
    })
}
