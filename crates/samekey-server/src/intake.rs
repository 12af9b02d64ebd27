//! Intake: many requests, one commit.
//!
//! A commit that reaches the disk costs the same for one message as for two hundred. So requests do not commit; they hand
//! their message in and wait, and whatever has gathered while the last commit was under way goes into the next one. No
//! timer is involved: an idle service commits a single message at once, a busy one commits hundreds together.
//!
//! The alternative, a transaction per request, is what most `idempotency_keys` tables do; `docs/performance.md` compares.

use std::sync::Arc;
use std::time::Duration;

use samekey_core::message::{Accepted, NewMessage};
use samekey_core::store::Messages;
use samekey_core::{Effect, StoreError};
use tokio::sync::{Mutex, Notify, mpsc, oneshot};

use crate::store::Store;

/// Messages in one commit: enough to make the commit's cost vanish, few enough to hold locks for milliseconds.
const MAX_BATCH: usize = 256;
/// See [`Intake::open`].
const LANES: usize = 2;
/// Messages that may wait. More would only wait longer than their callers do.
const MAX_WAITING: usize = 16_384;
/// How often a batch is handed in again whose commit was not answered.
const REPEATS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(50);

/// Why a message was not accepted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IntakeError {
    /// Too many wait already. Nothing was stored.
    #[error("the service has more work than it can take; nothing was stored")]
    Full,
    /// The store did not take it. By its effect, nothing was stored or nobody can tell.
    #[error("{0}")]
    Store(Arc<StoreError>),
}

struct Waiting {
    message: NewMessage,
    answer: oneshot::Sender<Result<Accepted, IntakeError>>,
}

/// Where messages are handed in. Clones share one queue.
#[derive(Clone, Debug)]
pub struct Intake {
    queue: mpsc::Sender<Waiting>,
}

impl Intake {
    /// Opens the intake in front of a store; `due` is notified when something was accepted.
    ///
    /// Two lanes: one gathers while the other commits. More of them make smaller groups, and a commit costs the same for
    /// a small group as for a large one.
    #[must_use]
    pub fn open(store: &Store, due: &Arc<Notify>) -> Self {
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..LANES {
            tokio::spawn(lane(store.clone(), waiting.clone(), due.clone()));
        }
        Self { queue }
    }

    /// Accepts one message.
    ///
    /// # Errors
    /// [`IntakeError`].
    ///
    /// # Guarantees
    /// When it answers, key and message are on disk. A crash before that leaves both or neither, and a retry under the
    /// same key finds out which.
    ///
    /// # Cancel safety
    /// A dropped future withdraws nothing: a message that was handed in is stored all the same.
    pub async fn accept(&self, message: NewMessage) -> Result<Accepted, IntakeError> {
        let (answer, answered) = oneshot::channel();
        self.queue.try_send(Waiting { message, answer }).map_err(|_| IntakeError::Full)?;
        answered.await.unwrap_or(Err(IntakeError::Full))
    }
}

async fn lane(store: Store, waiting: Arc<Mutex<mpsc::Receiver<Waiting>>>, due: Arc<Notify>) {
    loop {
        let mut batch = Vec::new();
        // Whoever holds the lock gathers; the others are committing.
        if waiting.lock().await.recv_many(&mut batch, MAX_BATCH).await == 0 {
            return;
        }
        let (messages, answers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.message, waiting.answer)).unzip();
        let results = accept_together(&store, messages).await;
        if results.iter().any(|result| matches!(result, Ok(Accepted::Fresh))) {
            due.notify_one();
        }
        for (answer, result) in answers.into_iter().zip(results) {
            // A caller that has hung up finds its message by its key.
            let _ = answer.send(result);
        }
    }
}

/// One commit for all; where it is refused, one for each, so that one bad message does not take its neighbours down.
async fn accept_together(store: &Store, messages: Vec<NewMessage>) -> Vec<Result<Accepted, IntakeError>> {
    match accept_repeatedly(store, &messages).await {
        Ok(accepted) => accepted.into_iter().map(Ok).collect(),
        Err(StoreError::Refused { .. } | StoreError::Busy { .. }) if messages.len() > 1 => {
            let mut results = Vec::with_capacity(messages.len());
            for message in messages {
                let accepted = accept_repeatedly(store, &[message]).await;
                results
                    .push(accepted.map(|mut one| one.remove(0)).map_err(|e| IntakeError::Store(Arc::new(e))));
            }
            results
        }
        Err(error) => {
            tracing::warn!(%error, messages = messages.len(), "not accepted");
            let error = Arc::new(error);
            messages.iter().map(|_| Err(IntakeError::Store(error.clone()))).collect()
        }
    }
}

/// A commit without an answer is no failure yet: the same messages, by their ids, are handed in again and recognised.
async fn accept_repeatedly(store: &Store, messages: &[NewMessage]) -> Result<Vec<Accepted>, StoreError> {
    let mut repeats = 0;
    loop {
        match store.accept(messages.to_vec()).await {
            Err(error) if error.effect() == Effect::Unknown && repeats < REPEATS => {
                repeats += 1;
                tracing::warn!(%error, "the answer to a commit was lost; asking again");
                tokio::time::sleep(PAUSE * repeats).await;
            }
            result => return result,
        }
    }
}
