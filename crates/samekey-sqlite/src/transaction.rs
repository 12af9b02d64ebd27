//! Transactions of `rusqlite` can carry a record too: on the writer's thread, or on a connection of the user's own.
//!
//! A `rusqlite::Transaction` cannot move between threads, so no async function can hold one. Work that is to commit with
//! its record is a closure instead, run where the store writes; or it runs on a thread that may block.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rusqlite::Transaction;
use samekey_core::store::{ClaimRequest, Claimed, Held, Write};
use samekey_core::{Answer, StoreError};
use tokio::sync::oneshot;

use crate::claim::claim;
use crate::complete::complete;
use crate::writer::{Turn, read_anchor};
use crate::{Sqlite, clock, error};

/// Why work was rolled back by itself.
enum Refusal<E> {
    /// It said no.
    Error(E),
    /// It panicked.
    Panic(Box<dyn Any + Send>),
}

impl Write for Sqlite {
    type Transaction<'t> = Transaction<'t>;

    /// Runs `work` on the writer's thread and completes the record in the same commit, which it shares with whatever else
    /// waits to be written.
    ///
    /// Everybody else's writes wait meanwhile: do no more in it than your statements, leave the transaction open, and call
    /// nothing that asks this store.
    ///
    /// # Errors
    /// The outer one is the store's: [`StoreError::ClaimLost`] and every other one mean that nothing was written. The inner
    /// one is the work's own: what it had written is rolled back, and the record is as it was.
    ///
    /// # Guarantees
    /// Effect, state and answer are on disk together when this returns, or none of them is. A crash inside leaves the
    /// record in progress; the next attempt claims it when the lease is over.
    ///
    /// # Panics
    /// Where the work does; what it had written is rolled back.
    async fn write<T, E, W>(&self, held: Option<&Held>, work: W) -> Result<Result<T, E>, StoreError>
    where
        T: Send + 'static,
        E: Send + 'static,
        W: FnOnce(&Transaction<'_>) -> Result<(Answer, T), E> + Send + 'static,
    {
        let held = held.cloned();
        let (tell, mut told) = oneshot::channel();
        let written = self.writer.run(move |turn| {
            let refusal = match catch_unwind(AssertUnwindSafe(|| work(turn.db))) {
                Ok(Ok((answer, value))) => {
                    return held.map_or(Ok(()), |held| complete(turn, &held, &answer)).map(|()| value);
                }
                Ok(Err(error)) => Refusal::Error(error),
                Err(panic) => Refusal::Panic(panic),
            };
            // Whoever waited may be gone; the rollback stands all the same.
            let _ = tell.send(refusal);
            Err(StoreError::Refused { source: "the work refused itself".into() })
        });
        match (written.await, told.try_recv()) {
            (Ok(value), _) => Ok(Ok(value)),
            (Err(_), Ok(Refusal::Error(error))) => Ok(Err(error)),
            (Err(_), Ok(Refusal::Panic(panic))) => resume_unwind(panic),
            (Err(error), Err(_)) => Err(error),
        }
    }
}

/// For a thread that may block.
impl Sqlite {
    /// Claims in a transaction of yours on the same file. Begin it as `IMMEDIATE`, so that it
    /// waits for its turn instead of failing at its first write.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where the connection's own time-out was too short.
    pub fn claim_blocking(&self, tx: &Transaction<'_>, wish: &ClaimRequest) -> Result<Claimed, StoreError> {
        claim(&turn(tx)?, wish)
    }

    /// Completes the record as the last thing before the commit of a transaction of yours on the same file and commits. Open the connection with `synchronous = FULL`, or a power cut may take both back.
    ///
    /// # Errors
    /// All of them mean that the transaction was rolled back, effect included. [`StoreError::ClaimLost`]: do not repeat.
    pub fn complete_blocking(
        &self,
        tx: Transaction<'_>,
        held: &Held,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        match turn(&tx).and_then(|turn| complete(&turn, held, answer)) {
            Ok(()) => tx.commit().map_err(error::of),
            Err(error) => {
                // Said, since the user may have set another behaviour for a transaction that is dropped.
                let _ = tx.rollback();
                Err(error)
            }
        }
    }
}

fn turn<'t>(tx: &'t Transaction<'_>) -> Result<Turn<'t>, StoreError> {
    Ok(Turn { db: tx, now: read_anchor(tx)?.now(&clock::read()) })
}
