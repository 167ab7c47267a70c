//! The contract between Ordo and whatever keeps its data.
//!
//! One operation writes: [`Store::commit`], atomically and durably, each item guarded by the version its writer saw.
//! Invariant: a driver never looks inside an event, a snapshot or the value of a row; the columns that a row shows come beside
//! it. Whatever a driver keeps besides events (snapshots, alarms, rows) can be rebuilt from them.

use async_trait::async_trait;
use ordo_model::{EntityId, Timestamp};
use uuid::Uuid;

mod batch;
mod cluster;
#[cfg(feature = "conformance")]
pub mod conformance;
mod fault;
mod partition;
mod quota;
mod submissions;
mod table;
mod transfer;
mod view;

pub use batch::{
    Alarm, Batch, Chunk, CommitOutcome, Dedup, Disposition, EVENT_ACTOR_MAX_BYTES, EVENT_KIND_MAX_BYTES, EventActor,
    Item, NewEvent, Trim,
};
pub use cluster::{Cluster, Hint, Hints, Lease, Node, NodeHeartbeat};
pub use fault::Fault;
pub use partition::{PARTITIONS, Partition};
pub use quota::{Quota, QuotaLimit, row_balance};
pub use submissions::{SubmissionOutcome, SubmissionQueue, SubmissionStatus, SubmittedRow};
pub use table::{CellType, JOB_STATES, KeyPart, TableCell, TableColumn, TableShape};
pub use transfer::{Transfer, TransferBatch, TransferredEvents, TransferredKey};
pub use view::{Direction, KeyRange, Row, RowWrite, View};

/// How many events a stream has had. 0: the stream does not exist.
pub type Version = u64;

/// A place in the log of all events. Opaque: only the driver that made it can read it. Empty: before the first event.
///
/// A reader that goes on after the position of the last event it got from [`Store::events`] misses no event and sees
/// none twice. The position that [`Store::history`] or an outcome returns is that of one event alone: going on after it
/// misses nothing and does not see that event again, but may see other entities' events that are older.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Position(pub String);

/// An event as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub entity: EntityId,
    pub version: Version,
    pub position: Position,
    pub at: Timestamp,
    pub kind: String,
    pub data: Vec<u8>,
    pub actor: EventActor,
}

/// The latest state of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub version: Version,
    pub alarm: Option<Alarm>,
    pub state: Vec<u8>,
}

/// An entry of the alarm index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueAlarm {
    pub at: Timestamp,
    pub rank: u8,
    pub entity: EntityId,
}

/// A piece of one stream, in order. `oldest` is the version of the first event still kept (a checkpoint, after trimming).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamPage {
    pub events: Vec<StoredEvent>,
    pub oldest: Version,
}

/// What a rebuild derived from the events of one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    pub entity: EntityId,
    pub snapshot: Snapshot,
    pub rows: Vec<RowWrite>,
}

/// How much is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    pub driver: &'static str,
    pub format: u32,
    pub bytes_on_disk: u64,
    pub events: u64,
    pub entities: u64,
    pub alarms: u64,
    pub chunks: u64,
    pub rows: Vec<(View, u64)>,
    /// What the driver's journal did, where it has one.
    pub journal: Option<JournalStats>,
}

/// A journal in front of the tables: what it holds, and what it did since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Records that a crash now would leave to be replayed.
    pub pending_bytes: u64,
    /// What its files take on the disk.
    pub allocated_bytes: u64,
    pub checkpoints: u64,
    /// The longest time commits waited for a checkpoint.
    pub checkpoint_micros_max: u64,
    /// What was replayed when the store was last opened.
    pub recovered_records: u64,
    pub recovered_bytes: u64,
    pub recovery_micros: u64,
}

/// What became of the items of one batch, in order.
pub type CommitResult = Result<Vec<CommitOutcome>, Fault>;

