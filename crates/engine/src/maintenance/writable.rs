//! Whether the store can be written now: asked for by whoever watches, found out at most once in a while.
//!
//! Invariant: however many ask at once, and however often, one of them asks the store; the others get what it heard.

use ordo_model::Millis;
use ordo_store::{Fault, Store};
use tokio::sync::Mutex;

use crate::time::clock::Stopwatch;

/// How long an answer is good for.
const GOOD_FOR: Millis = Millis::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Writable {
    last: Mutex<Option<(Stopwatch, Result<(), Fault>)>>,
}

impl Writable {
    pub(crate) async fn ask(&self, store: &dyn Store) -> Result<(), Fault> {
        let mut last = self.last.lock().await;
        if let Some((watch, answer)) = &*last
            && watch.elapsed() < GOOD_FOR
        {
            return answer.clone();
        }
        let answer = store.try_write().await;
        *last = Some((Stopwatch::start(), answer.clone()));
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
        writable.ask(&store).await.unwrap();
        let asked = writable.last.lock().await.as_ref().unwrap().0;
        writable.ask(&store).await.unwrap();
        assert_eq!(format!("{:?}", writable.last.lock().await.as_ref().unwrap().0), format!("{asked:?}"));
    }
}
