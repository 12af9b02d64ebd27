//! Deliveries: taken, renewed and finished in batches, by lease token.

use std::time::Duration;

use samekey_core::delivery::{AmbiguityPolicy, DeliveryState};
use samekey_core::derived::Identity;
use samekey_core::lease::Lease;
use samekey_core::message::{
    Accepted, ChannelKind, Finished, MessageId, MessageView, NewMessage, Settled, Take, Taken,
};
use samekey_core::store::{Backlog, Messages, SweepCursor, Swept};
use samekey_core::tenant::ProjectId;
use samekey_core::{FencingToken, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::Postgres;
use crate::columns::{bytes, column, count, hash, seconds, unix_ms};
use crate::driver::Durability;
use crate::error::unreadable;

impl Messages for Postgres {
    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, StoreError> {
        self.accept_all(&messages).await
    }

    async fn take(&self, take: Take) -> Result<Vec<Taken>, StoreError> {
        let slots = i64::try_from(take.slots).unwrap_or(i64::MAX);
        let hold = take.ambiguity == AmbiguityPolicy::AtMostOnce;
        let lease_s = take.lease.length().as_secs_f64();
        let rows = self
            .connections
            .write(Durability::Durable, &self.sql.take, &[&take.channel.code(), &slots, &lease_s, &hold])
            .await?;
        rows.iter().map(taken).collect()
    }

    async fn renew_deliveries(
        &self,
        held: &[(MessageId, FencingToken)],
        lease: Lease,
    ) -> Result<Vec<MessageId>, StoreError> {
        let (ids, tokens): (Vec<Uuid>, Vec<i64>) = held.iter().map(|(id, token)| (id.0, token.0)).unzip();
        let lease_s = lease.length().as_secs_f64();
        let rows = self
            .connections
            .write(Durability::Relaxed, &self.sql.renew_deliveries, &[&ids, &tokens, &lease_s])
            .await?;
        rows.iter().map(|row| column(row, "id").map(MessageId)).collect()
    }

    async fn finish(&self, finished: &[Finished]) -> Result<Vec<Settled>, StoreError> {
        let ids: Vec<Uuid> = finished.iter().map(|one| one.id.0).collect();
        let tokens: Vec<i64> = finished.iter().map(|one| one.token.0).collect();
        let states: Vec<i16> = finished.iter().map(|one| one.verdict.state.code()).collect();
        let waits: Vec<Option<f64>> =
            finished.iter().map(|one| one.verdict.wait.map(|wait| wait.as_secs_f64())).collect();
        let outcomes: Vec<i16> = finished.iter().map(|one| one.verdict.outcome.code()).collect();
        let provider_ids: Vec<Option<&str>> =
            finished.iter().map(|one| one.verdict.provider_id.as_deref()).collect();
        let details: Vec<Option<&str>> = finished.iter().map(|one| one.verdict.detail.as_deref()).collect();
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.finish,
                &[&ids, &tokens, &states, &waits, &outcomes, &provider_ids, &details],
            )
            .await?;
        rows.iter().map(settled).collect()
    }

    async fn message(&self, project: ProjectId, id: MessageId) -> Result<Option<MessageView>, StoreError> {
        self.view(project, id).await
    }

    async fn next_due(&self, channel: ChannelKind) -> Result<Option<Duration>, StoreError> {
        let rows = self.connections.read(&self.sql.next_due, &[&channel.code()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        column::<Option<f64>>(row, "wait_s")?.map(|_| seconds(row, "wait_s")).transpose()
    }

    async fn backlog(&self, channel: ChannelKind) -> Result<Backlog, StoreError> {
        let rows = self.connections.read(&self.sql.backlog, &[&channel.code()]).await?;
        let Some(row) = rows.first() else { return Ok(Backlog::default()) };
        let number = |name| column::<i64>(row, name).map(|number| u64::try_from(number).unwrap_or_default());
        Ok(Backlog {
            due: number("due")?,
            sending: number("sending")?,
            oldest_due: seconds(row, "oldest_s")?,
        })
    }

    async fn sweep_keys(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        self.sweep_with(&self.sql.sweep_keys, from, limit).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.connections.read("SELECT 1", &[]).await.map(drop)
    }
}

fn taken(row: &Row) -> Result<Taken, StoreError> {
    Ok(Taken {
        id: MessageId(column(row, "id")?),
        token: FencingToken(column(row, "token")?),
        attempt: count(row, "attempts")?,
        nonce: count(row, "nonce")?,
        maybe_sent: column(row, "maybe_sent")?,
        project: ProjectId(column(row, "project")?),
        created_at: unix_ms(row, "created_at_ms")?,
        age: seconds(row, "age_s")?,
        identity: Identity::from_stored(hash(row, "identity")?),
        sender: column(row, "sender")?,
        payload: bytes(row, "payload")?,
    })
}

fn settled(row: &Row) -> Result<Settled, StoreError> {
    Ok(Settled { id: MessageId(column(row, "id")?), state: delivery_state(row)? })
}

pub(crate) fn delivery_state(row: &Row) -> Result<DeliveryState, StoreError> {
    let code = column(row, "state")?;
    DeliveryState::from_code(code).ok_or_else(|| unreadable(format_args!("delivery state {code}")))
}
