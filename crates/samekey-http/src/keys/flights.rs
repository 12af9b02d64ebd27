//! Duplicates of one key in one process meet here, before they meet in the database.
//!
//! The first to come stands for the key; the others watch it. So a thousand retries of one hot key cost the database what
//! one costs, and those that prefer to wait are woken by the one that ends, not by polling. What happens in other
//! processes is watched by one of them for all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use samekey_core::Fingerprint;
use samekey_core::store::RecipeId;
use tokio::sync::watch;

use super::Name;
use super::cache::Completed;

/// How far the first one has come.
#[derive(Clone, Debug)]
pub(crate) enum Flight {
    /// It has asked the store, and has no answer yet.
    Asking,
    /// It runs, here.
    Running { fingerprint: Fingerprint, recipe: RecipeId },
    /// Another process runs it.
    Elsewhere { fingerprint: Fingerprint, recipe: RecipeId, retry_after_s: u32 },
    /// It has an answer.
    Answered(Arc<Completed>),
    /// It is over, and the key has no answer that could be shared: look for yourself.
    Over,
}

/// Keys that somebody in this process stands for.
#[derive(Default)]
pub(crate) struct Flights {
    flying: Mutex<HashMap<Name, watch::Receiver<Flight>>>,
}

/// Who comes with a key.
pub(crate) enum Entered<'f> {
    First(First<'f>),
    Second(watch::Receiver<Flight>),
}

/// Stands for the key until it is dropped.
pub(crate) struct First<'f> {
    flights: &'f Flights,
    name: Name,
    state: watch::Sender<Flight>,
}

impl Flights {
    pub(crate) fn enter(&self, name: &Name) -> Entered<'_> {
        let mut flying = self.flying.lock().unwrap_or_else(PoisonError::into_inner);
        match flying.entry(name.clone()) {
            Entry::Occupied(flight) => Entered::Second(flight.get().clone()),
            Entry::Vacant(place) => {
                let (state, watched) = watch::channel(Flight::Asking);
                place.insert(watched);
                Entered::First(First { flights: self, name: name.clone(), state })
            }
        }
    }
}

impl First<'_> {
    /// Tells those who watch.
    pub(crate) fn say(&self, state: Flight) {
        self.state.send_replace(state);
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        self.flights.flying.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
        self.state.send_if_modified(|state| {
            let unfinished = !matches!(state, Flight::Answered(_));
            if unfinished {
                *state = Flight::Over;
            }
            unfinished
        });
    }
}
