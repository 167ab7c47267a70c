//! The places of one pool of this process.
//!
//! Invariant: a place is free, reserved for one order, or running one attempt.

/// How many attempts run at once, and how many waiting runs of each tool are held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSize {
    pub slots: usize,
    pub queue: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSizes {
    pub fast: PoolSize,
    pub slow: PoolSize,
}

impl Default for PoolSizes {
    fn default() -> PoolSizes {
        PoolSizes { fast: PoolSize { slots: 200, queue: 2_000 }, slow: PoolSize { slots: 100, queue: 5_000 } }
    }
}

#[derive(Debug)]
pub(super) struct Slots {
    pub(super) size: PoolSize,
    pub(super) reserved: usize,
    pub(super) running: usize,
}

impl Slots {
    pub(super) fn new(size: PoolSize) -> Slots {
        Slots { size, reserved: 0, running: 0 }
    }

    pub(super) fn free(&self) -> usize {
        self.size.slots.saturating_sub(self.running + self.reserved)
    }

    pub(super) fn give_back(&mut self) {
        self.reserved = self.reserved.checked_sub(1).expect("a place given back was reserved before");
    }
}
