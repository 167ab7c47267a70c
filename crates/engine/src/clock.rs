//! The one place that reads the clock and makes ids; everything else is told.

#![allow(clippy::disallowed_methods)]

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

/// What time it is. The system's in production, a settable one in tests and simulations.
pub trait Clock: Debug + Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

pub type SharedClock = Arc<dyn Clock>;

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).ok().and_then(|ms| Timestamp::from_ms(ms).ok()).unwrap_or(Timestamp::MAX)
    }
}

/// The wall clock in microseconds: for measurements finer than the engine's millisecond.
pub fn micros_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A new id for something that is being created.
pub fn new_id() -> Uuid {
    Uuid::now_v7()
}

/// Measures how long something took, unmoved by changes of the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub fn elapsed(&self) -> Millis {
        Millis::from_ms(u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
