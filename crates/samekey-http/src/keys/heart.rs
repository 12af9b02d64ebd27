//! The heartbeat: live claims are renewed, many in one statement.
//!
//! A claim is believed to be held for as long as its last renewal proves it: [`Lease::stop_after`] after the moment before
//! the statement that renewed it was sent, by this process's own steady clock. Then its work is stopped. That is earlier
//! than anybody else may take it over; and should this process have slept through both, the fencing token refuses its
//! writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samekey_core::FencingToken;
use samekey_core::lease::Lease;
use samekey_core::store::{Held, Records};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::Engine;

struct Beating {
    held: Held,
    lease: Lease,
    /// Before the statement that last renewed it was sent.
    renewed: watch::Sender<Instant>,
    /// When it is to be renewed next.
    due: Instant,
}

#[derive(Default)]
struct Live {
    claims: HashMap<FencingToken, Beating>,
    beats: bool,
}

#[derive(Default)]
pub(crate) struct Heart {
    live: Mutex<Live>,
    /// Held while renewals are under way.
    beating: tokio::sync::Mutex<()>,
    /// A claim has come whose renewal may be due sooner than all others.
    sooner: Notify,
}

impl Heart {
    fn lock(&self) -> std::sync::MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the claim no more; a renewal that is under way may still arrive.
    pub(crate) fn stop(&self, token: FencingToken) {
        self.lock().claims.remove(&token);
    }

    /// Until no renewal is under way: one that arrived after its lease was ended would bring the lease back.
    pub(crate) async fn quiet(&self) {
        drop(self.beating.lock().await);
    }

    /// When the next beat is due; nothing: there is nothing to renew.
    fn next(&self) -> Option<Instant> {
        let mut live = self.lock();
        let next = live.claims.values().map(|beating| beating.due).min();
        live.beats = next.is_some();
        next
    }

    /// What is to be renewed now, by lease.
    fn due(&self) -> HashMap<Duration, (Lease, Vec<Held>)> {
        let now = Instant::now();
        let mut due = HashMap::<Duration, (Lease, Vec<Held>)>::new();
        for beating in self.lock().claims.values_mut().filter(|beating| beating.due <= now) {
            beating.due = now + beating.lease.heartbeat_every();
            let (_, held) = due.entry(beating.lease.length()).or_insert_with(|| (beating.lease, Vec::new()));
            held.push(beating.held.clone());
        }
        due
    }

    fn renewed(&self, tokens: &[FencingToken], at: Instant) {
        let live = self.lock();
        for beating in tokens.iter().filter_map(|token| live.claims.get(token)) {
            beating.renewed.send_replace(at);
        }
    }
}

/// Ends when the claim can no longer be believed to be held.
pub(crate) struct Believed {
    lease: Lease,
    renewed: watch::Receiver<Instant>,
}

impl Believed {
    pub(crate) async fn lost(mut self) {
        loop {
            let until = *self.renewed.borrow_and_update() + self.lease.stop_after();
            tokio::select! {
                () = tokio::time::sleep_until(until) => return,
                renewed = self.renewed.changed() => if renewed.is_err() {
                    // Its claim has ended; nothing is to be watched any more.
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

impl<S: Records> Engine<S> {
    /// Renews the claim until it is stopped. `since`: before the claim was asked for.
    pub(crate) fn beat(self: &Arc<Self>, held: Held, lease: Lease, since: Instant) -> Believed {
        let (renewed, watched) = watch::channel(since);
        let mut live = self.heart.lock();
        let due = since + lease.heartbeat_every();
        live.claims.insert(held.token, Beating { held, lease, renewed, due });
        if !std::mem::replace(&mut live.beats, true) {
            tokio::spawn(beat(self.clone()));
        }
        drop(live);
        self.heart.sooner.notify_one();
        Believed { lease, renewed: watched }
    }
}

async fn beat<S: Records>(engine: Arc<Engine<S>>) {
    while let Some(next) = engine.heart.next() {
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = engine.heart.sooner.notified() => continue,
        }
        let _beating = engine.heart.beating.lock().await;
        for (lease, held) in engine.heart.due().into_values() {
            let before = Instant::now();
            match engine.store.renew(&held, lease).await {
                Ok(tokens) => engine.heart.renewed(&tokens, before),
                Err(error) => tracing::warn!(%error, claims = held.len(), "leases were not renewed"),
            }
        }
    }
}
