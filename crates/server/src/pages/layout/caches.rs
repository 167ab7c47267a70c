//! What pages remember for a moment, so that many viewers cost one read.

use std::sync::{Arc, Mutex, PoisonError};

use ordo_engine::forecast::ForecastGround;
use ordo_engine::upcoming::Upcoming;
use ordo_model::{Millis, Timestamp};
use ordo_store::Fault;

use crate::pages::layout::trouble::Failing;

#[derive(Debug, Default)]
pub(crate) struct PageCaches {
    pub(crate) failing: FreshValue<Failing>,
    pub(crate) next_minute: FreshValue<Upcoming>,
    pub(crate) next_day: FreshValue<Upcoming>,
    pub(crate) next_week: FreshValue<ForecastGround>,
}

/// A value and when it was read.
#[derive(Debug)]
pub(crate) struct FreshValue<T>(Mutex<Option<(Timestamp, Arc<T>)>>);

impl<T> Default for FreshValue<T> {
    fn default() -> FreshValue<T> {
        FreshValue(Mutex::new(None))
    }
}

impl<T> FreshValue<T> {
    /// The value, read anew if it is older than `fresh`, or from a time that has not come.
    pub(crate) async fn fresh(
        &self,
        now: Timestamp,
        fresh: Millis,
        read: impl Future<Output = Result<T, Fault>>,
    ) -> Result<Arc<T>, Fault> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match kept {
            Some((at, value)) if at <= now && now.since(at) < fresh => Ok(value),
            Some(_) | None => {
                let value = Arc::new(read.await?);
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, value.clone()));
                Ok(value)
            }
        }
    }
}
