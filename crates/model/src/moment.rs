//! A moment: what the wall clock says, and how far it has run away from the time that really passed.
//!
//! Invariant: the wall clock says when an occurrence is due; how long something took is never read off it. A length
//! that was laid out on the wall clock is moved by as much as the clock was set since.

use serde::{Deserialize, Serialize};

use crate::limits::CLOCK_STEP_MIN;
use crate::time::{Millis, Timestamp};

/// What `decide` is handed for the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub now: Timestamp,
    pub frame: ClockFrame,
}

/// How the wall clock stands to elapsed time in one life of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFrame {
    /// When the measuring began: what another process measured cannot be compared.
    pub since: Timestamp,
    /// By how much the wall clock has gained on elapsed time since then: a clock that was set back has lost.
    pub ahead_ms: i64,
}

impl ClockFrame {
    /// A clock that nobody sets: a database's, a simulation's.
    pub const STEADY: ClockFrame = ClockFrame { since: Timestamp::MIN, ahead_ms: 0 };

    /// By how much the wall clock was set since lengths were laid out in the frame `laid`; None: not worth a word.
    /// What was laid out without a frame, or under another process, counts from the beginning of this one.
    pub fn moved_from(&self, laid: Option<ClockFrame>) -> Option<i64> {
        let before = laid.filter(|laid| laid.since == self.since).map_or(0, |laid| laid.ahead_ms);
        let by = self.ahead_ms.saturating_sub(before);
        (by.unsigned_abs() >= CLOCK_STEP_MIN.ms()).then_some(by)
    }
}

impl Moment {
    /// The time as it would be if nobody had set the clock: it goes on steadily.
    pub fn steady(&self) -> Timestamp {
        self.now.moved(-self.frame.ahead_ms)
    }
}

impl From<Timestamp> for Moment {
    fn from(now: Timestamp) -> Moment {
        Moment { now, frame: ClockFrame::STEADY }
    }
}

/// A step of the clock as people read it.
pub fn step_in_words(by_ms: i64) -> String {
    let length = Millis::from_ms(by_ms.unsigned_abs());
    if by_ms < 0 { format!("back by {length}") } else { format!("forward by {length}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(since: i64, ahead_ms: i64) -> ClockFrame {
        ClockFrame { since: Timestamp::from_ms(since).unwrap(), ahead_ms }
    }

    #[test]
    fn a_step_is_what_the_clock_gained_since_the_length_was_laid_out() {
        let now = frame(5, 3_600_000);
        assert_eq!(now.moved_from(None), Some(3_600_000));
        assert_eq!(now.moved_from(Some(frame(5, 3_600_000))), None);
        assert_eq!(now.moved_from(Some(frame(5, 7_200_000))), Some(-3_600_000));
    }

    #[test]
    fn what_another_process_measured_says_nothing() {
        assert_eq!(frame(5, 0).moved_from(Some(frame(4, 3_600_000))), None);
        assert_eq!(frame(5, -2_000).moved_from(Some(frame(4, 3_600_000))), Some(-2_000));
    }

    #[test]
    fn a_clock_that_is_slewed_has_not_been_set() {
        assert_eq!(frame(5, 999).moved_from(None), None);
        assert_eq!(frame(5, -999).moved_from(None), None);
    }

    #[test]
    fn steady_time_does_not_know_of_steps() {
        let now = Timestamp::from_ms(10_000).unwrap();
        assert_eq!(Moment { now, frame: frame(5, 4_000) }.steady(), Timestamp::from_ms(6_000).unwrap());
    }
}
