//! The dispatcher: due deliveries are taken in hand, attempted, and written down.
//!
//! ```text
//!        take (one statement, as many as there are free slots)          finish (one statement for all that ended)
//! store ───────────────────────────────────────────▶ attempts ───────────────────────────────────────────▶ store
//!                      lease, token, attempt on record      renewed at a third of the lease
//! ```
//!
//! A slot is held from before the take until after the finish is committed. So the number of deliveries that a kill can
//! leave in doubt is bounded by the number of calls that may run at once, and no delivery is in doubt that was not really
//! being called.

mod attempt;
mod finisher;
mod held;

use std::sync::Arc;
use std::time::Duration;

use samekey_core::StoreError;
use samekey_core::delivery::DeliveryPolicy;
use samekey_core::lease::Lease;
use samekey_core::message::{Take, Taken};
use samekey_core::store::Messages;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::Channel;
use crate::store::Store;
use attempt::{Attempt, Ended};
use held::Held;

/// Deliveries in one statement: more would hold row locks for longer than they save.
const MAX_BATCH: usize = 512;
/// How long another process's message may wait unseen. Our own wake us.
const POLL: Duration = Duration::from_millis(500);
/// A due delivery that was not taken is in the hands of another process at this moment; it is not asked for in a spin.
const BREATH: Duration = Duration::from_millis(10);
/// After the store failed.
const PAUSE: Duration = Duration::from_millis(500);
/// After the attempts were told to stop: they are quick to answer.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How a channel's deliveries are worked through.
#[derive(Clone, Debug)]
pub struct DispatchRules {
    /// What follows an attempt.
    pub policy: DeliveryPolicy,
    /// How long a delivery is held without a heartbeat.
    pub lease: Lease,
    /// The longest that one attempt may take; less than [`Lease::stop_after`], so that a worker has always stopped before
    /// somebody else may begin.
    pub limit: Duration,
    /// Attempts that may run at once.
    pub slots: usize,
    /// How long attempts under way may go on once the process was told to stop.
    pub drain: Duration,
}

/// What attempts need while they run.
struct Hand {
    held: Held,
    attempts: TaskTracker,
    /// The process was told to stop: begin nothing.
    stop: CancellationToken,
    /// The drain is over: end what is running.
    hurry: CancellationToken,
    ended: mpsc::UnboundedSender<Ended>,
}

/// Works through one channel.
#[derive(Debug)]
pub struct Dispatcher<C> {
    store: Store,
    channel: Arc<C>,
    rules: Arc<DispatchRules>,
    due: Arc<Notify>,
}

impl<C: Channel> Dispatcher<C> {
    /// A dispatcher that is woken by `due`, and looks by itself every now and then.
    #[must_use]
    pub fn new(store: Store, channel: C, rules: DispatchRules, due: Arc<Notify>) -> Self {
        Self { store, channel: Arc::new(channel), rules: Arc::new(rules), due }
    }

    /// Works until `stop` is cancelled, then finishes or hands back what is in hand.
    ///
    /// # Guarantees
    /// What a crash leaves behind, and what the next attempt does:
    ///
    /// - before a take was committed: nothing;
    /// - after it, whether or not the provider was called: the delivery is `sending` with its attempt on record. When the
    ///   lease is over it counts as ambiguous: tried again under the same outgoing id, or unknown, by policy;
    /// - after the provider answered and before the finish was committed: the same. What the provider said is lost, and
    ///   the row does not pretend otherwise;
    /// - after the finish: nothing is left to do.
    pub async fn run(self, stop: CancellationToken) {
        let (ended, endings) = mpsc::unbounded_channel();
        let hand = Hand {
            held: Held::default(),
            attempts: TaskTracker::new(),
            stop,
            hurry: CancellationToken::new(),
            ended,
        };
        let finisher =
            tokio::spawn(finisher::run(self.store.clone(), self.channel.kind(), hand.held.clone(), endings));
        let renewer = tokio::spawn(held::renew(self.store.clone(), hand.held.clone(), self.rules.lease));

        self.take_until_stopped(&hand).await;

        let Hand { attempts, hurry, ended, .. } = hand;
        drop(ended);
        attempts.close();
        if tokio::time::timeout(self.rules.drain, attempts.wait()).await.is_err() {
            hurry.cancel();
            let _ = tokio::time::timeout(LAST_WORDS, attempts.wait()).await;
        }
        let finished = tokio::time::timeout(LAST_WORDS, finisher).await;
        renewer.abort();
        if finished.is_err() {
            tracing::warn!("the store is away: what was in hand comes back when its lease is over");
        }
    }

    async fn take_until_stopped(&self, hand: &Hand) {
        let slots = Arc::new(Semaphore::new(self.rules.slots));
        while let Some(Some(permits)) = hand.stop.run_until_cancelled(free_slots(&slots)).await {
            let wanted = permits.num_permits();
            let since = Instant::now();
            // Not cut short by `stop`: what is taken must be finished or handed back.
            match self.take(wanted).await {
                Ok(taken) => {
                    let found = taken.len();
                    self.begin(taken, permits, since, hand);
                    if found < wanted {
                        hand.stop.run_until_cancelled(self.wait_for_work()).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "no deliveries can be taken");
                    hand.stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                }
            }
        }
    }

    async fn take(&self, slots: usize) -> Result<Vec<Taken>, StoreError> {
        let rules = &self.rules;
        let take = Take {
            channel: self.channel.kind(),
            slots,
            lease: rules.lease,
            ambiguity: rules.policy.ambiguity,
        };
        self.store.take(take).await
    }

    fn begin(&self, taken: Vec<Taken>, mut permits: OwnedSemaphorePermit, since: Instant, hand: &Hand) {
        hand.held.add(&taken, since);
        for delivery in taken {
            let slot = permits.split(1).expect("no more is taken than there are slots");
            let attempt =
                Attempt { channel: self.channel.clone(), rules: self.rules.clone(), delivery, since, slot };
            hand.attempts.spawn(attempt.make(hand.stop.clone(), hand.hurry.clone(), hand.ended.clone()));
        }
    }

    /// Until a message of our own is due, or one of another process may be.
    async fn wait_for_work(&self) {
        let next = self.store.next_due(self.channel.kind()).await.ok().flatten();
        let wait = next.map_or(POLL, |next| next.clamp(BREATH, POLL));
        // `notify_one` is kept for us where it came while we were asking.
        let _ = tokio::time::timeout(wait, self.due.notified()).await;
    }
}

/// All free slots, at least one; `None` never comes, since the semaphore is not closed.
async fn free_slots(slots: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    let mut first = slots.clone().acquire_owned().await.ok()?;
    let more = slots.available_permits().min(MAX_BATCH - 1);
    if let Ok(rest) = slots.clone().try_acquire_many_owned(u32::try_from(more).unwrap_or_default()) {
        first.merge(rest);
    }
    Some(first)
}
