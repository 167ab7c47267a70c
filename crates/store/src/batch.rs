//! What a commit is given and what it answers.
//!
//! Invariant: what [`Batch::check`] lets pass can only be committed or refused; every rule that needs no look into
//! the store is there, so that one bad batch cannot spoil the batches that are committed together with it.

use std::sync::Arc;

use ordo_model::{EntityId, Timestamp};
use uuid::Uuid;

use crate::{Fault, Position, Quota, RowWrite, Version};

/// The longest name of a kind of event: its length is stored in six bits.
pub const EVENT_KIND_MAX_BYTES: usize = 63;
/// The most that may be written down of who brought an event about: its length is stored in two bytes.
pub const EVENT_ACTOR_MAX_BYTES: usize = 65_535;

/// What one commit writes. All items of a batch become durable together; an item that is refused writes nothing.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub items: Vec<Item>,
    /// Log text and large results, and what has one writer only; unguarded: a chunk given again replaces the former.
    pub chunks: Vec<Chunk>,
}

/// A change of one entity.
#[derive(Debug, Clone)]
pub struct Item {
    pub entity: EntityId,
    /// The version the writer saw; the item is refused if it is another by now.
    pub expected: Version,
    pub events: Vec<NewEvent>,
    pub disposition: Disposition,
    /// Rows of the derived views to put or to delete.
    pub rows: Vec<RowWrite>,
    /// The item is refused if one of these is already there and not yet expired.
    pub dedup: Vec<Dedup>,
    /// The item is refused if one of these is used up.
    pub quotas: Vec<Quota>,
    /// Keys of quotas of which the item gives a share back: whoever waits for one is woken. A hint, and not kept.
    pub freed: Vec<Vec<u8>>,
    /// Replaces the beginning of the stream by a checkpoint.
    pub trim: Option<Trim>,
    /// Owners (runs) whose chunks are forgotten.
    pub forget_chunks: Vec<Uuid>,
}

/// What becomes of the entity's snapshot and alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    Keep {
        snapshot: Vec<u8>,
        alarm: Option<Alarm>,
    },
    /// The whole stream, its snapshot and its alarm go, and so do the events of this very item.
    /// The stream is at version 0 again; positions are never used a second time.
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
    /// 1 to [`EVENT_KIND_MAX_BYTES`] bytes.
    pub kind: String,
    /// JSON.
    pub data: Vec<u8>,
    pub actor: EventActor,
}

/// Who brought an event about. The bytes are the engine's: a driver keeps them and never looks inside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventActor {
    /// Ordo by itself, as it is with most events: this takes no room in a store.
    #[default]
    Ordo,
    /// Nobody wrote it down: the event is older than actors are.
    Unknown,
    /// 1 to [`EVENT_ACTOR_MAX_BYTES`] bytes.
    Recorded(Arc<[u8]>),
}

/// Events up to and including version `through` are replaced by one checkpoint event that carries the folded state.
/// It takes the version and position of the last event it replaces. Applies after the item's own events; where
/// everything up to `through` is already gone, nothing happens: an older trim does no harm, the same twice is once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trim {
    pub through: Version,
    pub checkpoint: NewEvent,
}

/// Something that must not happen twice from `at` until just before `until`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedup {
    pub key: Vec<u8>,
    /// Now, by the writer's clock: whether an older entry has expired is judged by it.
    pub at: Timestamp,
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
pub enum CommitOutcome {
    /// Durable. `version` is the stream's new version; `last` the position of its last event (None if it added none).
    Committed { version: Version, last: Option<Position> },
    /// The stream is at another version.
    Conflict { actual: Version },
    /// A dedup key was there already: which one, and its value.
    Duplicate { key: Vec<u8>, value: Vec<u8> },
    /// A quota was used up: which one, and from when on a share of it is free, where time alone brings that about.
    Exhausted { key: Vec<u8>, until: Option<Timestamp> },
}

impl Batch {
    /// Rules out what no writer may ask for. Drivers call it before they write.
    pub fn check(&self) -> Result<(), Fault> {
        self.items.iter().try_for_each(Item::check)
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.chunks.is_empty()
    }

    /// About how many bytes it adds: drivers gather batches up to a limit.
    pub fn bytes(&self) -> usize {
        self.items.iter().map(Item::bytes).sum::<usize>()
            + self.chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>()
    }
}

impl Item {
    fn check(&self) -> Result<(), Fault> {
        let new_version = self.expected + self.events.len() as Version;
        if new_version == 0 && self.disposition != Disposition::Purge {
            return Err(Fault::misuse(format!("a snapshot of {} without any event", self.entity)));
        }
        if let Some(trim) = &self.trim
            && trim.through > new_version
        {
            return Err(Fault::misuse(format!(
                "a trim of {} through version {}, but it ends at {new_version}",
                self.entity, trim.through
            )));
        }
        let checkpoint = self.trim.iter().map(|trim| &trim.checkpoint);
        self.events.iter().chain(checkpoint).try_for_each(NewEvent::check)
    }

    fn bytes(&self) -> usize {
        let snapshot = match &self.disposition {
            Disposition::Keep { snapshot, alarm: _ } => snapshot.len(),
            Disposition::Purge => 0,
        };
        let events: usize = self.events.iter().map(NewEvent::bytes).sum();
        let rows: usize = self.rows.iter().map(|row| row.key.len() + row.value.as_ref().map_or(0, Vec::len)).sum();
        let dedup: usize = self.dedup.iter().map(|entry| 2 * entry.key.len() + entry.value.len()).sum();
        let quotas: usize = self.quotas.iter().map(|quota| quota.key.len()).sum();
        let checkpoint = self.trim.as_ref().map_or(0, |trim| trim.checkpoint.data.len());
        snapshot + events + rows + dedup + quotas + checkpoint
    }
}

impl NewEvent {
    fn check(&self) -> Result<(), Fault> {
        if !(1..=EVENT_KIND_MAX_BYTES).contains(&self.kind.len()) {
            return Err(Fault::misuse(format!("a kind of event of {} bytes", self.kind.len())));
        }
        match &self.actor {
            EventActor::Recorded(actor) if !(1..=EVENT_ACTOR_MAX_BYTES).contains(&actor.len()) => {
                Err(Fault::misuse(format!("an actor of {} bytes", actor.len())))
            }
            EventActor::Recorded(_) | EventActor::Ordo | EventActor::Unknown => Ok(()),
        }
    }

    fn bytes(&self) -> usize {
        let actor = match &self.actor {
            EventActor::Recorded(actor) => actor.len(),
            EventActor::Ordo | EventActor::Unknown => 0,
        };
        self.data.len() + self.kind.len() + actor
    }
}
