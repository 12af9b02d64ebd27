//! One message with its attempts, as people ask for it.

use samekey_core::delivery::{DeliveryState, OutcomeCode};
use samekey_core::message::{AttemptView, ChannelKind, MessageId, MessageView};
use samekey_core::tenant::ProjectId;
use samekey_core::{FencingToken, Key, StoreError, UnixMs};
use tokio_postgres::Row;

use crate::Postgres;
use crate::columns::{bytes, column, count, unix_ms};
use crate::deliveries::delivery_state;
use crate::error::unreadable;

impl Postgres {
    pub(crate) async fn view(
        &self,
        project: ProjectId,
        id: MessageId,
    ) -> Result<Option<MessageView>, StoreError> {
        let rows = self.connections.read(&self.sql.message, &[&project.0, &id.0]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let rows = self.connections.read(&self.sql.attempts, &[&id.0]).await?;
        let mut attempts: Vec<AttemptView> = rows.iter().map(ended).collect::<Result<_, _>>()?;
        let state = delivery_state(row)?;
        let running = running(row)?;
        // The attempts were read a moment later: it may have ended in between, and then it is among them.
        if state == DeliveryState::Sending && attempts.iter().all(|ended| ended.token != running.token) {
            attempts.push(running);
        }
        let channel: i16 = column(row, "channel")?;
        Ok(Some(MessageView {
            id,
            channel: ChannelKind::from_code(channel)
                .ok_or_else(|| unreadable(format_args!("channel {channel}")))?,
            key: column::<Option<&[u8]>>(row, "key")?.map(Key::from_bytes).transpose().map_err(unreadable)?,
            created_at: unix_ms(row, "created_at_ms")?,
            state,
            wake_at: column::<Option<i64>>(row, "wake_at_ms")?.map(UnixMs),
            expires_at: column::<Option<i64>>(row, "expires_at_ms")?.map(UnixMs),
            attempts_begun: count(row, "attempts")?,
            maybe_sent: column(row, "maybe_sent")?,
            provider_id: column(row, "provider_id")?,
            sender: column(row, "sender")?,
            payload: bytes(row, "payload")?,
            attempts,
        }))
    }
}

fn running(row: &Row) -> Result<AttemptView, StoreError> {
    Ok(AttemptView {
        token: FencingToken(column(row, "token")?),
        started_at: UnixMs(column::<Option<i64>>(row, "started_at_ms")?.unwrap_or_default()),
        ended_at: None,
        outcome: None,
        detail: None,
    })
}

fn ended(row: &Row) -> Result<AttemptView, StoreError> {
    let outcome: i16 = column(row, "outcome")?;
    Ok(AttemptView {
        token: FencingToken(column(row, "token")?),
        started_at: unix_ms(row, "started_at_ms")?,
        ended_at: Some(unix_ms(row, "ended_at_ms")?),
        outcome: Some(
            OutcomeCode::from_code(outcome).ok_or_else(|| unreadable(format_args!("outcome {outcome}")))?,
        ),
        detail: column(row, "detail")?,
    })
}
