//! Medians, and latencies in buckets.

/// The middle one; of an even number, the lower of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

/// Sixteen buckets per power of two: a bucket is at most 6 % wide, which a quantile may be off by.
const STEPS: usize = 16;

/// From a microsecond to more than an hour.
const BUCKETS: usize = 32 * STEPS;

/// How many answers took how long.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    counts: Vec<u64>,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS] }
    }

    pub(crate) fn record(&mut self, micros: u64) {
        self.counts[bucket(micros).min(BUCKETS - 1)] += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, others) in self.counts.iter_mut().zip(&other.counts) {
            *mine += others;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time within which `share` of the answers came, in milliseconds.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        floor_of(found.unwrap_or(BUCKETS - 1)) as f64 / 1000.0
    }
}

fn bucket(micros: u64) -> usize {
    if micros < STEPS as u64 {
        return micros as usize;
    }
    let power = micros.ilog2() as usize;
    let step = (micros >> (power - STEPS.ilog2() as usize)) as usize - STEPS;
    (power - STEPS.ilog2() as usize + 1) * STEPS + step
}

/// The smallest time that falls into a bucket.
fn floor_of(bucket: usize) -> u64 {
    let (row, step) = (bucket / STEPS, (bucket % STEPS) as u64);
    if row == 0 { step } else { (STEPS as u64 + step) << (row - 1) }
}

#[cfg(test)]
mod tests {
    use super::{Latencies, bucket, floor_of, median};

    #[test]
    fn the_median_is_one_that_was_measured() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.0);
    }

    #[test]
    fn buckets_follow_each_other_and_are_narrow() {
        for micros in 1..100_000 {
            let floor = floor_of(bucket(micros));
            assert!(floor <= micros && (micros - floor) * 16 <= micros, "{micros} {floor}");
            assert!(bucket(micros) - bucket(micros - 1) <= 1, "{micros}");
        }
    }

    #[test]
    fn quantiles_count_from_below() {
        let mut latencies = Latencies::new();
        for micros in [1_000, 1_000, 1_000, 64_000] {
            latencies.record(micros);
        }
        assert_eq!(latencies.quantile_ms(0.5), 0.992);
        assert_eq!(latencies.quantile_ms(0.99), 63.488);
    }
}
