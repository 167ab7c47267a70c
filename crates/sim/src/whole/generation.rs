//! One generation of a process: whether it still lives, stands still, or cannot reach its store.
//!
//! Invariant: whoever is dead never comes back from waiting, so nothing it meant to do next is done.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use tokio::sync::Notify;

use super::scene::Scene;
use crate::disk::Plug;

#[derive(Debug)]
pub(crate) struct NodeGeneration {
    is_dead: AtomicBool,
    /// Wakes those who wait for the end in the order in which they came. A `watch` would not: it spreads its waiters by a
    /// chance of its own, and who is woken first draws first.
    death: Notify,
    frozen_until: AtomicI64,
    pub(crate) cut_off_until: AtomicI64,
    /// The disk of an embedded store.
    plug: Option<Plug>,
}

impl NodeGeneration {
    pub(crate) fn new(plug: Option<Plug>) -> NodeGeneration {
        NodeGeneration {
            is_dead: AtomicBool::new(false),
            death: Notify::new(),
            frozen_until: AtomicI64::new(0),
            cut_off_until: AtomicI64::new(0),
            plug,
        }
    }

    /// The process is gone from here on.
    pub(crate) fn end(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        if let Some(plug) = &self.plug {
            plug.pull();
        }
        self.death.notify_waiters();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    /// Returns when the process is gone.
    pub(crate) async fn ended(&self) {
        // It hears from here on, also of an end between the question and the wait.
        let death = self.death.notified();
        if !self.is_over() {
            death.await;
        }
    }

    pub(crate) fn freeze(&self, until: i64) {
        self.frozen_until.fetch_max(until, Ordering::Relaxed);
    }

    pub(crate) fn cut_off(&self, until: i64) {
        self.cut_off_until.fetch_max(until, Ordering::Relaxed);
    }

    /// Stands still as long as the process does; never returns for one that is gone.
    pub(crate) async fn alive(&self, scene: &Scene) {
        // A disk whose plug was pulled in the middle of a commit takes the process with it.
        if self.plug.as_ref().is_some_and(Plug::is_cut) {
            self.end();
        }
        let frozen = self.frozen_until.load(Ordering::Relaxed);
        if !scene.is_calm() && frozen > scene.mono() {
            scene.sleep(frozen - scene.mono()).await;
        }
        if self.is_over() {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn is_cut_off(&self, scene: &Scene) -> bool {
        !scene.is_calm() && self.cut_off_until.load(Ordering::Relaxed) > scene.mono()
    }
}
