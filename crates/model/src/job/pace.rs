//! How quick the runs of a job are: more than SLOW_RUNS slow ones within a minute move the job to the slow pool for
//! the rest of that minute and the next one, so that slow jobs do not keep quick ones waiting.
//!
//! Invariant: follows from events and their times alone, so the pool of a job is the same on every node.

use serde::{Deserialize, Serialize};

use crate::limits::SLOW_RUNS;
use crate::time::Timestamp;

const WINDOW_MS: i64 = 60_000;

/// Which pool of the executor inside a node runs the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    Fast,
    Slow,
}

impl Pool {
    pub const ALL: [Pool; 2] = [Pool::Fast, Pool::Slow];

    pub const fn name(self) -> &'static str {
        match self {
            Pool::Fast => "fast",
            Pool::Slow => "slow",
        }
    }

    /// Part of stored keys, so it never changes.
    pub const fn code(self) -> u8 {
        match self {
            Pool::Fast => 0,
            Pool::Slow => 1,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pace {
    /// Which minute `slow` counts.
    pub minute: i64,
    /// Slow runs of that minute.
    pub slow: u32,
    /// Slow runs of the minute before.
    pub slow_before: u32,
}

impl Pace {
    pub(super) fn note(&mut self, is_slow: bool, at: Timestamp) {
        self.turn(at);
        if is_slow {
            self.minute = minute(at);
            self.slow = self.slow.saturating_add(1);
        }
    }

    /// What is older than the minute before is forgotten.
    pub(super) fn turn(&mut self, at: Timestamp) {
        *self = self.seen_at(at);
    }

    /// The counts as they stand at that moment.
    pub fn seen_at(self, at: Timestamp) -> Pace {
        let now = minute(at);
        let turned = match now - self.minute {
            0 => self,
            1 => Pace { minute: now, slow: 0, slow_before: self.slow },
            _ => Pace::default(),
        };
        if turned.slow == 0 && turned.slow_before == 0 { Pace::default() } else { turned }
    }

    pub fn pool(&self) -> Pool {
        if self.slow > SLOW_RUNS || self.slow_before > SLOW_RUNS { Pool::Slow } else { Pool::Fast }
    }
}

fn minute(at: Timestamp) -> i64 {
    at.ms().div_euclid(WINDOW_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    #[test]
    fn a_job_is_slow_after_more_than_ten_long_runs_in_a_minute_and_through_the_next() {
        let (mut pace, mut other) = (Pace::default(), Pace::default());
        for n in 0..10 {
            pace.note(true, at(60_000 + n));
            other.note(false, at(60_000 + n));
        }
        assert_eq!(pace.pool(), Pool::Fast);
        pace.note(true, at(60_200));
        assert_eq!(pace.pool(), Pool::Slow);
        assert_eq!(pace.seen_at(at(179_999)).pool(), Pool::Slow);
        assert_eq!(pace.seen_at(at(180_000)).pool(), Pool::Fast);
        assert_eq!(other, Pace::default(), "a quick job has nothing to remember");
        pace.turn(at(180_000));
        assert_eq!(pace, Pace::default());
    }
}
