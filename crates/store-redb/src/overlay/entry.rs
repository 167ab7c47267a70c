//! One row as the overlay has it: its key, and its value or that it is gone.
//!
//! Invariant: key and value lie side by side in a block that the rows of one commit share and that never changes: a row
//! costs no allocation of its own, and copying a node of rows counts up a few blocks, which are at hand, and not each row.

use std::cmp::Ordering;

use bytes::{Bytes, BytesMut};

/// What an entry takes beside its bytes, about: its place in a node.
const OVERHEAD_BYTES: usize = 64;

/// A key, and its first bytes as a number that sorts like them: most comparisons end there, without a look at the key
/// itself, which lies elsewhere in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct SortKey<'k> {
    head: KeyHead,
    key: &'k [u8],
}

/// The first 16 bytes of a key; a shorter one is filled up with zeros.
pub(super) type KeyHead = u128;

pub(super) fn head_of(key: &[u8]) -> KeyHead {
    let mut head = [0; 16];
    let len = key.len().min(head.len());
    head[..len].copy_from_slice(&key[..len]);
    KeyHead::from_be_bytes(head)
}

impl<'k> SortKey<'k> {
    pub(super) fn of(key: &'k [u8]) -> SortKey<'k> {
        SortKey { head: head_of(key), key }
    }

    /// A key whose head is known.
    pub(super) fn known(head: KeyHead, key: &'k [u8]) -> SortKey<'k> {
        SortKey { head, key }
    }

    pub(super) fn cmp(self, other: SortKey<'_>) -> Ordering {
        self.head.cmp(&other.head).then_with(|| self.key.cmp(other.key))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    head: KeyHead,
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
        let (head, key_len, present) = (head_of(key), key.len() as u32, value.is_some());
        Entry { head, bytes: block.split().freeze(), key_len, present }
    }

    pub(super) fn sort_key(&self) -> SortKey<'_> {
        SortKey::known(self.head, self.key())
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
