//! What pages remember for a moment, so that many viewers cost one read.

use std::sync::{Arc, Mutex, PoisonError};

use ordo_engine::upcoming::Upcoming;
use ordo_model::{Millis, Timestamp};
use ordo_store::Fault;

use crate::pages::layout::trouble::Failing;

#[derive(Debug, Default)]
pub(crate) struct PageCaches {
    pub(crate) failing: Kept<Failing>,
    pub(crate) next_minute: Kept<Upcoming>,
    pub(crate) next_day: Kept<Upcoming>,
}

/// A value and when it was read.
#[derive(Debug)]
pub(crate) struct Kept<T>(Mutex<Option<(Timestamp, Arc<T>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(Mutex::new(None))
    }
}

impl<T> Kept<T> {
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
