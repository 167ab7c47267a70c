//! One row as the overlay has it: its key, and its value or that it is gone.
//!
//! Invariant: key and value lie side by side in a block that the rows of one commit share and that never changes: a row
//! costs no allocation of its own, and copying a node of rows counts up a few blocks, which are at hand, and not each row.

use bytes::{Bytes, BytesMut};

/// What an entry takes beside its bytes, about: its place in a node.
const OVERHEAD_BYTES: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The key, then the value.
    bytes: Bytes,
    key_len: u32,
    present: bool,
}

impl Entry {
    /// Writes a row to the end of the block. No key reaches 4 GiB.
    pub(super) fn put(key: &[u8], value: &[u8], block: &mut BytesMut) -> Entry {
        Entry::write(key, Some(value), block)
    }

    pub(super) fn gone(key: &[u8], block: &mut BytesMut) -> Entry {
        Entry::write(key, None, block)
    }

    fn write(key: &[u8], value: Option<&[u8]>, block: &mut BytesMut) -> Entry {
        block.extend_from_slice(key);
        block.extend_from_slice(value.unwrap_or_default());
        Entry { bytes: block.split().freeze(), key_len: key.len() as u32, present: value.is_some() }
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
