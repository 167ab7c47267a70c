//! The overlay: rows that are durable in the journal and that redb does not hold yet, by table and key.
//!
//! Invariants: a copy of an overlay costs little and never changes, so readers hold one as long as they like. A key has
//! one entry, its latest: what was written several times reaches redb once. An overlay says up to which record of the
//! journal it goes; whoever takes it into redb writes that number with it.

mod entries;
mod entry;
mod map;
#[cfg(test)]
mod tests;

pub(crate) use entries::Entries;
pub(crate) use entry::Entry;
pub(crate) use map::Map;

use bytes::BytesMut;

use crate::tables::{TABLES, TableId};

/// How far a state of the store goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The last record of the journal in it.
    pub(crate) record: u64,
    /// The last position given out.
    pub(crate) position: u64,
    /// How many bytes of records the journal took up to there, since it was opened.
    pub(crate) journal_bytes: u64,
}

/// How many rows more or fewer there are because of an overlay, counted while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Growth {
    pub(crate) events: i64,
    pub(crate) entities: i64,
    pub(crate) alarms: i64,
}

impl Growth {
    pub(crate) fn plus(self, other: Growth) -> Growth {
        Growth {
            events: self.events + other.events,
            entities: self.entities + other.entities,
            alarms: self.alarms + other.alarms,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Overlay {
    maps: [Map; TABLES],
    memory_bytes: usize,
    pub(crate) mark: Mark,
    pub(crate) growth: Growth,
}

impl Overlay {
    pub(crate) fn empty(mark: Mark) -> Overlay {
        Overlay { maps: Default::default(), memory_bytes: 0, mark, growth: Growth::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.maps.iter().all(|map| map.len() == 0)
    }

    /// About how much memory it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Whether it has so many bytes that a transaction of redb is worth its while.
    pub(crate) fn is_worth(&self, bytes: usize) -> bool {
        self.memory_bytes >= bytes
    }

    pub(crate) fn map(&self, table: TableId) -> &Map {
        &self.maps[table.index()]
    }

    /// The row's bytes go to the end of `block`, which the rows of a commit share.
    pub(crate) fn put(&mut self, table: TableId, key: &[u8], value: &[u8], block: &mut BytesMut) {
        self.insert(table, Entry::put(key, value, block));
    }

    pub(crate) fn delete(&mut self, table: TableId, key: &[u8], block: &mut BytesMut) {
        self.insert(table, Entry::gone(key, block));
    }

    /// What is replaced stays in the block of its commit until the overlay is dropped.
    fn insert(&mut self, table: TableId, entry: Entry) {
        self.memory_bytes += entry.memory_bytes();
        self.maps[table.index()].insert(entry);
    }
}
