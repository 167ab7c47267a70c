//! The outbox: what happened to an entity and has not been handed on to those outside yet.
//!
//! Invariant: an entry stands in the state from the event that made it until it was published, so it is committed
//! together with that event, and the alarm that follows from the state cannot be missing while there is one.

use serde::{Deserialize, Serialize};

use crate::limits::OUTBOX_BEAT;
use crate::time::{Millis, Timestamp};

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

    /// Since when the oldest entry has been waiting.
    pub fn since(&self) -> Option<Timestamp> {
        self.0.first().map(|entry| entry.at)
    }
}

/// The next moment at which something must be done without anybody asking: a turn of the entity itself, or a look at what
/// has waited in its outbox since then. That is on the last beat within the delay, so that the news of many entities go
/// together and cost few commits.
pub(crate) fn wake(turn: Option<Timestamp>, since: Option<Timestamp>, flush_delay: Millis) -> Option<Timestamp> {
    let flush = since.map(|since| {
        let latest = since.plus(flush_delay);
        latest.minus(Millis::from_ms(latest.ms().unsigned_abs() % OUTBOX_BEAT.ms()))
    });
    turn.into_iter().chain(flush).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::OUTBOX_FLUSH_DELAY;

    fn flush(outbox: &Outbox<&str>) -> Option<Timestamp> {
        wake(None, outbox.since(), OUTBOX_FLUSH_DELAY)
    }

    #[test]
    fn the_oldest_entry_sets_the_alarm_until_it_is_published() {
        let at = |ms| Timestamp::from_ms(ms).unwrap();
        let mut outbox = Outbox::default();
        assert_eq!(flush(&outbox), None);
        outbox.put(3, at(1_000), "a");
        outbox.put(5, at(2_000), "b");
        assert_eq!(flush(&outbox), Some(at(1_000).plus(OUTBOX_FLUSH_DELAY)));
        outbox.publish(4);
        assert_eq!(flush(&outbox), Some(at(2_000).plus(OUTBOX_FLUSH_DELAY)));
        outbox.publish(5);
        assert!(outbox.is_empty());
    }

    #[test]
    fn news_of_one_beat_are_looked_at_together_and_never_later_than_promised() {
        let wake = |ms| {
            let mut outbox = Outbox::default();
            outbox.put(1, Timestamp::from_ms(ms).unwrap(), "a");
            flush(&outbox).unwrap().ms()
        };
        assert_eq!([wake(1_000), wake(1_001), wake(1_049), wake(1_050)], [1_100, 1_100, 1_100, 1_150]);
    }
    #[test]
    fn a_longer_delay_is_given_by_the_caller_and_a_turn_before_it_comes_first() {
        let at = |ms| Timestamp::from_ms(ms);
        let wake = |turn: Option<i64>| wake(turn.and_then(|ms| at(ms).ok()), at(1_000).ok(), Millis::from_secs(5));
        assert_eq!(wake(None), at(6_000).ok());
        assert_eq!(wake(Some(5_999)), at(5_999).ok());
        assert_eq!(wake(Some(6_001)), at(6_000).ok());
    }
}
