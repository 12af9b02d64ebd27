//! One message with its attempts, as people ask for it.

use rusqlite::Row;
use samekey_core::delivery::{DeliveryState, OutcomeCode};
use samekey_core::message::{AttemptView, ChannelKind, MessageId, MessageView};
use samekey_core::tenant::ProjectId;
use samekey_core::{FencingToken, Key, StoreError, UnixMs};

use crate::Sqlite;
use crate::columns::{bytes, column};
use crate::error::{self, unreadable};
use crate::readers::Look;

impl Sqlite {
    pub(crate) async fn view(
        &self,
        project: ProjectId,
        id: MessageId,
    ) -> Result<Option<MessageView>, StoreError> {
        self.readers.run(move |look| view(look, project, id)).await
    }
}

fn view(look: &Look<'_>, project: ProjectId, id: MessageId) -> Result<Option<MessageView>, StoreError> {
    let mut statement = look
        .db
        .prepare_cached(
            "SELECT m.seq, m.channel, m.key, m.created_at, m.sender, m.payload, d.state, d.wake_at, d.expires_at, d.attempts,
                    d.maybe_sent, d.provider_id, d.token, d.started_at
               FROM message m JOIN delivery d ON d.seq = m.seq WHERE m.id = ?1 AND m.project = ?2",
        )
        .map_err(error::of)?;
    let mut rows = statement.query((id.0.as_bytes(), project.0)).map_err(error::of)?;
    let Some(row) = rows.next().map_err(error::of)? else { return Ok(None) };
    let mut attempts = ended(look, column(row, "seq")?)?;
    let (state, channel): (i16, i16) = (column(row, "state")?, column(row, "channel")?);
    let state =
        DeliveryState::from_code(state).ok_or_else(|| unreadable(format_args!("delivery state {state}")))?;
    if state == DeliveryState::Sending {
        attempts.push(running(row)?);
    }
    Ok(Some(MessageView {
        id,
        channel: ChannelKind::from_code(channel)
            .ok_or_else(|| unreadable(format_args!("channel {channel}")))?,
        key: column::<Option<Vec<u8>>>(row, "key")?
            .map(|key| Key::from_bytes(&key))
            .transpose()
            .map_err(unreadable)?,
        created_at: UnixMs(column(row, "created_at")?),
        state,
        wake_at: column::<Option<i64>>(row, "wake_at")?.map(UnixMs),
        expires_at: column::<Option<i64>>(row, "expires_at")?.map(UnixMs),
        attempts_begun: column(row, "attempts")?,
        maybe_sent: column(row, "maybe_sent")?,
        provider_id: column(row, "provider_id")?,
        sender: column(row, "sender")?,
        payload: bytes(row, "payload")?,
        attempts,
    }))
}

fn running(row: &Row<'_>) -> Result<AttemptView, StoreError> {
    Ok(AttemptView {
        token: FencingToken(column(row, "token")?),
        started_at: UnixMs(column::<Option<i64>>(row, "started_at")?.unwrap_or_default()),
        ended_at: None,
        outcome: None,
        detail: None,
    })
}

fn ended(look: &Look<'_>, seq: i64) -> Result<Vec<AttemptView>, StoreError> {
    let mut statement = look
        .db
        .prepare_cached("SELECT token, started_at, ended_at, outcome, detail FROM attempt WHERE message = ?1 ORDER BY token")
        .map_err(error::of)?;
    let mut rows = statement.query([seq]).map_err(error::of)?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next().map_err(error::of)? {
        let outcome: i16 = column(row, "outcome")?;
        attempts.push(AttemptView {
            token: FencingToken(column(row, "token")?),
            started_at: UnixMs(column(row, "started_at")?),
            ended_at: Some(UnixMs(column(row, "ended_at")?)),
            outcome: Some(
                OutcomeCode::from_code(outcome)
                    .ok_or_else(|| unreadable(format_args!("outcome {outcome}")))?,
            ),
            detail: column(row, "detail")?,
        });
    }
    Ok(attempts)
}
