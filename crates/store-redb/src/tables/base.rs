//! The base: one moment of redb's tables, all of them opened, shared by everybody who reads until redb goes on.
//!
//! Invariant: it never changes. A new one is made after each transaction of redb that changes rows.

use ordo_store::{Fault, View};
use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase};

use crate::fault::during;
use crate::read::{number, table};
use crate::tables::{
    ALARMS, AlarmKey, AlarmValue, CHUNKS, ChunkKey, DEDUP, DEDUP_EXPIRY, EVENTS, EntityKey, META, META_JOURNAL_RECORD,
    META_POSITION, META_REBUILDING, SNAPSHOTS, STREAMS, StreamKey, rows,
};

pub(crate) struct Base {
    pub(crate) events: ReadOnlyTable<u64, &'static [u8]>,
    pub(crate) streams: ReadOnlyTable<&'static StreamKey, u64>,
    pub(crate) snapshots: ReadOnlyTable<&'static EntityKey, &'static [u8]>,
    pub(crate) alarms: ReadOnlyTable<&'static AlarmKey, &'static AlarmValue>,
    pub(crate) chunks: ReadOnlyTable<&'static ChunkKey, &'static [u8]>,
    pub(crate) dedup: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(crate) dedup_expiry: ReadOnlyTable<&'static [u8], ()>,
    /// By view.
    pub(crate) rows: Vec<ReadOnlyTable<&'static [u8], &'static [u8]>>,
    /// Whether the derived tables are incomplete.
    pub(crate) is_rebuilding: bool,
    pub(crate) position: u64,
    pub(crate) record: u64,
    pub(crate) read: ReadTransaction,
}

impl Base {
    pub(crate) fn of(database: &Database) -> Result<Base, Fault> {
        let read = database.begin_read().map_err(during("beginning to read"))?;
        let meta = table(&read, META)?;
        Ok(Base {
            events: table(&read, EVENTS)?,
            streams: table(&read, STREAMS)?,
            snapshots: table(&read, SNAPSHOTS)?,
            alarms: table(&read, ALARMS)?,
            chunks: table(&read, CHUNKS)?,
            dedup: table(&read, DEDUP)?,
            dedup_expiry: table(&read, DEDUP_EXPIRY)?,
            rows: View::ALL.into_iter().map(|view| table(&read, rows(view))).collect::<Result<_, Fault>>()?,
            is_rebuilding: number(&meta, META_REBUILDING)? != 0,
            position: number(&meta, META_POSITION)?,
            record: number(&meta, META_JOURNAL_RECORD)?,
            read,
        })
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("record", &self.record).field("position", &self.position).finish_non_exhaustive()
    }
}
