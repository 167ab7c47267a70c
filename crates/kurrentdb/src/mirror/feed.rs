//! The log of all events, what wakes whoever follows it, and whether this node is to do so.

use std::sync::Arc;

use ordo_engine::Engine;
use ordo_engine::change_hint::ChangeHint;
use ordo_engine::clock::SharedClock;
use ordo_engine::mirror::MIRROR_PROGRESS;
use ordo_engine::partitions::Ownership;
use ordo_store::{Partition, Store};
use tokio::sync::{broadcast, watch};

/// Where events come from.
pub struct Feed {
    pub(super) store: Arc<dyn Store>,
    pub(super) hints: broadcast::Receiver<ChangeHint>,
    pub(super) ownership: watch::Receiver<Ownership>,
    clock: SharedClock,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("ownership", &self.ownership).finish_non_exhaustive()
    }
}

impl Feed {
    pub fn of(engine: &Engine) -> Feed {
        let store = engine.queries().store().clone();
        Feed::new(store, engine.watch(), engine.ownership(), engine.clock().clone())
    }

    pub fn new(
        store: Arc<dyn Store>,
        hints: broadcast::Receiver<ChangeHint>,
        ownership: watch::Receiver<Ownership>,
        clock: SharedClock,
    ) -> Feed {
        Feed { store, hints, ownership, clock }
    }

    /// Of the nodes that share a store, the one that serves this partition mirrors. Two at once would do no harm.
    pub(super) fn is_ours(&self) -> bool {
        let ours = *self.ownership.borrow();
        ours.partitions.contains(Partition::of_id(MIRROR_PROGRESS)) && ours.until > self.clock.now()
    }
}
