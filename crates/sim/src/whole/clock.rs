//! The clock of a node: goes at its own speed, stands where it was set, and differs from the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use ordo_engine::clock::Clock;
use ordo_model::{ClockFrame, Timestamp};

use super::scene::{Scene, time};

/// How often a process may ask for the time within a millisecond: many times what the busiest does.
const ASKED_MAX: u32 = 1_000_000;

/// One generation of a process's clock. Where the wall clock stands outlives the process; what it measured does not.
pub(crate) struct NodeClock {
    scene: Arc<Scene>,
    /// By how much it stood ahead when the process began.
    skew_ms: i64,
    /// How many milliseconds it gains in a thousand seconds.
    drift: i64,
    since: Timestamp,
    /// By how much it was set since.
    set_ms: AtomicI64,
    /// When it was last asked, and how often at that time.
    asked_at: AtomicI64,
    asked: AtomicU32,
}

impl std::fmt::Debug for NodeClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeClock")
            .field("skew_ms", &self.skew_ms)
            .field("set_ms", &self.set_ms)
            .finish_non_exhaustive()
    }
}

impl NodeClock {
    pub(crate) fn new(scene: Arc<Scene>, skew_ms: i64, drift: i64) -> NodeClock {
        let since = time(scene.plan.begin_ms + scene.mono() + skew_ms);
        NodeClock {
            scene,
            skew_ms,
            drift,
            since,
            set_ms: AtomicI64::new(0),
            asked_at: AtomicI64::new(0),
            asked: AtomicU32::new(0),
        }
    }

    /// Whoever asks again and again without waiting keeps the time of the world from going on.
    fn assert_time_goes_on(&self, mono: i64) {
        if self.asked_at.swap(mono, Ordering::Relaxed) != mono {
            self.asked.store(0, Ordering::Relaxed);
        }
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        assert!(asked < ASKED_MAX, "somebody asks for the time again and again, and waits for nothing");
    }

    pub(crate) fn set(&self, by_ms: i64) {
        self.set_ms.fetch_add(by_ms, Ordering::Relaxed);
    }
}

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        let mono = self.scene.mono();
        self.assert_time_goes_on(mono);
        let gained = mono * self.drift / 1_000_000;
        time(self.scene.plan.begin_ms + mono + gained + self.skew_ms + self.set_ms.load(Ordering::Relaxed))
    }

    fn frame(&self) -> ClockFrame {
        ClockFrame { since: self.since, ahead_ms: self.set_ms.load(Ordering::Relaxed) }
    }
}
