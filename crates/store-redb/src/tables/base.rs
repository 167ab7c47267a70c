//! The base: one moment of redb's tables, all of them opened, shared by everybody who reads until redb goes on.
//!
//! Invariant: it never changes. A new one is made after each transaction of redb that changes rows.

use ordo_model::Kind;
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
    /// The last job that has a snapshot or an event.
    last_job: Option<EntityKey>,
}

impl Base {
    pub(crate) fn of(database: &Database) -> Result<Base, Fault> {
        let read = database.begin_read().map_err(during("beginning to read"))?;
        let meta = table(&read, META)?;
        let (streams, snapshots) = (table(&read, STREAMS)?, table(&read, SNAPSHOTS)?);
        let last_job = last_job(&snapshots, &streams)?;
        Ok(Base {
            events: table(&read, EVENTS)?,
            streams,
            snapshots,
            last_job,
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

    /// Whether a key of `snapshots` or `streams` is beyond all jobs there are. Ids grow with time: a look for a new job
    /// ends here, without a walk through the tables.
    pub(crate) fn is_beyond_jobs(&self, key: &[u8]) -> bool {
        let is_beyond = |entity: &[u8]| self.last_job.is_none_or(|last| entity > last.as_slice());
        key.first() == Some(&Kind::Job.code()) && key.get(..ENTITY_BYTES).is_some_and(is_beyond)
    }
}

const ENTITY_BYTES: usize = std::mem::size_of::<EntityKey>();

/// The last job that has a snapshot or an event.
fn last_job(
    snapshots: &ReadOnlyTable<&'static EntityKey, &'static [u8]>,
    streams: &ReadOnlyTable<&'static StreamKey, u64>,
) -> Result<Option<EntityKey>, Fault> {
    let with_snapshot = snapshots.range::<&EntityKey>(&first_key(Kind::Job.code())..&first_key(Kind::Job.code() + 1));
    let with_snapshot =
        with_snapshot.and_then(|mut jobs| jobs.next_back().transpose()).map_err(during("looking for the last job"))?;
    let with_event = streams.range::<&StreamKey>(&first_key(Kind::Job.code())..&first_key(Kind::Job.code() + 1));
    let with_event =
        with_event.and_then(|mut events| events.next_back().transpose()).map_err(during("looking for the last job"))?;
    let with_snapshot = with_snapshot.map(|(key, _)| *key.value());
    Ok(with_snapshot.max(with_event.and_then(|(key, _)| key.value().first_chunk().copied())))
}

/// No key of this kind of entity is smaller.
const fn first_key<const N: usize>(kind: u8) -> [u8; N] {
    let mut key = [0; N];
    key[0] = kind;
    key
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("record", &self.record).field("position", &self.position).finish_non_exhaustive()
    }
}
