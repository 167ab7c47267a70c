//! The contract between Ordo and whatever keeps its data.
//!
//! One operation writes: [`Store::commit`], atomically and durably, each item guarded by the version its writer saw.
//! Invariant: a driver never looks inside an event, a snapshot or a row. Whatever it keeps besides events
//! (snapshots, alarms, rows) can be rebuilt from them.

use async_trait::async_trait;
use ordo_model::{EntityId, Timestamp};
use uuid::Uuid;

mod fault;
mod view;

pub use fault::Fault;
pub use view::{KeyRange, Order, Row, RowWrite, View};

/// How many events a stream has had. 0: the stream does not exist.
pub type Version = u64;

/// A place in the log of all events. Opaque: only the driver that made it can read it. Empty: before the first event.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Position(pub String);

/// What one commit writes. All items of a batch become durable together; an item that is refused writes nothing.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub items: Vec<Item>,
    /// Log text and large results; unguarded, because their keys are written once.
    pub chunks: Vec<Chunk>,
}

/// A change of one entity.
#[derive(Debug, Clone)]
pub struct Item {
    pub entity: EntityId,
    /// The version the writer saw; the item is refused if it is another by now.
    pub expected: Version,
    pub events: Vec<NewEvent>,
    pub fate: Fate,
    /// Rows of the derived views to put or to delete.
    pub rows: Vec<RowWrite>,
    /// The item is refused if one of these is already there and not yet expired.
    pub dedup: Vec<Dedup>,
    /// Replaces the beginning of the stream by a checkpoint.
    pub trim: Option<Trim>,
    /// Owners (runs) whose chunks are forgotten.
    pub forget_chunks: Vec<Uuid>,
}

/// What becomes of the entity's snapshot and alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Keep {
        snapshot: Vec<u8>,
        alarm: Option<Alarm>,
    },
    /// The whole stream, its snapshot and its alarm go.
    Purge,
}

/// The next moment an entity wants to be woken, and how it ranks among others of the same moment (0 first).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alarm {
    pub at: Timestamp,
    pub rank: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub at: Timestamp,
    pub kind: String,
    /// JSON.
    pub data: Vec<u8>,
}

/// An event as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub entity: EntityId,
    pub version: Version,
    pub position: Position,
    pub at: Timestamp,
    pub kind: String,
    pub data: Vec<u8>,
}

/// Events up to and including version `through` are replaced by one checkpoint event that carries the folded state.
/// It takes the version and position of the last event it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trim {
    pub through: Version,
    pub checkpoint: NewEvent,
}

/// Something that must not happen twice before `until`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedup {
    pub key: Vec<u8>,
    pub until: Timestamp,
    /// Handed to whoever comes second.
    pub value: Vec<u8>,
}

/// Bytes that belong to an owner (a run), in order of `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub owner: Uuid,
    pub seq: u64,
    pub bytes: Vec<u8>,
}

/// What became of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Durable. `version` is the stream's new version; `last` the position of its last event (None if it added none).
    Committed { version: Version, last: Option<Position> },
    /// The stream is at another version.
    Conflict { actual: Version },
    /// A dedup key was there already; its value.
    Duplicate { value: Vec<u8> },
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
pub struct Ringing {
    pub at: Timestamp,
    pub rank: u8,
    pub entity: EntityId,
}

/// A piece of one stream, in order. `oldest` is the version of the first event still kept (a checkpoint, after trimming).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    pub events: Vec<Event>,
    pub oldest: Version,
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
}

/// Reads see everything committed before they began. A read answers at most `limit` entries.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// One outcome per item, in order, once all of them are durable. A fault means that nothing is known to be durable.
    /// Several items of one batch may concern one entity: they apply in order.
    async fn commit(&self, batch: Batch) -> Result<Vec<Outcome>, Fault>;

    /// One answer per entity, in order.
    async fn load(&self, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault>;

    /// Events of one stream with version `from` and up.
    async fn history(&self, entity: EntityId, from: Version, limit: usize) -> Result<History, Fault>;

    /// All events after a position, in the order of their positions.
    async fn events(&self, after: &Position, limit: usize) -> Result<Vec<Event>, Fault>;

    /// Alarms at or before `until`, in order of (time, id), after the given entry.
    async fn due(&self, until: Timestamp, after: Option<Ringing>, limit: usize) -> Result<Vec<Ringing>, Fault>;

    /// Entities in order of id, with their snapshots.
    async fn entities(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<(EntityId, Snapshot)>, Fault>;

    async fn row(&self, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault>;

    async fn rows(&self, view: View, range: &KeyRange, order: Order, limit: usize) -> Result<Vec<Row>, Fault>;

    /// Chunks of an owner with a number of `from` and up.
    async fn chunks(&self, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault>;

    /// What stands under a dedup key, if it has not expired at `now`.
    async fn dedup(&self, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault>;

    /// Forgets dedup keys that expired before `now`; answers how many.
    async fn forget_dedup(&self, now: Timestamp, limit: usize) -> Result<usize, Fault>;

    /// Replaces all rows of the given views, and snapshots with their alarms, by what a rebuild found. Used offline.
    async fn rebuild(&self, entity: EntityId, fate: Fate, version: Version, rows: Vec<RowWrite>) -> Result<(), Fault>;

    /// Empties every view, snapshot and alarm before a rebuild. Used offline.
    async fn clear_derived(&self) -> Result<(), Fault>;

    async fn stats(&self) -> Result<Stats, Fault>;
}
