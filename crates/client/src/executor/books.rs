//! What the executor has in hand.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::work::Cancel;

#[derive(Debug)]
pub(super) struct Books {
    capacity: usize,
    held: Mutex<HashMap<String, (u64, Cancel)>>,
    changed: Notify,
}

impl Books {
    pub(super) fn new(capacity: usize) -> Books {
        Books { capacity: capacity.max(1), held: Mutex::default(), changed: Notify::new() }
    }

    pub(super) fn begin(&self, run_id: &str, token: u64, cancel: Cancel) {
        self.lock().insert(run_id.to_owned(), (token, cancel));
    }

    /// The run is over. A newer attempt of it keeps its own entry.
    pub(super) fn end(&self, run_id: &str, token: u64) {
        let mut held = self.lock();
        if held.get(run_id).is_some_and(|(current, _)| *current == token) {
            held.remove(run_id);
        }
        drop(held);
        self.changed.notify_waiters();
    }

    pub(super) fn held(&self) -> Vec<(String, u64)> {
        self.lock().iter().map(|(run, (token, _))| (run.clone(), *token)).collect()
    }

    pub(super) fn cancel(&self, run_id: &str) {
        if let Some((_, cancel)) = self.lock().get(run_id) {
            cancel.fire();
        }
    }

    pub(super) fn cancel_all(&self) {
        self.lock().values().for_each(|(_, cancel)| cancel.fire());
    }

    /// How many more runs it can take; waits until that is at least one.
    pub(super) async fn free(&self) -> usize {
        loop {
            let changed = self.changed.notified();
            let free = self.capacity.saturating_sub(self.lock().len());
            if free > 0 {
                return free;
            }
            changed.await;
        }
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (u64, Cancel)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
