//! Taking due deliveries in hand.

use samekey_core::delivery::{AmbiguityPolicy, DeliveryState, OutcomeCode};
use samekey_core::derived::Identity;
use samekey_core::message::{MessageId, Take, Taken};
use samekey_core::tenant::ProjectId;
use samekey_core::{FencingToken, StoreError, UnixMs};

use crate::columns::{as_millis, bytes, column, millis, uuid};
use crate::error::{self, unreadable};
use crate::writer::Turn;

/// A delivery that somebody must look at.
struct Due {
    seq: i64,
    state: DeliveryState,
    token: i64,
    started_at: Option<i64>,
    expires_at: Option<i64>,
    taken: Taken,
}

impl Due {
    /// A lapsed lease may have been sent; under at-most-once that ends it, as does its time.
    fn becomes(&self, now: i64, ambiguity: AmbiguityPolicy) -> DeliveryState {
        let held = self.lapsed() && ambiguity == AmbiguityPolicy::AtMostOnce;
        let too_old = self.expires_at.is_some_and(|at| at <= now);
        match (held, too_old, self.doubtful()) {
            (true, _, _) | (false, true, true) => DeliveryState::Unknown,
            (false, true, false) => DeliveryState::Expired,
            (false, false, _) => DeliveryState::Sending,
        }
    }

    fn lapsed(&self) -> bool {
        self.state == DeliveryState::Sending
    }

    fn doubtful(&self) -> bool {
        self.taken.maybe_sent || self.lapsed()
    }
}

pub(super) fn take(turn: &Turn<'_>, take: Take) -> Result<Vec<Taken>, StoreError> {
    let found = due(turn, take)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut tokens = turn.tokens(found.len())?..;
    let mut taken = Vec::with_capacity(found.len());
    for mut due in found {
        if due.lapsed() {
            write_down_lapsed(turn, &due)?;
        }
        let doubtful = due.doubtful();
        let state = due.becomes(turn.now, take.ambiguity);
        if state != DeliveryState::Sending {
            // The token stays: a stalled worker can still bring the truth.
            turn.execute(
                "UPDATE delivery SET state = ?2, wake_at = NULL, maybe_sent = ?3 WHERE seq = ?1",
                (due.seq, state.code(), doubtful),
            )?;
            continue;
        }
        let token = tokens.next().ok_or_else(|| unreadable("the tokens have run out"))?;
        turn.execute(
            "UPDATE delivery SET state = 2, wake_at = ?2, started_at = ?3, attempts = attempts + 1, token = ?4, maybe_sent = ?5
              WHERE seq = ?1",
            (due.seq, turn.now + as_millis(take.lease.length()), turn.now, token, doubtful),
        )?;
        due.taken.token = FencingToken(token);
        due.taken.maybe_sent = doubtful;
        taken.push(due.taken);
    }
    Ok(taken)
}

fn due(turn: &Turn<'_>, take: Take) -> Result<Vec<Due>, StoreError> {
    let mut statement = turn
        .db
        .prepare_cached(
            "SELECT d.seq, d.state, d.token, d.started_at, d.expires_at, d.attempts, d.nonce, d.maybe_sent, d.due_at,
                    m.id, m.project, m.created_at, m.identity, m.sender, m.payload
               FROM (SELECT * FROM delivery WHERE channel = ?1 AND wake_at <= ?2 ORDER BY wake_at LIMIT ?3) d
               JOIN message m ON m.seq = d.seq",
        )
        .map_err(error::of)?;
    let slots = i64::try_from(take.slots).unwrap_or(i64::MAX);
    let mut rows = statement.query((take.channel.code(), turn.now, slots)).map_err(error::of)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(error::of)? {
        found.push(read(row, turn.now)?);
    }
    Ok(found)
}

fn read(row: &rusqlite::Row<'_>, now: i64) -> Result<Due, StoreError> {
    let state: i16 = column(row, "state")?;
    Ok(Due {
        seq: column(row, "seq")?,
        state: DeliveryState::from_code(state)
            .ok_or_else(|| unreadable(format_args!("delivery state {state}")))?,
        token: column(row, "token")?,
        started_at: column(row, "started_at")?,
        expires_at: column(row, "expires_at")?,
        taken: Taken {
            id: MessageId(uuid(row, "id")?),
            token: FencingToken(0),
            attempt: column::<u32>(row, "attempts")? + 1,
            nonce: column(row, "nonce")?,
            maybe_sent: column(row, "maybe_sent")?,
            project: ProjectId(column(row, "project")?),
            created_at: UnixMs(column(row, "created_at")?),
            age: millis(now - column::<i64>(row, "due_at")?),
            identity: Identity::from_stored(column(row, "identity")?),
            sender: column(row, "sender")?,
            payload: bytes(row, "payload")?,
        },
    })
}

fn write_down_lapsed(turn: &Turn<'_>, due: &Due) -> Result<(), StoreError> {
    turn.execute(
        "INSERT INTO attempt (message, token, started_at, ended_at, outcome) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (message, token) DO NOTHING",
        (due.seq, due.token, due.started_at.unwrap_or(turn.now), turn.now, OutcomeCode::Lapsed.code()),
    )?;
    Ok(())
}
