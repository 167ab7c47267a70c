//! An entity of any kind, as far as the kernel looks at it.
//!
//! Invariant: whatever is stored of an entity besides its events (snapshot, alarm, rows, chunks) is asked of its state, so
//! that it can never be stored without.

use std::any::Any;
use std::sync::Arc;

use ordo_model::job::{Job, Pool, Run};
use ordo_model::{EntityId, Millis, Timestamp};
use ordo_store::{Alarm, EventActor, Fault, NewEvent, RowWrite, Snapshot, StoredEvent, Trim, Version};
use serde_json::Value;
use uuid::Uuid;

use super::change::Change;
use super::encoding::codec::{self, CHECKPOINT, from_json};
use super::encoding::projection;
use super::kinds::Stored;

/// An entity together with the version of its stream. A job carries both itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Versioned<T> {
    pub id: Uuid,
    pub version: Version,
    pub value: T,
}

impl<T> std::ops::Deref for Versioned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Stored> Versioned<T> {
    pub fn entity(&self) -> EntityId {
        EntityId { kind: T::KIND, id: self.id }
    }
}

pub(crate) type EntityRef = Arc<dyn EntityState>;

pub(crate) trait EntityState: Any + Send + Sync {
    fn version(&self) -> Version;
    fn rank(&self) -> u8;
    /// What waits in its outbox is looked at within the delay.
    fn alarm(&self, flush_delay: Millis) -> Option<Alarm>;
    /// The rows that follow from the state alone; those of tables only for a store that has them.
    fn rows(&self, has_tables: bool) -> Vec<RowWrite>;
    /// The writes that bring the rows from the state before to this one, with the runs that were touched in between.
    fn row_changes(&self, before: Option<&EntityRef>, touched: &[&Run], has_tables: bool) -> Vec<RowWrite>;
    fn chunk_owners(&self) -> Vec<Uuid>;
    /// The whole stream may be forgotten.
    fn is_over(&self) -> bool;
    /// Its runs are known to take long.
    fn is_slow(&self) -> bool;
    /// Something is being done about it that will be reported soon.
    fn is_under_way(&self) -> bool {
        false
    }
    /// What the engine must know of it after a commit.
    fn describe(&self, has_events: bool, flush_delay: Millis, change: &mut Change);
    fn encode(&self) -> Vec<u8>;
    /// What it is called in the audit, if the event is a change that somebody made.
    fn audited_as(&self, event: &str) -> Option<&str>;
    /// The checkpoint that is due if the stream was at version `from` before.
    fn checkpoint(&self, from: Version, now: Timestamp) -> Option<Trim>;
    /// Whether a snapshot says the same.
    fn is_like(&self, snapshot: &[u8]) -> Result<bool, Fault>;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl EntityState for Job {
    fn version(&self) -> Version {
        self.version
    }

    fn rank(&self) -> u8 {
        Job::rank(self)
    }

    fn alarm(&self, flush_delay: Millis) -> Option<Alarm> {
        self.next_wake(flush_delay).map(|at| Alarm { at, rank: Job::rank(self) })
    }

    fn rows(&self, has_tables: bool) -> Vec<RowWrite> {
        projection::job_rows(self, has_tables)
    }

    fn row_changes(&self, before: Option<&EntityRef>, touched: &[&Run], has_tables: bool) -> Vec<RowWrite> {
        let before = before.and_then(|before| job(before).ok());
        projection::changes(before.as_deref(), self, touched, has_tables)
    }

    fn chunk_owners(&self) -> Vec<Uuid> {
        Vec::new()
    }

    /// A job is forgotten by a command of its own: see `Extra::Purge`.
    fn is_over(&self) -> bool {
        false
    }

    fn is_slow(&self) -> bool {
        self.pool() == Pool::Slow
    }

    fn is_under_way(&self) -> bool {
        self.active.iter().any(|run| run.attempt().is_some())
    }

    fn describe(&self, _has_events: bool, _flush_delay: Millis, change: &mut Change) {
        change.rank = Job::rank(self);
        // What waits in the outbox needs nobody to wake the job: it is reconciled at once, and by the stored alarm
        // after a crash.
        change.alarm = self.next_turn();
        change.is_overfull = self.is_overfull();
        if !self.outbox.is_empty() {
            change.reconcile.push(self.id.into());
        }
        change.pool = self.pool();
        change.waiting = projection::waiting(self).collect();
    }

    fn encode(&self) -> Vec<u8> {
        codec::encode_job(self)
    }

    /// A one-off is a run that somebody asked for rather than a definition: only what happens to it later is a change.
    fn audited_as(&self, event: &str) -> Option<&str> {
        let is_change = match event {
            "JobScheduled" => !self.definition.trigger.is_one_off(),
            "JobUpdated" | "JobPaused" | "JobResumed" | "JobCancelled" | "RunCancelRequested" | "BackfillRequested" => {
                true
            }
            _ => false,
        };
        is_change.then_some(&self.definition.label)
    }

    fn checkpoint(&self, _from: Version, _now: Timestamp) -> Option<Trim> {
        None
    }

    fn is_like(&self, snapshot: &[u8]) -> Result<bool, Fault> {
        Ok(codec::decode_job(snapshot)? == *self)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl<T: Stored> EntityState for Versioned<T> {
    fn version(&self) -> Version {
        self.version
    }

    fn rank(&self) -> u8 {
        self.value.rank()
    }

    fn alarm(&self, flush_delay: Millis) -> Option<Alarm> {
        self.value.next_wake(flush_delay).map(|at| Alarm { at, rank: self.value.rank() })
    }

    fn rows(&self, has_tables: bool) -> Vec<RowWrite> {
        let mut rows = self.value.rows(self.id);
        rows.extend(has_tables.then(|| self.value.table_row(self.id)).flatten());
        rows
    }

    fn row_changes(&self, before: Option<&EntityRef>, _touched: &[&Run], has_tables: bool) -> Vec<RowWrite> {
        let known = before.map(|before| before.rows(has_tables)).unwrap_or_default();
        projection::difference(&known, self.rows(has_tables))
    }

    fn chunk_owners(&self) -> Vec<Uuid> {
        self.value.chunk_owners()
    }

    fn is_over(&self) -> bool {
        self.value.is_over()
    }

    fn is_slow(&self) -> bool {
        false
    }

    fn describe(&self, has_events: bool, flush_delay: Millis, change: &mut Change) {
        change.rank = self.value.rank();
        change.alarm = self.value.next_wake(flush_delay);
        if self.value.is_urgent() && has_events {
            change.reconcile.push(self.entity());
        }
    }

    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(&self.value).expect("an entity is plain data")
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        self.value.audited_as(event)
    }

    fn checkpoint(&self, from: Version, now: Timestamp) -> Option<Trim> {
        let every = T::CHECKPOINT_EVERY?;
        let due = from / every != self.version / every;
        let checkpoint =
            || NewEvent { at: now, kind: CHECKPOINT.to_owned(), data: self.encode(), actor: EventActor::Ordo };
        due.then(|| Trim { through: self.version, checkpoint: checkpoint() })
    }

    fn is_like(&self, snapshot: &[u8]) -> Result<bool, Fault> {
        let other: T = from_json(snapshot).map_err(|e| unreadable(self.entity(), &e))?;
        Ok(other == self.value)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// The state as what it is.
pub(crate) fn typed<T: Stored>(state: &EntityRef) -> Result<Arc<Versioned<T>>, Fault> {
    let wrong = |_| Fault::misuse(format!("a state that is no {}", T::KIND.name()));
    state.clone().into_any().downcast::<Versioned<T>>().map_err(wrong)
}

pub(crate) fn job(state: &EntityRef) -> Result<Arc<Job>, Fault> {
    state.clone().into_any().downcast::<Job>().map_err(|_| Fault::misuse("a state that is no job"))
}

pub(crate) fn read<T: Stored>(id: Uuid, snapshot: &Snapshot) -> Result<Versioned<T>, Fault> {
    let entity = EntityId { kind: T::KIND, id };
    let value = from_json(&snapshot.state).map_err(|e| unreadable(entity, &e))?;
    Ok(Versioned { id, version: snapshot.version, value })
}

pub(super) fn decode_as<T: Stored>(entity: EntityId, snapshot: &Snapshot) -> Result<EntityRef, Fault> {
    Ok(Arc::new(read::<T>(entity.id, snapshot)?))
}

pub(super) fn fold_as<T: Stored>(before: Option<EntityRef>, stored: &StoredEvent) -> Result<EntityRef, Fault> {
    let (id, version) = (stored.entity.id, stored.version);
    if stored.kind == CHECKPOINT {
        let value: T = from_json(&stored.data).map_err(|e| unreadable(stored.entity, &e))?;
        return Ok(Arc::new(Versioned { id, version, value }));
    }
    let before = before.map(|state| typed::<T>(&state)).transpose()?.map(|state| state.value.clone());
    let event: T::Event = decode_event(stored)?;
    let value = T::apply(id, before, &event, stored.at)
        .map_err(|e| Fault::damaged(format!("event {version} of {}: {e}", stored.entity)))?;
    Ok(Arc::new(Versioned { id, version, value }))
}

/// The event as it was decided.
pub(crate) fn decode_event<E: serde::de::DeserializeOwned>(stored: &StoredEvent) -> Result<E, Fault> {
    let broken = |e: serde_json::Error| {
        Fault::damaged(format!("event {} of {} ({}) cannot be read: {e}", stored.version, stored.entity, stored.kind))
    };
    let data: Value = from_json(&stored.data).map_err(broken)?;
    serde_json::from_value(serde_json::json!({ "type": stored.kind, "data": data })).map_err(broken)
}

pub(crate) fn encode_event<E: serde::Serialize>(event: &E, at: Timestamp) -> NewEvent {
    let form = serde_json::to_value(event).expect("an event is plain data");
    let Value::Object(mut form) = form else { unreachable!("an event is written as type and data") };
    let Some(Value::String(kind)) = form.remove("type") else { unreachable!("an event has a type") };
    let data = form.remove("data").unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let data = serde_json::to_vec(&data).expect("a value is plain data");
    NewEvent { at, kind, data, actor: EventActor::Ordo }
}

fn unreadable(entity: EntityId, error: &serde_json::Error) -> Fault {
    Fault::damaged(format!("the state of {entity} cannot be read: {error}"))
}
