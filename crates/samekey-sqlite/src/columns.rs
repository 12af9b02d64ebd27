//! Columns read into the words of the rules.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::Row;
use rusqlite::types::FromSql;
use samekey_core::record::{Age, Record, RecordState, StepInDoubt};
use samekey_core::store::RecipeId;
use samekey_core::{Answer, FencingToken, Fingerprint, StoreError, UnixMs};
use uuid::Uuid;

use crate::error::{self, unreadable};

/// A column by name; a fault of its type is an error, not a panic.
pub(crate) fn column<T: FromSql>(row: &Row<'_>, name: &str) -> Result<T, StoreError> {
    row.get(name).map_err(error::of)
}

pub(crate) fn fingerprint(row: &Row<'_>) -> Result<Fingerprint, StoreError> {
    Ok(Fingerprint::from_stored(column(row, "fingerprint")?))
}

pub(crate) fn uuid(row: &Row<'_>, name: &str) -> Result<Uuid, StoreError> {
    Ok(Uuid::from_bytes(column(row, name)?))
}

pub(crate) fn bytes(row: &Row<'_>, name: &str) -> Result<Bytes, StoreError> {
    column::<Vec<u8>>(row, name).map(Bytes::from)
}

/// Milliseconds; a negative number of them is nought.
pub(crate) fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

/// A duration as the file keeps it.
pub(crate) fn as_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

/// The columns that [`record`] reads; `:now` is the database's time.
pub(crate) const RECORD: &str =
    "r.id, r.token, r.state, r.generation, r.steps_begun, r.recipe, r.fingerprint, r.status, r.lease_until,
  r.expires_at, r.purge_at, r.claim,
  EXISTS (SELECT 1 FROM step s WHERE s.record = r.id AND s.unkeyed AND s.state = 1) AS step_in_doubt,
  CASE WHEN r.state = 2 AND r.expires_at > :now THEN r.answer END AS answer";

/// A record as `claim` and `load` find it.
pub(crate) fn record(row: &Row<'_>, now: i64) -> Result<Record, StoreError> {
    let state: i16 = column(row, "state")?;
    let state =
        RecordState::from_code(state).ok_or_else(|| unreadable(format_args!("record state {state}")))?;
    let lease_until: Option<i64> = column(row, "lease_until")?;
    let answer: Option<Vec<u8>> = column(row, "answer")?;
    let (expires_at, purge_at): (i64, i64) = (column(row, "expires_at")?, column(row, "purge_at")?);
    Ok(Record {
        token: FencingToken(column(row, "token")?),
        claim: uuid(row, "claim")?,
        state,
        generation: column(row, "generation")?,
        steps_begun: column(row, "steps_begun")?,
        step_in_doubt: if column(row, "step_in_doubt")? && state == RecordState::InProgress {
            StepInDoubt::Yes
        } else {
            StepInDoubt::No
        },
        fingerprint: fingerprint(row)?,
        recipe: RecipeId(column(row, "recipe")?),
        lease_left: millis(lease_until.unwrap_or(now) - now),
        status: column(row, "status")?,
        answer: answer.map(Answer::decode).transpose().map_err(unreadable)?,
        age: Age::of(state, UnixMs(expires_at), UnixMs(purge_at), UnixMs(now)),
    })
}
