//! A fixed interval: `start`, `start + every`, `start + 2 every` …
//!
//! Invariant: every answer is one division; the length of a gap does not matter.

#[derive(Debug, Clone, Copy)]
pub(super) struct EveryBeat {
    pub(super) start: i64,
    /// At least 1.
    pub(super) every: i64,
}

impl EveryBeat {
    pub(super) fn at_or_after(&self, ms: i64) -> Option<i64> {
        if ms <= self.start {
            return Some(self.start);
        }
        let steps = (ms - self.start - 1) / self.every + 1;
        self.start.checked_add(steps.checked_mul(self.every)?)
    }

    pub(super) fn at_or_before(&self, ms: i64) -> Option<i64> {
        (ms >= self.start).then(|| ms - (ms - self.start) % self.every)
    }

    /// How many lie in `from..to`.
    pub(super) fn count(&self, from: i64, to: i64) -> u64 {
        let (Some(first), Some(last)) = (self.at_or_after(from), self.at_or_before(to - 1)) else { return 0 };
        if first > last { 0 } else { ((last - first) / self.every).unsigned_abs() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_counted_from_its_start() {
        let beat = EveryBeat { start: 5, every: 10 };
        assert_eq!([0, 5, 6, 15, 16].map(|ms| beat.at_or_after(ms)), [5, 5, 15, 15, 25].map(Some));
        assert_eq!([4, 5, 14, 15].map(|ms| beat.at_or_before(ms)), [None, Some(5), Some(5), Some(15)]);
        assert_eq!([(0, 5), (0, 6), (5, 15), (5, 16), (6, 15)].map(|(a, b)| beat.count(a, b)), [0, 1, 1, 2, 0]);
    }
}
