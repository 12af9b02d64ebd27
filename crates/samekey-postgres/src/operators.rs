//! Look and resolve, for people who run the store.

use samekey_core::record::{Age, RecordState};
use samekey_core::store::{
    Held, ListFilter, Listed, MAX_LOOK, MAX_PAGE, Operators, Outcome, Page, Place, Resolution, Resolved,
    Shown, ShownStep, StepKind, StepState,
};
use samekey_core::{Answer, FencingToken, Key, Scope, StoreError, UnixMs};
use tokio_postgres::Row;

use crate::Postgres;
use crate::columns::{column, count, seconds, unix_ms};
use crate::driver::Durability;
use crate::error::unreadable;

/// After every scope: a scope has 64 bytes at the most.
const LAST_SCOPE: [u8; 65] = [0xff; 65];

impl Operators for Postgres {
    async fn list(&self, filter: &ListFilter) -> Result<Page, StoreError> {
        let scope = filter.scope.as_ref().map(Scope::as_bytes);
        let first = || (scope.unwrap_or_default(), &[][..]);
        let (after_scope, after_key) =
            filter.after.as_ref().map_or_else(first, |place| (place.scope.as_bytes(), place.key.as_bytes()));
        let up_to = scope.unwrap_or(&LAST_SCOPE);
        let state = filter.state.map(RecordState::code);
        let limit = filter.limit.min(MAX_PAGE);
        let (limit_rows, look_rows) = (rows_of(limit), rows_of(MAX_LOOK));
        let rows = self
            .connections
            .read(
                &self.sql.list_records,
                &[&after_scope, &after_key, &up_to, &state, &limit_rows, &look_rows],
            )
            .await?;
        page(&rows, limit)
    }

    async fn show(&self, scope: &Scope, key: &Key) -> Result<Option<Shown>, StoreError> {
        let (scope, key) = (scope.as_bytes(), key.as_bytes());
        let records = self.connections.read(&self.sql.show_record, &[&scope, &key]).await?;
        let Some(record) = records.first() else { return Ok(None) };
        let steps = self.connections.read(&self.sql.show_steps, &[&scope, &key]).await?;
        let resolutions = self.connections.read(&self.sql.resolutions, &[&scope, &key]).await?;
        Ok(Some(Shown {
            record: listed(record)?,
            steps: steps.iter().map(step).collect::<Result<_, _>>()?,
            resolutions: resolutions.iter().map(resolved).collect::<Result<_, _>>()?,
        }))
    }

    async fn resolve_succeeded(
        &self,
        seen: &Held,
        answer: &Answer,
        by: &Resolution,
    ) -> Result<bool, StoreError> {
        let (scope, key) = (seen.scope.as_bytes(), seen.key.as_bytes());
        let status = i16::try_from(answer.status).map_err(unreadable)?;
        let blob = answer.encode();
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.resolve_succeeded,
                &[&scope, &key, &seen.token.0, &status, &&blob[..], &by.who, &by.why],
            )
            .await?;
        Ok(!rows.is_empty())
    }

    async fn resolve_failed(&self, seen: &Held, by: &Resolution) -> Result<bool, StoreError> {
        let (scope, key) = (seen.scope.as_bytes(), seen.key.as_bytes());
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.resolve_failed,
                &[&scope, &key, &seen.token.0, &by.who, &by.why],
            )
            .await?;
        rows.first().map_or(Ok(false), |row| column(row, "resolved"))
    }

    async fn mark_abandoned(&self, limit: usize) -> Result<usize, StoreError> {
        let limit = rows_of(limit);
        let rows = self.connections.write(Durability::Durable, &self.sql.mark_abandoned, &[&limit]).await?;
        Ok(rows.len())
    }
}

fn rows_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Every row also tells the last one that was looked at; one that tells nothing else found none.
fn page(rows: &[Row], limit: usize) -> Result<Page, StoreError> {
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        if column(row, "found")? {
            records.push(listed(row)?);
        }
    }
    let next = match (rows.first(), records.last()) {
        (_, Some(last)) if records.len() == limit => {
            Some(Place { scope: last.scope.clone(), key: last.key.clone() })
        }
        (Some(row), _) if column::<i64>(row, "looked_at")? >= rows_of(MAX_LOOK) => {
            Some(place(row, "last_scope", "last_key")?)
        }
        _ => None,
    };
    Ok(Page { records, next })
}

fn place(row: &Row, scope: &str, key: &str) -> Result<Place, StoreError> {
    Ok(Place {
        scope: Scope::from_stored(column(row, scope)?),
        key: Key::from_bytes(column(row, key)?).map_err(unreadable)?,
    })
}

fn listed(row: &Row) -> Result<Listed, StoreError> {
    let Place { scope, key } = place(row, "scope", "key")?;
    let state = column::<i16>(row, "state")?;
    let status: Option<i16> = column(row, "status")?;
    Ok(Listed {
        scope,
        key,
        token: FencingToken(column(row, "token")?),
        state: RecordState::from_code(state)
            .ok_or_else(|| unreadable(format_args!("record state {state}")))?,
        generation: count(row, "generation")?,
        steps_begun: count(row, "steps_begun")?,
        lease_left: seconds(row, "lease_left_s")?,
        status: status.map(|status| u16::try_from(status).unwrap_or_default()),
        expires_at: unix_ms(row, "expires_at_ms")?,
        purge_at: unix_ms(row, "purge_at_ms")?,
        age: if column::<i32>(row, "age")? == 0 { Age::Current } else { Age::Tombstone },
    })
}

fn step(row: &Row) -> Result<ShownStep, StoreError> {
    let state = column::<i16>(row, "state")?;
    let result_bytes: Option<i32> = column(row, "result_bytes")?;
    Ok(ShownStep {
        name: column(row, "name")?,
        kind: if column(row, "unkeyed")? { StepKind::Unkeyed } else { StepKind::Keyed },
        state: StepState::from_code(state).ok_or_else(|| unreadable(format_args!("step state {state}")))?,
        result_bytes: result_bytes.map(|bytes| usize::try_from(bytes).unwrap_or_default()),
    })
}

fn resolved(row: &Row) -> Result<Resolved, StoreError> {
    let outcome = column::<i16>(row, "outcome")?;
    Ok(Resolved {
        token: FencingToken(column(row, "token")?),
        at: UnixMs(column(row, "at_ms")?),
        outcome: Outcome::from_code(outcome).ok_or_else(|| unreadable(format_args!("outcome {outcome}")))?,
        by: Resolution { who: column(row, "who")?, why: column(row, "why")? },
    })
}
