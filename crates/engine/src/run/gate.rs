//! The gate before the slots: attempts that were started ahead of a free slot wait here until there is one.
//!
//! Invariant: never do more attempts of a pool execute than it has slots; they begin in the order in which they came.

use std::sync::Arc;

use ordo_model::job::Pool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::dispatch::PoolSizes;

#[derive(Debug, Clone)]
pub(crate) struct Gate {
    fast: Arc<Semaphore>,
    slow: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new(sizes: PoolSizes) -> Gate {
        let of = |slots: usize| Arc::new(Semaphore::new(slots));
        Gate { fast: of(sizes.fast.slots), slow: of(sizes.slow.slots) }
    }

    /// A slot, if one is free now.
    pub(crate) fn try_enter(&self, pool: Pool) -> Option<OwnedSemaphorePermit> {
        self.of(pool).try_acquire_owned().ok()
    }

    /// A slot, as soon as one is free.
    pub(crate) async fn enter(&self, pool: Pool) -> Option<OwnedSemaphorePermit> {
        self.of(pool).acquire_owned().await.ok()
    }

    fn of(&self, pool: Pool) -> Arc<Semaphore> {
        match pool {
            Pool::Fast => self.fast.clone(),
            Pool::Slow => self.slow.clone(),
        }
    }
}
