//! Which jobs are slow: more than SLOW_RUNS runs over SLOW_AFTER within a minute move a job to the slow pool for
//! the next minute, so that slow jobs do not starve quick ones.

use std::collections::HashMap;

use ordo_model::{JobId, Millis, Timestamp};

pub const SLOW_AFTER: Millis = Millis::from_ms(500);
pub const SLOW_RUNS: u32 = 10;
const WINDOW_MS: i64 = 60_000;

#[derive(Debug, Default)]
pub struct Slowness {
    window: i64,
    counts: HashMap<JobId, u32>,
    /// Jobs that were slow in the window before this one.
    before: HashMap<JobId, u32>,
}

impl Slowness {
    pub fn note(&mut self, job: JobId, took: Millis, now: Timestamp) {
        self.turn(now);
        if took > SLOW_AFTER {
            *self.counts.entry(job).or_default() += 1;
        }
    }

    pub fn is_slow(&mut self, job: JobId, now: Timestamp) -> bool {
        self.turn(now);
        let over = |counts: &HashMap<JobId, u32>| counts.get(&job).is_some_and(|count| *count > SLOW_RUNS);
        over(&self.counts) || over(&self.before)
    }

    fn turn(&mut self, now: Timestamp) {
        let window = now.ms() / WINDOW_MS;
        if window == self.window {
            return;
        }
        let counts = std::mem::take(&mut self.counts);
        self.before = if window == self.window + 1 { counts } else { HashMap::new() };
        self.before.retain(|_, count| *count > SLOW_RUNS);
        self.window = window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    #[test]
    fn a_job_is_slow_after_more_than_ten_long_runs_in_a_minute_and_through_the_next() {
        let (job, other) = (JobId(Uuid::from_u128(1)), JobId(Uuid::from_u128(2)));
        let mut slowness = Slowness::default();
        for n in 0..10 {
            slowness.note(job, Millis::from_ms(501), at(60_000 + n));
            slowness.note(other, Millis::from_ms(500), at(60_000 + n));
        }
        assert!(!slowness.is_slow(job, at(60_100)));
        slowness.note(job, Millis::from_ms(501), at(60_200));
        assert!(slowness.is_slow(job, at(60_300)));
        assert!(slowness.is_slow(job, at(179_999)));
        assert!(!slowness.is_slow(job, at(180_000)));
        assert!(!slowness.is_slow(other, at(60_300)));
    }
}
