//! The outbox: what happened to an entity and has not been handed on to those outside yet.
//!
//! Invariant: an entry stands in the state from the event that made it until it was published, so it is committed
//! together with that event, and the alarm that follows from the state cannot be missing while there is one.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::limits::{OUTBOX_BEAT, OUTBOX_FLUSH_DELAY, OUTBOX_FLUSH_DELAY_MAX};
use crate::time::{Millis, Timestamp};

/// Of this process, as its configuration says: set before the first job is read, like the rules of time zones.
static FLUSH_DELAY_MS: AtomicU64 = AtomicU64::new(OUTBOX_FLUSH_DELAY.ms());

/// Within which time what waits in an outbox is looked at.
pub fn flush_delay() -> Millis {
    Millis::from_ms(FLUSH_DELAY_MS.load(Ordering::Relaxed))
}

/// Sets it, between OUTBOX_BEAT and OUTBOX_FLUSH_DELAY_MAX; returns what it is now.
pub fn set_flush_delay(delay: Millis) -> Millis {
    let delay = delay.clamp(OUTBOX_BEAT, OUTBOX_FLUSH_DELAY_MAX);
    FLUSH_DELAY_MS.store(delay.ms(), Ordering::Relaxed);
    delay
}

/// One thing to hand on: which event it stands for, when that happened, and what there is to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxEntry<T> {
    pub version: u64,
    pub at: Timestamp,
    pub what: T,
}

/// In the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Outbox<T>(Vec<OutboxEntry<T>>);

impl<T> Default for Outbox<T> {
    fn default() -> Outbox<T> {
        Outbox(Vec::new())
    }
}

impl<T> Outbox<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn entries(&self) -> &[OutboxEntry<T>] {
        &self.0
    }

    pub fn last_version(&self) -> Option<u64> {
        self.0.last().map(|entry| entry.version)
    }

    pub(crate) fn put(&mut self, version: u64, at: Timestamp, what: T) {
        self.0.push(OutboxEntry { version, at, what });
    }

    /// All up to this version were handed on.
    pub(crate) fn publish(&mut self, through: u64) {
        self.0.retain(|entry| entry.version > through);
    }

    /// Then the oldest entry is looked at: on the last beat within the delay, so that the news of many entities go
    /// together and cost few commits.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.0.first().map(|entry| {
            let latest = entry.at.plus(flush_delay());
            latest.minus(Millis::from_ms(latest.ms().unsigned_abs() % OUTBOX_BEAT.ms()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_sets_the_alarm_until_it_is_published() {
        let at = |ms| Timestamp::from_ms(ms).unwrap();
        let mut outbox = Outbox::default();
        assert_eq!(outbox.next_wake(), None);
        outbox.put(3, at(1_000), "a");
        outbox.put(5, at(2_000), "b");
        assert_eq!(outbox.next_wake(), Some(at(1_000).plus(OUTBOX_FLUSH_DELAY)));
        outbox.publish(4);
        assert_eq!(outbox.next_wake(), Some(at(2_000).plus(OUTBOX_FLUSH_DELAY)));
        outbox.publish(5);
        assert!(outbox.is_empty());
    }

    #[test]
    fn news_of_one_beat_are_looked_at_together_and_never_later_than_promised() {
        let wake = |ms| {
            let mut outbox = Outbox::default();
            outbox.put(1, Timestamp::from_ms(ms).unwrap(), "a");
            outbox.next_wake().unwrap().ms()
        };
        assert_eq!([wake(1_000), wake(1_001), wake(1_049), wake(1_050)], [1_100, 1_100, 1_100, 1_150]);
    }
}
