//! Columns read into the words of the rules.

use std::time::Duration;

use bytes::Bytes;
use samekey_core::record::{Age, Record, RecordState, StepInDoubt};
use samekey_core::store::RecipeId;
use samekey_core::{Answer, FencingToken, Fingerprint, StoreError};

use crate::driver::{Columns, FromColumn};
use crate::error::unreadable;

/// A column by name; a fault of its type is an error, not a panic.
pub(crate) fn column<'r, T: FromColumn<'r>>(row: &'r impl Columns, name: &str) -> Result<T, StoreError> {
    T::from_column(row, name)
}

pub(crate) fn fingerprint(row: &impl Columns) -> Result<Fingerprint, StoreError> {
    Ok(Fingerprint::from_stored(hash(row, "fingerprint")?))
}

pub(crate) fn hash(row: &impl Columns, name: &str) -> Result<[u8; 32], StoreError> {
    column::<&[u8]>(row, name)?.try_into().map_err(|_| unreadable(format_args!("{name} has not 32 bytes")))
}

pub(crate) fn bytes(row: &impl Columns, name: &str) -> Result<Bytes, StoreError> {
    Ok(Bytes::copy_from_slice(column(row, name)?))
}

#[cfg(feature = "tokio-postgres")]
pub(crate) fn unix_ms(row: &impl Columns, name: &str) -> Result<samekey_core::UnixMs, StoreError> {
    column(row, name).map(samekey_core::UnixMs)
}

/// A count that is never negative.
pub(crate) fn count(row: &impl Columns, name: &str) -> Result<u32, StoreError> {
    u32::try_from(column::<i32>(row, name)?).map_err(unreadable)
}

/// Seconds of the database; a negative or absurd number of them is nought.
pub(crate) fn seconds(row: &impl Columns, name: &str) -> Result<Duration, StoreError> {
    let seconds: Option<f64> = column(row, name)?;
    Ok(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or_default())
}

/// A record as `claim` and `load` give it.
pub(crate) fn record(row: &impl Columns) -> Result<Record, StoreError> {
    let state = column::<i16>(row, "state")?;
    let answer: Option<&[u8]> = column(row, "answer")?;
    let status: Option<i16> = column(row, "status")?;
    Ok(Record {
        token: FencingToken(column(row, "token")?),
        claim: column(row, "claim")?,
        state: RecordState::from_code(state)
            .ok_or_else(|| unreadable(format_args!("record state {state}")))?,
        generation: count(row, "generation")?,
        steps_begun: count(row, "steps_begun")?,
        step_in_doubt: if column(row, "step_in_doubt")? { StepInDoubt::Yes } else { StepInDoubt::No },
        fingerprint: fingerprint(row)?,
        recipe: RecipeId(column(row, "recipe")?),
        lease_left: seconds(row, "lease_left_s")?,
        status: status.map(|status| u16::try_from(status).unwrap_or_default()),
        answer: answer
            .map(|blob| Answer::decode(Bytes::copy_from_slice(blob)))
            .transpose()
            .map_err(unreadable)?,
        age: match column::<i32>(row, "age")? {
            0 => Age::Current,
            1 => Age::Tombstone,
            _ => Age::Purgeable,
        },
    })
}
