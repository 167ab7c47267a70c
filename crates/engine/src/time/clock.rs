//! The one file that reads the clock and makes ids; everything else is given the time.

#![allow(clippy::disallowed_methods)]

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ordo_model::{ClockFrame, Millis, Moment, Timestamp};
use uuid::Uuid;

/// What time it is. The system's in production, a settable one in tests and simulations.
pub trait Clock: Debug + Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// How the wall clock stands to elapsed time. A clock that nobody sets stands steady.
    fn frame(&self) -> ClockFrame {
        ClockFrame::STEADY
    }

    fn moment(&self) -> Moment {
        Moment { now: self.now(), frame: self.frame() }
    }
}

pub type SharedClock = Arc<dyn Clock>;

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// Where this process began to measure: on the wall clock, and on one that nobody sets. It stands still while the
/// machine is suspended, so waking up looks like a step forward.
static BEGUN: LazyLock<(Timestamp, Instant)> = LazyLock::new(|| (SystemClock.now(), Instant::now()));

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).ok().and_then(|ms| Timestamp::from_ms(ms).ok()).unwrap_or(Timestamp::MAX)
    }

    fn frame(&self) -> ClockFrame {
        let (since, watch) = *BEGUN;
        let elapsed_ms = i64::try_from(watch.elapsed().as_millis()).unwrap_or(i64::MAX);
        ClockFrame { since, ahead_ms: self.now().ms() - since.ms() - elapsed_ms }
    }
}

/// A clock that only moves when somebody moves it: time passes (`set`), or somebody sets the wall clock (`step`).
#[derive(Debug)]
pub struct SetClock {
    at_ms: AtomicI64,
    ahead_ms: AtomicI64,
}

impl SetClock {
    pub fn new(at: Timestamp) -> SetClock {
        SetClock { at_ms: AtomicI64::new(at.ms()), ahead_ms: AtomicI64::new(0) }
    }

    pub fn set(&self, at: Timestamp) {
        self.at_ms.store(at.ms(), Ordering::SeqCst);
    }

    /// The wall clock is set by so much; no time passes.
    pub fn step(&self, by_ms: i64) {
        self.at_ms.fetch_add(by_ms, Ordering::SeqCst);
        self.ahead_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    pub fn at(&self) -> Timestamp {
        Timestamp::from_ms(self.at_ms.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        self.at()
    }

    fn frame(&self) -> ClockFrame {
        ClockFrame { ahead_ms: self.ahead_ms.load(Ordering::SeqCst), ..ClockFrame::STEADY }
    }
}

/// The system's clock, wrong by some amount: for tests of nodes whose clocks differ, or are set.
#[derive(Debug)]
pub struct SkewedClock {
    ahead_ms: AtomicI64,
    stepped_ms: AtomicI64,
}

impl SkewedClock {
    pub fn new(ahead_ms: i64) -> SkewedClock {
        SkewedClock { ahead_ms: AtomicI64::new(ahead_ms), stepped_ms: AtomicI64::new(0) }
    }

    /// Somebody sets it by so much.
    pub fn step(&self, by_ms: i64) {
        self.ahead_ms.fetch_add(by_ms, Ordering::SeqCst);
        self.stepped_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().moved(self.ahead_ms.load(Ordering::SeqCst))
    }

    fn frame(&self) -> ClockFrame {
        let frame = SystemClock.frame();
        ClockFrame { ahead_ms: frame.ahead_ms + self.stepped_ms.load(Ordering::SeqCst), ..frame }
    }
}

/// The clock of a store that several nodes share: elapsed time on this machine, moved by what it differs from the
/// store's clock. However wrong the clocks of nodes are, and whoever sets them, they agree on what is due and on how
/// long something took.
#[derive(Debug)]
pub struct StoreClock {
    here: SharedClock,
    ahead_ms: AtomicI64,
    samples: Mutex<VecDeque<Sample>>,
}

/// One comparison of the two clocks.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ahead_ms: i64,
    /// How long the question took: the answer is no more exact than that.
    took_ms: i64,
}

/// How many comparisons are remembered; the quickest of them counts.
const SAMPLES: usize = 8;
/// A comparison that differs by more than this beyond its own uncertainty means that a clock was set.
const SET_MS: i64 = 50;

impl StoreClock {
    pub fn new(here: SharedClock) -> StoreClock {
        StoreClock { here, ahead_ms: AtomicI64::new(0), samples: Mutex::default() }
    }

