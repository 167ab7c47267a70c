//! What became of runs, minute by minute, for pictures of the last day.
//!
//! Invariant: memory is fixed: one slot per minute of a day, whatever is scheduled. A restart begins with an empty day.

use std::sync::{Mutex, PoisonError};

use ordo_model::Timestamp;

/// How many minutes are remembered.
pub const MINUTES_KEPT: usize = 24 * 60;
const MINUTE_MS: i64 = 60_000;
/// Upper bounds of the classes of lateness, in milliseconds; one more class is open above.
const LATENESS_MS: [u64; 14] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 30_000, 300_000];

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    Completed,
    Failed,
    Cancelled,
    Skipped,
}

/// What one minute saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Minute {
    pub completed: u32,
    pub failed: u32,
    pub cancelled: u32,
    pub skipped: u32,
    lateness: [u32; LATENESS_MS.len() + 1],
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Minutes since 1970; a slot of another day is empty.
    number: i64,
    minute: Minute,
}

#[derive(Debug)]
pub struct Series {
    slots: Mutex<Box<[Slot]>>,
}

impl Default for Series {
    fn default() -> Series {
        Series { slots: Mutex::new(vec![Slot::default(); MINUTES_KEPT].into_boxed_slice()) }
    }
}

impl Series {
    pub fn ended(&self, at: Timestamp, how: RunEnd) {
        self.at(at, |minute| {
            let count = match how {
                RunEnd::Completed => &mut minute.completed,
                RunEnd::Failed => &mut minute.failed,
                RunEnd::Cancelled => &mut minute.cancelled,
                RunEnd::Skipped => &mut minute.skipped,
            };
            *count = count.saturating_add(1);
        });
    }

    pub fn started(&self, at: Timestamp, lateness_ms: u64) {
        let class = LATENESS_MS.partition_point(|bound| *bound < lateness_ms);
        self.at(at, |minute| minute.lateness[class] = minute.lateness[class].saturating_add(1));
    }

    /// The last `count` minutes, oldest first; the one that `now` lies in comes last.
    pub fn last(&self, now: Timestamp, count: usize) -> Vec<Minute> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let (current, count) = (number_of(now), count.min(MINUTES_KEPT));
        let first = current - i64::try_from(count).unwrap_or(0) + 1;
        let of = |number: i64| Some(slots[place(number)]).filter(|slot| slot.number == number);
        (first..=current).map(|number| of(number).map_or_else(Minute::default, |slot| slot.minute)).collect()
    }

    fn at(&self, at: Timestamp, change: impl FnOnce(&mut Minute)) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let number = number_of(at);
        let slot = &mut slots[place(number)];
        // A minute of a day that is over must not be mixed into this one.
        if slot.number > number {
            return;
        }
        if slot.number < number {
            *slot = Slot { number, minute: Minute::default() };
        }
        change(&mut slot.minute);
    }
}

fn number_of(at: Timestamp) -> i64 {
    at.ms() / MINUTE_MS
}

fn place(number: i64) -> usize {
    usize::try_from(number.rem_euclid(MINUTES_KEPT as i64)).unwrap_or(0)
}

/// The lateness in milliseconds that `percent` of the starts did not exceed, as the upper bound of its class.
/// None when nothing assignment.
pub fn lateness_ms(minutes: &[Minute], percent: u64) -> Option<u64> {
    let mut classes = [0u64; LATENESS_MS.len() + 1];
    for minute in minutes {
        for (sum, count) in classes.iter_mut().zip(minute.lateness) {
            *sum += u64::from(count);
        }
    }
    let total: u64 = classes.iter().sum();
    let wanted = (total * percent).div_ceil(100).max(1);
    let mut seen = 0;
    let class = classes.iter().position(|count| {
        seen += count;
        seen >= wanted
    })?;
    Some(LATENESS_MS.get(class).copied().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_ms(minute * MINUTE_MS + 1).unwrap()
    }

    #[test]
    fn minutes_are_counted_apart_and_listed_oldest_first() {
        let series = Series::default();
        series.ended(at(10), RunEnd::Completed);
        series.ended(at(10), RunEnd::Failed);
        series.ended(at(12), RunEnd::Completed);
        let minutes: Vec<(u32, u32)> = series.last(at(12), 3).iter().map(|m| (m.completed, m.failed)).collect();
        assert_eq!(minutes, [(1, 1), (0, 0), (1, 0)]);
    }

    #[test]
    fn a_day_later_the_same_slot_begins_anew_and_yesterday_is_not_added_to_it() {
        let (series, day) = (Series::default(), MINUTES_KEPT as i64);
        series.ended(at(5), RunEnd::Failed);
        series.ended(at(5 + day), RunEnd::Completed);
        series.ended(at(5), RunEnd::Failed);
        let last = series.last(at(5 + day), 1);
        assert_eq!((last[0].completed, last[0].failed), (1, 0));
        assert_eq!(series.last(at(5 + 2 * day), 2), [Minute::default(); 2]);
    }

    #[test]
    fn a_percentile_of_lateness_is_the_bound_that_holds_it() {
        let series = Series::default();
        assert_eq!(lateness_ms(&series.last(at(1), 1), 99), None);
        for _ in 0..98 {
            series.started(at(1), 3);
        }
        series.started(at(1), 700);
        series.started(at(1), 900_000);
        let minutes = series.last(at(1), 1);
        assert_eq!(lateness_ms(&minutes, 50), Some(5));
        assert_eq!(lateness_ms(&minutes, 99), Some(1_000));
        assert_eq!(lateness_ms(&minutes, 100), Some(u64::MAX));
    }
}
