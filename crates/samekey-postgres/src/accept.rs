//! Accept: key and message in one transaction, many requests in one commit.

use samekey_core::StoreError;
use samekey_core::message::{Accepted, KnownKey, MessageId, NewMessage};
use samekey_core::store::RecipeId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::Postgres;
use crate::columns::{column, fingerprint};
use crate::driver::Durability;
use crate::error::unreadable;

/// See `claim.rs`: each turn needs a new coincidence.
const TURNS: usize = 8;

/// The messages of one statement, column by column.
#[derive(Default)]
struct Messages<'a> {
    ord: Vec<i32>,
    id: Vec<Uuid>,
    project: Vec<i64>,
    channel: Vec<i16>,
    key: Vec<Option<&'a [u8]>>,
    fingerprint: Vec<Option<&'a [u8]>>,
    recipe: Vec<Option<i16>>,
    retention_s: Vec<Option<f64>>,
    tombstone_s: Vec<Option<f64>>,
    identity: Vec<&'a [u8]>,
    sender: Vec<Option<&'a str>>,
    payload: Vec<&'a [u8]>,
    send_at_ms: Vec<Option<i64>>,
    expires_at_ms: Vec<Option<i64>>,
}

impl<'a> Messages<'a> {
    fn of(messages: &'a [NewMessage], indices: &[usize]) -> Self {
        let mut columns = Self::default();
        for &index in indices {
            let message = &messages[index];
            let key = message.key.as_ref();
            columns.ord.push(i32::try_from(index).expect("a batch has fewer than 2^31 messages"));
            columns.id.push(message.id.0);
            columns.project.push(message.project.0);
            columns.channel.push(message.channel.code());
            columns.key.push(key.map(|key| key.key.as_bytes()));
            columns.fingerprint.push(key.map(|key| key.fingerprint.as_bytes().as_slice()));
            columns.recipe.push(key.map(|key| key.recipe.0));
            columns.retention_s.push(key.map(|key| key.retention.as_secs_f64()));
            columns.tombstone_s.push(key.map(|key| key.tombstone.as_secs_f64()));
            columns.identity.push(message.identity.as_bytes());
            columns.sender.push(message.sender.as_deref());
            columns.payload.push(&message.payload);
            columns.send_at_ms.push(message.send_at.map(|at| at.0));
            columns.expires_at_ms.push(message.expires_at.map(|at| at.0));
        }
        columns
    }
}

impl Postgres {
    pub(crate) async fn accept_all(&self, messages: &[NewMessage]) -> Result<Vec<Accepted>, StoreError> {
        let mut answers: Vec<Option<Accepted>> = vec![None; messages.len()];
        let mut open: Vec<usize> = (0..messages.len()).collect();
        for _ in 0..TURNS {
            for row in self.accept_some(messages, &open).await? {
                *place(&mut answers, &row)? = Some(Accepted::Fresh);
            }
            open.retain(|&index| answers[index].is_none());
            if !open.is_empty() {
                self.look_up(messages, &open, &mut answers).await?;
                open.retain(|&index| answers[index].is_none());
            }
            if open.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
        }
        Err(StoreError::Busy { source: "the key came and went while it was taken".into() })
    }

    /// One statement for these messages; halved where a lock is held for too long, down to one that is alone to wait.
    async fn accept_some(&self, messages: &[NewMessage], indices: &[usize]) -> Result<Vec<Row>, StoreError> {
        let columns = Messages::of(messages, indices);
        let rows = self
            .connections
            .write(
                Durability::Durable,
                &self.sql.accept,
                &[
                    &columns.ord,
                    &columns.id,
                    &columns.project,
                    &columns.channel,
                    &columns.key,
                    &columns.fingerprint,
                    &columns.recipe,
                    &columns.retention_s,
                    &columns.tombstone_s,
                    &columns.identity,
                    &columns.sender,
                    &columns.payload,
                    &columns.send_at_ms,
                    &columns.expires_at_ms,
                ],
            )
            .await;
        match rows {
            Err(StoreError::Busy { .. }) if indices.len() > 1 => {
                let (left, right) = indices.split_at(indices.len() / 2);
                let mut rows = Box::pin(self.accept_some(messages, left)).await?;
                rows.extend(Box::pin(self.accept_some(messages, right)).await?);
                Ok(rows)
            }
            rows => rows,
        }
    }

    /// What stands behind the keys of messages that were not fresh. Where nothing does any more, no answer: run again.
    async fn look_up(
        &self,
        messages: &[NewMessage],
        indices: &[usize],
        answers: &mut [Option<Accepted>],
    ) -> Result<(), StoreError> {
        let columns = Messages::of(messages, indices);
        let values: [&(dyn ToSql + Sync); 3] = [&columns.ord, &columns.project, &columns.key];
        for row in self.connections.read(&self.sql.known_keys, &values).await? {
            let answer = place(answers, &row)?;
            let known = KnownKey {
                first: MessageId(column(&row, "first")?),
                fingerprint: fingerprint(&row)?,
                recipe: RecipeId(column(&row, "recipe")?),
                tombstone: column(&row, "tombstone")?,
            };
            let message = &messages[usize::try_from(column::<i32>(&row, "ord")?).map_err(unreadable)?];
            if known.first == message.id {
                *answer = Some(Accepted::Fresh);
            } else if column(&row, "purgeable")? {
                let key = message.key.as_ref().map(|key| key.key.as_bytes());
                let values: [&(dyn ToSql + Sync); 3] = [&message.project.0, &key, &known.first.0];
                self.connections.write(Durability::Durable, &self.sql.purge_key, &values).await?;
            } else {
                *answer = Some(Accepted::Known(known));
            }
        }
        Ok(())
    }
}

fn place<'a>(answers: &'a mut [Option<Accepted>], row: &Row) -> Result<&'a mut Option<Accepted>, StoreError> {
    let index = usize::try_from(column::<i32>(row, "ord")?).map_err(unreadable)?;
    answers.get_mut(index).ok_or_else(|| unreadable("a message that nobody sent"))
}