    /// Asks the store what time it is.
    pub async fn compare(&self, store: &dyn ordo_store::Cluster) -> Result<(), ordo_store::Fault> {
        let (watch, before) = (Stopwatch::start(), self.here.moment().steady());
        let theirs = store.now().await?;
        let took_ms = i64::try_from(watch.elapsed().ms()).unwrap_or(i64::MAX);
        self.note(Sample { ahead_ms: theirs.ms() - before.ms() - took_ms / 2, took_ms });
        Ok(())
    }

    fn note(&self, sample: Sample) {
        let mut samples = self.samples.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let set = |old: &Sample| (old.ahead_ms - sample.ahead_ms).abs() > SET_MS + old.took_ms + sample.took_ms;
        if samples.iter().any(set) {
            samples.clear();
        }
        samples.push_back(sample);
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
        if let Some(best) = samples.iter().min_by_key(|sample| sample.took_ms) {
            self.ahead_ms.store(best.ahead_ms, Ordering::Relaxed);
        }
    }
}

impl Clock for StoreClock {
    fn now(&self) -> Timestamp {
        let ms = self.here.moment().steady().ms().saturating_add(self.ahead_ms.load(Ordering::Relaxed));
        Timestamp::from_ms(ms).unwrap_or(Timestamp::MAX)
    }
}

/// The wall clock in microseconds: for measurements finer than the engine's millisecond.
pub fn micros_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A new id for something that is being created.
pub fn new_id() -> Uuid {
    #[cfg(feature = "sim")]
    if let Some(id) = crate::simulated::id() {
        return id;
    }
    Uuid::now_v7()
}

/// Measures how long something took, unmoved by changes of the wall clock. It goes by the runtime's clock, which a
/// simulated world holds in its hand.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(tokio::time::Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(tokio::time::Instant::now())
    }

    /// One that runs for so long already.
    #[cfg(test)]
    pub(crate) fn started_ago(ago: Millis) -> Stopwatch {
        Stopwatch(tokio::time::Instant::now().checked_sub(ago.to_std()).expect("the machine runs for longer"))
    }

    pub fn elapsed(&self) -> Millis {
        Millis::from_ms(u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Microseconds that go on steadily, from the first call on: for whoever says how long something took and has no clock.
pub fn steady_micros() -> u64 {
    static FIRST: LazyLock<Stopwatch> = LazyLock::new(Stopwatch::start);
    FIRST.elapsed_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed;

    impl Clock for Fixed {
        fn now(&self) -> Timestamp {
            Timestamp::from_ms(1_000_000).unwrap()
        }
    }

    #[test]
    fn the_quickest_comparison_counts_until_a_clock_is_set() {
        let clock = StoreClock::new(Arc::new(Fixed));
        let ahead = |clock: &StoreClock| clock.now().ms() - 1_000_000;
        clock.note(Sample { ahead_ms: 30_040, took_ms: 80 });
        assert_eq!(ahead(&clock), 30_040);
        clock.note(Sample { ahead_ms: 30_001, took_ms: 1 });
        clock.note(Sample { ahead_ms: 30_020, took_ms: 60 });
        assert_eq!(ahead(&clock), 30_001);
        clock.note(Sample { ahead_ms: -5_000, took_ms: 40 });
        assert_eq!(ahead(&clock), -5_000, "an old comparison says nothing about a clock that was set");
    }

    #[test]
    fn setting_the_clock_of_a_node_does_not_move_the_time_of_its_cluster() {
        let here = Arc::new(SetClock::new(Timestamp::from_ms(1_000_000).unwrap()));
        let clock = StoreClock::new(here.clone());
        clock.note(Sample { ahead_ms: 500, took_ms: 0 });
        here.step(3_600_000);
        assert_eq!(clock.now().ms(), 1_000_500);
        here.set(here.at().plus(Millis::from_ms(70)));
        assert_eq!((clock.now().ms(), clock.frame()), (1_000_570, ClockFrame::STEADY));
    }

    #[test]
    fn the_system_clock_stands_steady_while_nobody_sets_it() {
        assert!(SystemClock.frame().ahead_ms.abs() < 1_000);
    }
}
