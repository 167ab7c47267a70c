//! What the journal did, for whoever looks: readable at any time, while others write.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ordo_store::JournalStats;

use super::{Journal, JournalTail};

#[derive(Debug, Default)]
pub(crate) struct Counters {
    allocated_bytes: AtomicU64,
    checkpoints: AtomicU64,
    checkpoint_micros_max: AtomicU64,
    recovered_records: AtomicU64,
    recovered_bytes: AtomicU64,
    recovery_micros: AtomicU64,
}

impl Counters {
    pub(crate) fn holds(&self, journal: &Journal) {
        self.allocated_bytes.store(journal.allocated_bytes(), Relaxed);
    }

    /// The files of the journal are gone.
    pub(crate) fn emptied(&self) {
        self.allocated_bytes.store(0, Relaxed);
    }

    pub(crate) fn checkpointed(&self) {
        self.checkpoints.fetch_add(1, Relaxed);
    }

    /// Commits waited for redb.
    pub(crate) fn waited(&self, micros: u64) {
        self.checkpoint_micros_max.fetch_max(micros, Relaxed);
    }

    pub(crate) fn recovered(&self, tail: &JournalTail, micros: u64) {
        self.recovered_records.store(tail.records(), Relaxed);
        self.recovered_bytes.store(tail.bytes(), Relaxed);
        self.recovery_micros.store(micros, Relaxed);
    }

    pub(crate) fn stats(&self, pending_bytes: u64) -> JournalStats {
        JournalStats {
            pending_bytes,
            allocated_bytes: self.allocated_bytes.load(Relaxed),
            checkpoints: self.checkpoints.load(Relaxed),
            checkpoint_micros_max: self.checkpoint_micros_max.load(Relaxed),
            recovered_records: self.recovered_records.load(Relaxed),
            recovered_bytes: self.recovered_bytes.load(Relaxed),
            recovery_micros: self.recovery_micros.load(Relaxed),
        }
    }
}
