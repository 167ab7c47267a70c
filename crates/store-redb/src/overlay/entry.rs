//! One row as the overlay has it: its key, and its value or that it is gone.
//!
//! Invariant: key and value lie in one run of bytes that never changes, so that a copy is one count.

use std::sync::Arc;

/// What an entry takes beside its bytes, about: its place in a node, its counts, the allocator's share.
const OVERHEAD_BYTES: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The key, then the value.
    bytes: Arc<[u8]>,
    key_len: u32,
    present: bool,
}

impl Entry {
    /// `bytes`: the key, then the value. No key reaches 4 GiB.
    pub(super) fn put(bytes: &[u8], key_len: usize) -> Entry {
        Entry { bytes: Arc::from(bytes), key_len: key_len as u32, present: true }
    }

    pub(super) fn gone(key: &[u8]) -> Entry {
        Entry { bytes: Arc::from(key), key_len: key.len() as u32, present: false }
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len as usize]
    }

    /// None: there is no such row, whatever lies below says.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.present.then(|| &self.bytes[self.key_len as usize..])
    }

    pub(super) fn memory_bytes(&self) -> usize {
        OVERHEAD_BYTES + self.bytes.len()
    }
}
