//! Whether the store can be written now: asked for by whoever watches, found out at most once in a while.
//!
//! Invariant: however many ask at once, and however often, one of them asks the store; the others get what it heard.

use ordo_model::{Millis, Timestamp};
use ordo_store::{Fault, Store};
use tokio::sync::Mutex;

/// How long an answer is good for.
const GOOD_FOR: Millis = Millis::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Writable {
    last: Mutex<Option<(Timestamp, Result<(), Fault>)>>,
}

impl Writable {
    /// `now` is a moment of steady time.
    pub(crate) async fn ask(&self, store: &dyn Store, now: Timestamp) -> Result<(), Fault> {
        let mut last = self.last.lock().await;
        if let Some((asked_at, answer)) = &*last
            && now.since(*asked_at) < GOOD_FOR
        {
            return answer.clone();
        }
        let answer = store.try_write().await;
        *last = Some((now, answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_store_redb::RedbStore;

    #[tokio::test]
    async fn a_store_that_can_be_written_says_so_and_is_not_asked_twice_in_a_row() {
        let (store, writable) = (RedbStore::in_memory().unwrap(), Writable::default());
        let at = |ms| Timestamp::from_ms(ms).unwrap();
        let asked_at = async || writable.last.lock().await.as_ref().unwrap().0;
        writable.ask(&store, at(1_000)).await.unwrap();
        writable.ask(&store, at(2_999)).await.unwrap();
        assert_eq!(asked_at().await, at(1_000));
        writable.ask(&store, at(3_000)).await.unwrap();
        assert_eq!(asked_at().await, at(3_000));
    }
}
