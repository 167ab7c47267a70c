//! What the executor has in hand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_api::executors::HeldRun;
use ordo_model::{FencingToken, RunId};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::work::Cancel;

#[derive(Debug)]
pub(super) struct HeldRuns {
    /// The server gives no more than the capacity; one that took a run for lost may give the next one before this one
    /// has ended.
    slots: Arc<Semaphore>,
    held: Mutex<HashMap<RunId, (FencingToken, Cancel)>>,
    changed: Notify,
}

impl HeldRuns {
    pub(super) fn new(capacity: usize) -> HeldRuns {
        let slots = Arc::new(Semaphore::new(capacity.clamp(1, Semaphore::MAX_PERMITS)));
        HeldRuns { slots, held: Mutex::default(), changed: Notify::new() }
    }

    pub(super) fn begin(&self, run_id: RunId, token: FencingToken, cancel: Cancel) {
        self.lock().insert(run_id, (token, cancel));
    }

    /// Waits until fewer runs work than the capacity allows.
    pub(super) async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.slots.clone().acquire_owned().await.ok()
    }

    /// The run is over. A newer attempt of it keeps its own entry.
    pub(super) fn end(&self, run_id: RunId, token: FencingToken) {
        let mut held = self.lock();
        if held.get(&run_id).is_some_and(|(current, _)| *current == token) {
            held.remove(&run_id);
        }
        drop(held);
        self.changed.notify_waiters();
    }

    pub(super) fn held(&self) -> Vec<HeldRun> {
        self.lock().iter().map(|(run_id, (token, _))| HeldRun { run_id: *run_id, token: *token }).collect()
    }

    pub(super) fn cancel(&self, run_id: RunId) {
        if let Some((_, cancel)) = self.lock().get(&run_id) {
            cancel.fire();
        }
    }

    pub(super) fn cancel_all(&self) {
        self.lock().values().for_each(|(_, cancel)| cancel.fire());
    }

    /// Waits until nothing runs.
    pub(super) async fn idle(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, (FencingToken, Cancel)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
