//! What only grows.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Threads that count at once without getting into each other's way; further ones share.
const SHARDS: usize = 8;

/// A cache line each: two threads that count the same thing do not take it from each other.
#[repr(align(64))]
#[derive(Default)]
struct Shard(AtomicU64);

/// A number that grows.
#[derive(Default)]
pub struct Counter([Shard; SHARDS]);

fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: Cell<usize> = const { Cell::new(usize::MAX) });
    MINE.with(|mine| {
        if mine.get() == usize::MAX {
            mine.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
        }
        mine.get()
    })
}

impl Counter {
    pub fn add(&self, more: u64) {
        self.0[shard()].0.fetch_add(more, Ordering::Relaxed);
    }
    pub fn one(&self) {
        self.add(1);
    }
    pub fn get(&self) -> u64 {
        self.0.iter().fold(0, |sum, shard| sum.wrapping_add(shard.0.load(Ordering::Relaxed)))
    }
}

/// How often something took how long.
pub struct Histogram {
    /// Seconds, ascending; whatever took longer is in the last one, which has no bound.
    bounds: &'static [f64],
    buckets: Box<[AtomicU64]>,
    sum_us: AtomicU64,
}

impl Histogram {
    pub fn new(bounds: &'static [f64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, sum_us: AtomicU64::new(0) }
    }

    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let at = self.bounds.iter().position(|bound| seconds <= *bound).unwrap_or(self.bounds.len());
        self.buckets[at].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Upper bound and how many were at most that, ascending; the last bound is infinite. And the sum in seconds.
    pub(super) fn shown(&self) -> (Vec<(f64, u64)>, f64) {
        let mut so_far = 0;
        let bounds = self.bounds.iter().copied().chain(std::iter::once(f64::INFINITY));
        let rows = bounds.zip(self.buckets.iter()).map(|(bound, bucket)| {
            so_far += bucket.load(Ordering::Relaxed);
            (bound, so_far)
        });
        (rows.collect(), self.sum_us.load(Ordering::Relaxed) as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_together() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| (0..1_000).for_each(|_| counter.one()));
            }
        });
        assert_eq!(counter.get(), 20_000);
    }

    #[test]
    fn what_took_as_long_as_a_bound_is_within_it() {
        let histogram = Histogram::new(&[0.5, 1.0]);
        for ms in [100, 500, 501, 1_000, 90_000] {
            histogram.observe(Duration::from_millis(ms));
        }
        let (rows, sum) = histogram.shown();
        assert_eq!(rows, [(0.5, 2), (1.0, 4), (f64::INFINITY, 5)]);
        assert!((sum - 92.101).abs() < 1e-9, "{sum}");
    }
}
