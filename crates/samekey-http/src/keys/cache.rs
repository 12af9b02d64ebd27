//! Completed records in memory, bounded in bytes.
//!
//! A completed record never changes, so a copy of it can only be too old in one way: it outlives its retention. That is
//! bounded by keeping it for a minute. First in, first out: retries come soon after the answer or not at all.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samekey_core::store::RecipeId;
use samekey_core::{Answer, Fingerprint};
use tokio::time::Instant;

use super::Name;

const KEPT_FOR: Duration = Duration::from_secs(60);
/// What an entry costs beside its answer: names, hashes, places in two tables.
const OVERHEAD: usize = 512;

/// What a completed record says to anybody who comes with its key.
#[derive(Debug)]
pub(crate) struct Completed {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) recipe: RecipeId,
    pub(crate) answer: Answer,
}

impl Completed {
    fn size(&self) -> usize {
        let headers: usize = self.answer.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        OVERHEAD + headers + self.answer.body.as_ref().map_or(0, bytes::Bytes::len)
    }
}

#[derive(Default)]
struct Kept {
    records: HashMap<Name, (Arc<Completed>, Instant)>,
    order: VecDeque<(Name, Instant)>,
    size: usize,
}

pub(crate) struct Cache {
    limit: usize,
    kept: Mutex<Kept>,
}

impl Cache {
    pub(crate) fn of(limit: usize) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.limit
    }

    pub(crate) fn get(&self, name: &Name) -> Option<Arc<Completed>> {
        if self.limit == 0 {
            return None;
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (record, since) = kept.records.get(name)?;
        (since.elapsed() < KEPT_FOR).then(|| record.clone())
    }

    pub(crate) fn keep(&self, name: &Name, record: &Arc<Completed>) {
        let size = record.size();
        if size > self.limit {
            return;
        }
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((older, _)) = kept.records.insert(name.clone(), (record.clone(), now)) {
            kept.size -= older.size();
        }
        kept.size += size;
        kept.order.push_back((name.clone(), now));
        while kept.size > self.limit {
            let Some((oldest, since)) = kept.order.pop_front() else { return };
            // A name that was kept anew stands in the order twice; only its latest place counts.
            if kept.records.get(&oldest).is_some_and(|(_, kept_at)| *kept_at == since)
                && let Some((removed, _)) = kept.records.remove(&oldest)
            {
                kept.size -= removed.size();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use samekey_core::{Key, Scope};

    use super::*;

    fn name(key: usize) -> Name {
        Name { scope: Scope::new("t").unwrap(), key: Key::new(&key.to_string()).unwrap() }
    }

    fn record(bytes: usize) -> Arc<Completed> {
        let answer = Answer { status: 200, headers: Vec::new(), body: Some(Bytes::from(vec![0; bytes])) };
        Arc::new(Completed { fingerprint: Fingerprint::from_stored([0; 32]), recipe: RecipeId(1), answer })
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_bounded_in_bytes_and_in_time() {
        let cache = Cache::of(100_000);
        for key in 0..100 {
            cache.keep(&name(key), &record(9_488));
        }
        let there: Vec<_> = (0..100).filter(|key| cache.get(&name(*key)).is_some()).collect();
        assert_eq!(there, (90..100).collect::<Vec<_>>(), "the newest ten fill it");
        cache.keep(&name(1), &record(200_000));
        assert!(cache.get(&name(1)).is_none(), "one that is larger than the cache is not kept");
        tokio::time::advance(KEPT_FOR).await;
        assert!(cache.get(&name(99)).is_none());
        assert!(Cache::of(0).get(&name(1)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_is_kept_again_counts_once() {
        let cache = Cache::of(10_000);
        for _ in 0..100 {
            cache.keep(&name(1), &record(4_000));
        }
        cache.keep(&name(2), &record(4_000));
        assert!(cache.get(&name(1)).is_some() && cache.get(&name(2)).is_some());
    }
}
