//! Deliveries: taken, renewed and finished in batches, by lease token.

mod finish;
mod take;

use std::time::Duration;

use samekey_core::lease::Lease;
use samekey_core::message::{
    Accepted, ChannelKind, Finished, MessageId, MessageView, NewMessage, Settled, Take, Taken,
};
use samekey_core::store::{Backlog, Messages, SweepCursor, Swept};
use samekey_core::tenant::ProjectId;
use samekey_core::{FencingToken, StoreError};

use crate::columns::{as_millis, millis};
use crate::{Sqlite, accept, error, sweep};

impl Messages for Sqlite {
    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, StoreError> {
        self.writer
            .run(move |turn| messages.iter().map(|message| accept::accept(turn, message)).collect())
            .await
    }

    async fn take(&self, take: Take) -> Result<Vec<Taken>, StoreError> {
        self.writer.run(move |turn| take::take(turn, take)).await
    }

    async fn renew_deliveries(
        &self,
        held: &[(MessageId, FencingToken)],
        lease: Lease,
    ) -> Result<Vec<MessageId>, StoreError> {
        let held = held.to_vec();
        self.writer
            .run(move |turn| {
                let until = turn.now + as_millis(lease.length());
                let mut renewed = Vec::new();
                for (id, token) in held {
                    let rows = turn.execute(
                        "UPDATE delivery SET wake_at = ?3
                          WHERE seq = (SELECT seq FROM message WHERE id = ?1) AND token = ?2 AND state = 2",
                        (id.0.as_bytes(), token.0, until),
                    )?;
                    renewed.extend((rows > 0).then_some(id));
                }
                Ok(renewed)
            })
            .await
    }

    async fn finish(&self, finished: &[Finished]) -> Result<Vec<Settled>, StoreError> {
        let finished = finished.to_vec();
        self.writer.run(move |turn| finish::finish(turn, &finished)).await
    }

    async fn message(&self, project: ProjectId, id: MessageId) -> Result<Option<MessageView>, StoreError> {
        self.view(project, id).await
    }

    async fn next_due(&self, channel: ChannelKind) -> Result<Option<Duration>, StoreError> {
        self.readers
            .run(move |look| {
                let next: Option<i64> = look
                    .db
                    .prepare_cached(
                        "SELECT min(wake_at) FROM delivery WHERE channel = ?1 AND wake_at IS NOT NULL",
                    )
                    .and_then(|mut statement| statement.query_row([channel.code()], |row| row.get(0)))
                    .map_err(error::of)?;
                Ok(next.map(|at| millis(at - look.now)))
            })
            .await
    }

    /// Bounded: past 100,000 rows the count says "at least", which is all that an alarm needs.
    async fn backlog(&self, channel: ChannelKind) -> Result<Backlog, StoreError> {
        self.readers
            .run(move |look| {
                let sql = "SELECT count(*) FILTER (WHERE wake_at <= ?2 AND state = 1), count(*) FILTER (WHERE state = 2),
                                  min(wake_at) FILTER (WHERE wake_at <= ?2 AND state = 1)
                             FROM (SELECT state, wake_at FROM delivery WHERE channel = ?1 AND wake_at IS NOT NULL
                                    ORDER BY wake_at LIMIT 100000)";
                let (due, sending, oldest): (i64, i64, Option<i64>) = look
                    .db
                    .prepare_cached(sql)
                    .and_then(|mut statement| {
                        statement.query_row((channel.code(), look.now), |row| {
                            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                        })
                    })
                    .map_err(error::of)?;
                let oldest_due = oldest.map_or(Duration::ZERO, |at| millis(look.now - at));
                Ok(Backlog { due: due.unsigned_abs(), sending: sending.unsigned_abs(), oldest_due })
            })
            .await
    }

    async fn sweep_keys(&self, from: SweepCursor, limit: usize) -> Result<Swept, StoreError> {
        self.sweep_with(sweep::Kept::MessageKeys, from, limit).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.readers.run(|_| Ok(())).await
    }
}
