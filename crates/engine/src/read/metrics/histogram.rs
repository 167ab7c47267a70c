//! A histogram with fixed bounds: a few relaxed atomic additions per value, no lock, no allocation.
//!
//! Invariant: a reading is consistent in itself: its count is the sum of its buckets.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many values fell at or below each bound.
#[derive(Debug)]
pub struct Histogram {
    /// Ascending; what is above the last one falls into one more bucket.
    bounds: &'static [u64],
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramReading {
    /// (bound, values at or below it)
    pub cumulative: Vec<(u64, u64)>,
    pub count: u64,
    pub sum: u64,
}

impl Histogram {
    pub fn new(bounds: &'static [u64]) -> Histogram {
        debug_assert!(bounds.is_sorted());
        Histogram {
            bounds,
            buckets: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::default(),
        }
    }

    pub fn observe(&self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.buckets[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }

    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }

    pub fn read(&self) -> HistogramReading {
        let sum = self.sum();
        let mut count = 0;
        let mut cumulative = Vec::with_capacity(self.bounds.len());
        for (at, bucket) in self.buckets.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            cumulative.extend(self.bounds.get(at).map(|bound| (*bound, count)));
        }
        HistogramReading { cumulative, count, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_at_or_below_its_bound() {
        let histogram = Histogram::new(&[1, 10, 100]);
        for value in [0, 1, 2, 10, 11, 100, 101, 5_000] {
            histogram.observe(value);
        }
        let expected = HistogramReading { cumulative: vec![(1, 2), (10, 4), (100, 6)], count: 8, sum: 5_225 };
        assert_eq!(histogram.read(), expected);
        assert_eq!((histogram.count(), histogram.sum()), (8, 5_225));
    }

    #[test]
    fn nothing_observed_is_nothing_counted() {
        assert_eq!(Histogram::new(&[1]).read(), HistogramReading { cumulative: vec![(1, 0)], count: 0, sum: 0 });
    }
}
