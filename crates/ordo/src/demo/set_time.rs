//! Time that somebody moves by hand, and those who sleep in it.
//!
//! Invariant: whoever sleeps until a moment is awake before time goes beyond it; the clock never goes back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_engine::clock::SetClock;
use ordo_model::Timestamp;
use tokio::sync::{Notify, oneshot};

/// By when they wake up, and a number among those of the same moment.
type Sleepers = BTreeMap<(Timestamp, u64), oneshot::Sender<()>>;

pub(super) struct SetTime {
    pub(super) clock: Arc<SetClock>,
    /// Nobody sleeps beyond it.
    end: Timestamp,
    sleepers: Mutex<Sleepers>,
    /// Somebody fell asleep.
    asleep: Notify,
}

impl SetTime {
    pub(super) fn between(start: Timestamp, end: Timestamp) -> Arc<SetTime> {
        let clock = Arc::new(SetClock::new(start));
        Arc::new(SetTime { clock, end, sleepers: Mutex::default(), asleep: Notify::new() })
    }

    /// Those who sleep; whoever was cancelled does not any more.
    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        sleepers.retain(|_, wake| !wake.is_closed());
        sleepers
    }

    /// Until the clock was moved there.
    pub(super) async fn until(&self, at: Timestamp) {
        let at = at.min(self.end);
        if at <= self.clock.at() {
            return;
        }
        let (wake, awake) = oneshot::channel();
        {
            let mut sleepers = self.sleepers();
            let number = sleepers.range((at, 0)..=(at, u64::MAX)).next_back().map_or(0, |((_, last), _)| last + 1);
            sleepers.insert((at, number), wake);
        }
        self.asleep.notify_one();
        // Dropped with the whole of this time: then nothing is waited for either.
        drop(awake.await);
    }

    /// How many sleep.
    pub(super) fn count(&self) -> usize {
        self.sleepers().len()
    }

    /// When the next one wakes up.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.sleepers().first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.at()
    }

    /// Time passes; whoever slept until then wakes up.
    pub(super) fn move_to(&self, at: Timestamp) {
        self.clock.set(at.max(self.clock.at()));
        let now = self.clock.at();
        let mut sleepers = self.sleepers();
        let later = sleepers.split_off(&(now, u64::MAX));
        for (_, wake) in std::mem::replace(&mut *sleepers, later) {
            // One that was cancelled meanwhile is awake already.
            wake.send(()).unwrap_or_default();
        }
    }

    /// Until somebody falls asleep.
    pub(super) async fn somebody_sleeps(&self) {
        self.asleep.notified().await;
    }
}
