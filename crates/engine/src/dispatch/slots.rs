//! The slots of one pool of this process.
//!
//! Invariant: a slot is free, reserved for one command, or running one attempt. Where slots become free all the time, the
//! next attempts are started ahead of them, so that no slot waits for the disk: at most as many as ended a moment ago,
//! and never more than there are slots. What is started ahead begins when a slot is free (see `run::gate`).

use ordo_model::{Millis, Timestamp};

/// How far back the ends of attempts say that slots become free quickly.
const MOMENT: Millis = Millis::from_ms(50);

/// So many ends in a moment or two are quick: thousands a second. What runs a process or calls somebody is not.
const QUICK: usize = 200;

/// How many attempts run at once, and how many waiting runs of each tool are held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSize {
    pub slots: usize,
    pub queue: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSizes {
    pub fast: PoolSize,
    pub slow: PoolSize,
}

impl Default for PoolSizes {
    fn default() -> PoolSizes {
        PoolSizes { fast: PoolSize { slots: 200, queue: 2_000 }, slow: PoolSize { slots: 100, queue: 5_000 } }
    }
}

#[derive(Debug)]
pub(super) struct Slots {
    pub(super) size: PoolSize,
    pub(super) reserved: usize,
    pub(super) running: usize,
    /// Attempts that ended in the moment that began then, and in the one before.
    moment: Timestamp,
    ended: usize,
    ended_before: usize,
}

impl Slots {
    pub(super) fn new(size: PoolSize) -> Slots {
        Slots { size, reserved: 0, running: 0, moment: Timestamp::MIN, ended: 0, ended_before: 0 }
    }

    pub(super) fn free(&self) -> usize {
        (self.size.slots + self.ahead()).saturating_sub(self.running + self.reserved)
    }

    /// How many attempts may be started before there is a slot for them.
    pub(super) fn ahead(&self) -> usize {
        (self.ended + self.ended_before).min(self.size.slots)
    }

    /// Attempts end so quickly that whoever waits for a slot has one soon.
    pub(super) fn is_quick(&self) -> bool {
        self.ended + self.ended_before >= QUICK
    }

    /// An attempt came to its end.
    pub(super) fn ended(&mut self) {
        self.running -= 1;
        self.ended += 1;
    }

    /// What ended longer ago than a moment or two says nothing any more.
    pub(super) fn time_passed(&mut self, now: Timestamp) {
        let since = now.since(self.moment);
        if since >= MOMENT || now < self.moment {
            self.ended_before = if since < MOMENT.saturating_mul(2) && now >= self.moment { self.ended } else { 0 };
            (self.moment, self.ended) = (now, 0);
        }
    }

    pub(super) fn give_back(&mut self) {
        self.reserved = self.reserved.checked_sub(1).expect("a place given back was reserved before");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(1_000_000 + ms).unwrap()
    }

    #[test]
    fn as_many_are_started_ahead_as_ended_a_moment_ago_and_never_more_than_there_are_slots() {
        let mut slots = Slots::new(PoolSize { slots: 4, queue: 10 });
        slots.time_passed(at(0));
        slots.running = 4;
        assert_eq!(slots.free(), 0, "nothing has ended: whoever runs may run for long");
        slots.ended();
        slots.ended();
        assert_eq!(slots.free(), 4, "two slots, and two ahead");
        slots.running = 6;
        (0..6).for_each(|_| slots.ended());
        assert_eq!(slots.ahead(), 4);
        slots.time_passed(at(60));
        assert_eq!(slots.ahead(), 4, "a moment ago");
        slots.time_passed(at(120));
        assert_eq!(slots.free(), 4, "long ago");
        slots.ended_before = 3;
        slots.time_passed(at(-5_000));
        assert_eq!(slots.ahead(), 0, "a clock that was set back starts nothing ahead");
    }
}
