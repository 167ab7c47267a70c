//! A tool that does nothing but note how late it was started, to the microsecond.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use hdrhistogram::Histogram;
use ordo_engine::clock::micros_now;
use ordo_engine::tool::{Failure, Tool, Work};
use serde_json::{Value, json};

/// A minute late is late enough.
const LATEST_MICROS: u64 = 60_000_000;

#[derive(Debug)]
pub(super) struct Probe(Mutex<Histogram<u64>>);

impl Default for Probe {
    fn default() -> Probe {
        Probe(Mutex::new(Histogram::new_with_max(LATEST_MICROS, 3).expect("the bounds are proper")))
    }
}

impl Probe {
    /// How many starts were noted since the last [`Probe::take`].
    pub(super) fn len(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// p50, p99 and max of all starts since the last call.
    pub(super) fn take(&self) -> Value {
        let mut histogram = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = |micros: u64| micros as f64 / 1_000.0;
        let report = json!({
            "p50_ms": ms(histogram.value_at_quantile(0.50)),
            "p99_ms": ms(histogram.value_at_quantile(0.99)),
            "max_ms": ms(histogram.max()),
            "starts": histogram.len(),
        });
        histogram.reset();
        report
    }
}

#[async_trait]
impl Tool for Probe {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        if let Some(due) = work.scheduled_for {
            let late = u64::try_from(micros_now() - due.ms() * 1_000).unwrap_or(0);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(late);
        }
        Ok(Value::Null)
    }
}
