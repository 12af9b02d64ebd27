//! Accept: key and message in one transaction, many requests in one commit.

use samekey_core::StoreError;
use samekey_core::message::{Accepted, KnownKey, MessageId, NewMessage};
use samekey_core::store::RecipeId;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::Postgres;
use crate::columns::{column, fingerprint};
use crate::error::unreadable;
use crate::pool::Durability;

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
                let index = usize::try_from(column::<i32>(&row, "ord")?).map_err(unreadable)?;
                let message = messages.get(index).ok_or_else(|| unreadable("a message that nobody sent"))?;
                answers[index] = self.accepted(message, &row).await?;
            }
            open.retain(|&index| answers[index].is_none());
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

    /// `None`: run again.
    async fn accepted(&self, message: &NewMessage, row: &Row) -> Result<Option<Accepted>, StoreError> {
        if column(row, "fresh")? {
            return Ok(Some(Accepted::Fresh));
        }
        let Some(first) = column::<Option<Uuid>>(row, "first")? else { return Ok(None) };
        if first == message.id.0 {
            return Ok(Some(Accepted::Fresh));
        }
        if column(row, "purgeable")? {
            let key = message.key.as_ref().map(|key| key.key.as_bytes());
            self.connections
                .write(Durability::Durable, &self.sql.purge_key, &[&message.project.0, &key, &first])
                .await?;
            return Ok(None);
        }
        Ok(Some(Accepted::Known(KnownKey {
            first: MessageId(first),
            fingerprint: fingerprint(row)?,
            recipe: RecipeId(column(row, "recipe")?),
            tombstone: column(row, "tombstone")?,
        })))
    }
}
