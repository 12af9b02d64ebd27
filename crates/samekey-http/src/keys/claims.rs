//! Claims of many requests in one statement.
//!
//! A claim is a commit, and a commit costs the same for one as for a hundred. So a request hands its wish in and waits;
//! whatever has gathered while the last statement was under way goes into the next one. No timer is involved: an idle
//! process claims at once. There is no task that lives on: a lane is started by the wish that finds none free, and ends when
//! nothing waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samekey_core::store::{ClaimRequest, Claimed, Records};
use samekey_core::{Effect, StoreError};
use tokio::sync::oneshot;

use super::Engine;

/// Wishes in one statement.
const MAX_BATCH: usize = 256;
/// Statements under way at once: while one commits, the next one gathers. More of them make smaller groups.
const LANES: usize = 2;
/// Wishes that may wait.
const MAX_WAITING: usize = 16_384;
/// How often a claim is asked again whose answer was lost.
const REPEATS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(50);

type Answer = Result<Claimed, Arc<StoreError>>;

struct Waiting {
    wish: ClaimRequest,
    answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    lanes: usize,
}

#[derive(Default)]
pub(crate) struct Claims {
    queue: Mutex<Queue>,
}

impl Claims {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next group; nothing: the lane ends.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut queue = self.lock();
        let count = queue.waiting.len().min(MAX_BATCH);
        if count == 0 {
            queue.lanes -= 1;
            return None;
        }
        Some(queue.waiting.drain(..count).collect())
    }
}

impl<S: Records> Engine<S> {
    /// Claims, together with whoever else wants to.
    ///
    /// # Guarantees
    /// As [`Records::claim`]. An answer that was lost is asked for again with the same claim id, so that a claim that was
    /// won is recognised; after a crash in here the record is in progress until its lease runs out, and nothing has run.
    pub(crate) async fn claim(self: &Arc<Self>, wish: ClaimRequest) -> Answer {
        let (answer, answered) = oneshot::channel();
        let starts_lane = {
            let mut queue = self.claims.lock();
            if queue.waiting.len() >= MAX_WAITING {
                let source = "more claims wait than the store can take".into();
                return Err(Arc::new(StoreError::Away { effect: Effect::NotApplied, source }));
            }
            queue.waiting.push_back(Waiting { wish, answer });
            let starts = queue.lanes < LANES;
            queue.lanes += usize::from(starts);
            starts
        };
        if starts_lane {
            tokio::spawn(lane(self.clone()));
        }
        let gone =
            || StoreError::Away { effect: Effect::Unknown, source: "the runtime is shutting down".into() };
        answered.await.unwrap_or_else(|_| Err(Arc::new(gone())))
    }
}

async fn lane<S: Records>(engine: Arc<Engine<S>>) {
    while let Some(group) = engine.claims.next() {
        let (wishes, answers): (Vec<_>, Vec<_>) =
            group.into_iter().map(|waiting| (waiting.wish, waiting.answer)).unzip();
        for (answer, claimed) in answers.into_iter().zip(claim_together(&engine.store, wishes).await) {
            // Nobody waits: an attempt's task does not go away before its claim is answered.
            let _ = answer.send(claimed);
        }
    }
}

/// One key whose other transaction takes long must not hold up its neighbours: then each is asked for alone.
async fn claim_together<S: Records>(store: &S, wishes: Vec<ClaimRequest>) -> Vec<Answer> {
    match claim_repeatedly(store, &wishes).await {
        Ok(claimed) => claimed.into_iter().map(Ok).collect(),
        Err(StoreError::Busy { .. }) if wishes.len() > 1 => {
            let mut answers = Vec::with_capacity(wishes.len());
            for wish in wishes {
                let claimed = claim_repeatedly(store, &[wish]).await;
                answers.push(claimed.map(|mut one| one.remove(0)).map_err(Arc::new));
            }
            answers
        }
        Err(error) => {
            let error = Arc::new(error);
            wishes.iter().map(|_| Err(error.clone())).collect()
        }
    }
}

async fn claim_repeatedly<S: Records>(
    store: &S,
    wishes: &[ClaimRequest],
) -> Result<Vec<Claimed>, StoreError> {
    let mut repeats = 0;
    loop {
        match store.claim(wishes.to_vec()).await {
            Err(error) if error.effect() == Effect::Unknown && repeats < REPEATS => {
                repeats += 1;
                tracing::warn!(%error, "the answer to a claim was lost; asking again");
                tokio::time::sleep(PAUSE * repeats).await;
            }
            result => return result,
        }
    }
}
