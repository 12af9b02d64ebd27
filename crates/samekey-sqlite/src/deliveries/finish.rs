//! Writing down how attempts ended.

use rusqlite::OptionalExtension as _;
use samekey_core::StoreError;
use samekey_core::delivery::{DeliveryState, OutcomeCode};
use samekey_core::message::{Finished, Settled};

use crate::columns::as_millis;
use crate::error::{self, unreadable};
use crate::writer::Turn;

pub(super) fn finish(turn: &Turn<'_>, finished: &[Finished]) -> Result<Vec<Settled>, StoreError> {
    let mut settled = Vec::with_capacity(finished.len());
    for one in finished {
        let Some(seq) = seq_of(turn, one)? else { continue };
        match settle(turn, seq, one)? {
            Some((state, started_at)) => {
                if one.verdict.outcome != OutcomeCode::HandedBack {
                    write_down(turn, seq, started_at, one)?;
                }
                settled.push(Settled { id: one.id, state });
            }
            None => tell_late_truth(turn, seq, one)?,
        }
    }
    Ok(settled)
}

fn seq_of(turn: &Turn<'_>, one: &Finished) -> Result<Option<i64>, StoreError> {
    turn.db
        .prepare_cached("SELECT seq FROM message WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([one.id.0.as_bytes()], |row| row.get(0)).optional())
        .map_err(error::of)
}

/// The state that follows, with all earlier attempts considered, and when the attempt began. `None`: the delivery is in
/// other hands. `failed`, `cancelled` and `expired` after an ambiguous attempt are unknown; a late yes is taken while
/// nobody has a newer token.
fn settle(turn: &Turn<'_>, seq: i64, one: &Finished) -> Result<Option<(DeliveryState, i64)>, StoreError> {
    let verdict = &one.verdict;
    let wake_at = (verdict.state == DeliveryState::Waiting)
        .then(|| turn.now + as_millis(verdict.wait.unwrap_or_default()));
    let rows = turn.execute(
        "UPDATE delivery
            SET state       = CASE WHEN ?3 IN (4, 6, 7) AND (maybe_sent OR ?5) THEN 5 ELSE ?3 END,
                wake_at     = ?4,
                attempts    = attempts - ?6,
                maybe_sent  = maybe_sent OR ?5,
                provider_id = coalesce(?7, provider_id)
          WHERE seq = ?1 AND token = ?2 AND (state = 2 OR (state = 5 AND ?3 = 3))",
        (
            seq,
            one.token.0,
            verdict.state.code(),
            wake_at,
            verdict.ambiguous(),
            verdict.outcome == OutcomeCode::HandedBack,
            verdict.provider_id.as_deref(),
        ),
    )?;
    if rows == 0 {
        return Ok(None);
    }
    let (state, started_at): (i16, Option<i64>) = turn
        .db
        .prepare_cached("SELECT state, started_at FROM delivery WHERE seq = ?1")
        .and_then(|mut statement| statement.query_row([seq], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(error::of)?;
    let state =
        DeliveryState::from_code(state).ok_or_else(|| unreadable(format_args!("delivery state {state}")))?;
    Ok(Some((state, started_at.unwrap_or(turn.now))))
}

/// An attempt that was thought lapsed and has reported after all is replaced by what it reports.
fn write_down(turn: &Turn<'_>, seq: i64, started_at: i64, one: &Finished) -> Result<(), StoreError> {
    turn.execute(
        "INSERT INTO attempt (message, token, started_at, ended_at, outcome, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (message, token) DO UPDATE SET ended_at = ?4, outcome = ?5, detail = ?6 WHERE outcome = 6",
        (
            seq,
            one.token.0,
            started_at,
            turn.now,
            one.verdict.outcome.code(),
            one.verdict.detail.as_deref(),
        ),
    )?;
    Ok(())
}

fn tell_late_truth(turn: &Turn<'_>, seq: i64, one: &Finished) -> Result<(), StoreError> {
    turn.execute(
        "UPDATE attempt SET ended_at = ?3, outcome = ?4, detail = ?5 WHERE message = ?1 AND token = ?2 AND outcome = 6",
        (seq, one.token.0, turn.now, one.verdict.outcome.code(), one.verdict.detail.as_deref()),
    )?;
    Ok(())
}