/// Reads see everything committed before they began. A read returns at most `limit` entries.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// One outcome per item, in order, once all of them are durable. A fault means that nothing is known to be durable.
    /// Several items of one batch may concern one entity: they apply in order. Chunks are written before the items.
    /// An item that is both a duplicate and a conflict is answered as a duplicate; one that is neither and finds a quota used up,
    /// as exhausted.
    async fn commit(&self, batch: Batch) -> CommitResult;

    /// The same on this thread, which waits for the disk: where that is quicker than handing the batch over to another one.
    /// Otherwise the batch comes back, for [`Store::commit`]. For callers that have a thread of their own.
    fn commit_here(&self, batch: Batch) -> Result<CommitResult, Batch> {
        Err(batch)
    }

    /// One answer per entity, in order.
    async fn load(&self, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault>;

    /// Events of one stream with version `from` and up. `oldest` is returned even when no event is.
    async fn history(&self, entity: EntityId, from: Version, limit: usize) -> Result<StreamPage, Fault>;

    /// All events after a position, in an order that does not depend on how they are paged: those of one entity by
    /// version, those of different entities as the driver keeps them (about by time). A position that was trimmed or
    /// purged meanwhile is still good: the reader goes on with the next event that is kept.
    async fn events(&self, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault>;

    /// How many events were given a position after `from` and up to `to`, whether they are still kept or not. A reader
    /// that got fewer between the two knows how many were gone before it came. Both are positions that
    /// [`Store::events`] returned, or the empty one.
    fn distance(&self, from: &Position, to: &Position) -> Result<u64, Fault>;

    /// Alarms at or before `until`, in order of (time, id), after the given entry.
    async fn due(&self, until: Timestamp, after: Option<DueAlarm>, limit: usize) -> Result<Vec<DueAlarm>, Fault>;

    /// Entities in order of id, with their snapshots.
    async fn entities(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<(EntityId, Snapshot)>, Fault>;

    /// Streams in order of id, from the events themselves: also of entities whose snapshot is gone.
    async fn streams(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault>;

    async fn row(&self, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault>;

    /// Whether the store shows [`View::columns`] in tables of its own. Then rows of these views are put with their cells.
    fn has_tables(&self) -> bool {
        false
    }

    /// The cells of a row, in a store with tables.
    async fn cells(&self, view: View, key: &[u8]) -> Result<Option<Vec<TableCell>>, Fault> {
        let _ = (view, key);
        Ok(None)
    }

    async fn rows(&self, view: View, range: &KeyRange, order: Direction, limit: usize) -> Result<Vec<Row>, Fault>;

    /// The values under many keys of one view, in one read: one per key, in order. A key may be given twice.
    async fn rows_by_key(&self, view: View, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Fault>;

    /// The rows of many ranges of one view, in one read: at most `limit` of each, one list per range, in order.
    async fn rows_of_ranges(
        &self,
        view: View,
        ranges: &[KeyRange],
        order: Direction,
        limit: usize,
    ) -> Result<Vec<Vec<Row>>, Fault>;

    /// Chunks of an owner with a number of `from` and up.
    async fn chunks(&self, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault>;

    /// What stands under a dedup key, if it has not expired at `now`.
    async fn dedup(&self, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault>;

    /// Forgets dedup keys that expired before `now`; returns how many.
    async fn forget_dedup(&self, now: Timestamp, limit: usize) -> Result<usize, Fault>;

    /// Empties every view, snapshot and alarm before a rebuild. Used offline. From here to [`Store::end_rebuild`]
    /// the store refuses to commit, also after a restart: half of the alarms would be a silent miss.
    async fn clear_derived(&self) -> Result<(), Fault>;

    /// Puts the snapshots, alarms and rows a rebuild found; all of one call are durable together.
    async fn rebuild(&self, found: Vec<Rebuilt>) -> Result<(), Fault>;

    /// Everything is there again: commits are accepted.
    async fn end_rebuild(&self) -> Result<(), Fault>;

    /// Counts everything, which may mean to read everything.
    async fn stats(&self) -> Result<Stats, Fault>;

    /// About the same, at a cost that does not grow with what is stored; `rows` may be left out. For whoever asks often.
    async fn estimate(&self) -> Result<Stats, Fault> {
        self.stats().await
    }

    /// Whether the store can be reached and read now.
    async fn ping(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Whether a commit would succeed now, found out by writing something small and meaningless. Costs about a commit.
    async fn try_write(&self) -> Result<(), Fault>;

    /// What makes the whole store unfit to be written, if it was found to be: damage beyond one entity.
    fn damage(&self) -> Option<String> {
        None
    }

    /// Whether other processes may write to the store too. Then what a writer remembers may be old, and what it
    /// builds on a commit that is still under way may stand on somebody else's: it must know a commit's outcome
    /// before it builds on it.
    fn is_shared(&self) -> bool {
        self.cluster().is_some()
    }

    /// What other programs submit with SQL, where the driver has it.
    fn submissions(&self) -> Option<&dyn SubmissionQueue> {
        None
    }

    /// What nodes need to work on one store together, where the driver has it.
    fn cluster(&self) -> Option<&dyn Cluster> {
        None
    }
}
