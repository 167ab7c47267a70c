//! An object of any kind, as far as the kernel looks at it.

use std::any::Any;
use std::sync::Arc;

use ordo_model::{EntityId, Timestamp};
use ordo_store::{Alarm, Event, Fault, NewEvent, RowWrite, Snapshot, Trim, Version};
use serde_json::Value;
use uuid::Uuid;

use super::Stored;
use crate::commit::codec::CHECKPOINT;

/// An object together with the version of its stream.
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

pub(crate) trait State: Any + Send + Sync {
    fn version(&self) -> Version;
    fn alarm(&self) -> Option<Alarm>;
    fn rank(&self) -> u8;
    fn is_urgent(&self) -> bool;
    fn rows(&self) -> Vec<RowWrite>;
    fn chunk_owners(&self) -> Vec<Uuid>;
    fn is_over(&self) -> bool;
    fn encode(&self) -> Vec<u8>;
    /// The checkpoint that is due if the stream was at version `from` before.
    fn checkpoint(&self, from: Version, now: Timestamp) -> Option<Trim>;
    /// Whether a snapshot says the same.
    fn is_like(&self, snapshot: &[u8]) -> Result<bool, Fault>;
    fn shared(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Stored> State for Versioned<T> {
    fn version(&self) -> Version {
        self.version
    }

    fn alarm(&self) -> Option<Alarm> {
        self.value.next_wake().map(|at| Alarm { at, rank: self.value.rank() })
    }

    fn rank(&self) -> u8 {
        self.value.rank()
    }

    fn is_urgent(&self) -> bool {
        self.value.is_urgent()
    }

    fn rows(&self) -> Vec<RowWrite> {
        self.value.rows(self.id)
    }

    fn chunk_owners(&self) -> Vec<Uuid> {
        self.value.chunk_owners()
    }

    fn is_over(&self) -> bool {
        self.value.is_over()
    }

    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(&self.value).expect("an object is plain data")
    }

    fn checkpoint(&self, from: Version, now: Timestamp) -> Option<Trim> {
        let every = T::CHECKPOINT_EVERY?;
        let due = from / every != self.version / every;
        let checkpoint = || NewEvent { at: now, kind: CHECKPOINT.to_owned(), data: self.encode() };
        due.then(|| Trim { through: self.version, checkpoint: checkpoint() })
    }

    fn is_like(&self, snapshot: &[u8]) -> Result<bool, Fault> {
        let other: T = serde_json::from_slice(snapshot).map_err(|e| unreadable(self.entity(), &e))?;
        Ok(other == self.value)
    }

    fn shared(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// The state as what it is.
pub(crate) fn typed<T: Stored>(state: &Arc<dyn State>) -> Result<Arc<Versioned<T>>, Fault> {
    let wrong = |_| Fault::misuse(format!("a state that is no {}", T::KIND.name()));
    state.clone().shared().downcast::<Versioned<T>>().map_err(wrong)
}

pub(crate) fn read<T: Stored>(id: Uuid, snapshot: &Snapshot) -> Result<Versioned<T>, Fault> {
    let entity = EntityId { kind: T::KIND, id };
    let value = serde_json::from_slice(&snapshot.state).map_err(|e| unreadable(entity, &e))?;
    Ok(Versioned { id, version: snapshot.version, value })
}

pub(super) fn decode_as<T: Stored>(entity: EntityId, snapshot: &Snapshot) -> Result<Arc<dyn State>, Fault> {
    Ok(Arc::new(read::<T>(entity.id, snapshot)?))
}

pub(super) fn fold_as<T: Stored>(before: Option<Arc<dyn State>>, stored: &Event) -> Result<Arc<dyn State>, Fault> {
    let (id, version) = (stored.entity.id, stored.version);
    if stored.kind == CHECKPOINT {
        let value: T = serde_json::from_slice(&stored.data).map_err(|e| unreadable(stored.entity, &e))?;
        return Ok(Arc::new(Versioned { id, version, value }));
    }
    let before = before.map(|state| typed::<T>(&state)).transpose()?.map(|kept| kept.value.clone());
    let event: T::Event = decode_event(stored)?;
    let value = T::apply(id, before, &event, stored.at)
        .map_err(|e| Fault::damaged(format!("event {version} of {}: {e}", stored.entity)))?;
    Ok(Arc::new(Versioned { id, version, value }))
}

/// The event as it was decided.
pub(crate) fn decode_event<E: serde::de::DeserializeOwned>(stored: &Event) -> Result<E, Fault> {
    let broken = |e: serde_json::Error| {
        Fault::damaged(format!("event {} of {} ({}) cannot be read: {e}", stored.version, stored.entity, stored.kind))
    };
    let data: Value = serde_json::from_slice(&stored.data).map_err(broken)?;
    serde_json::from_value(serde_json::json!({ "type": stored.kind, "data": data })).map_err(broken)
}

pub(crate) fn encode_event<E: serde::Serialize>(event: &E, at: Timestamp) -> NewEvent {
    let form = serde_json::to_value(event).expect("an event is plain data");
    let Value::Object(mut form) = form else { unreachable!("an event is written as type and data") };
    let Some(Value::String(kind)) = form.remove("type") else { unreachable!("an event has a type") };
    let data = form.remove("data").unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    NewEvent { at, kind, data: serde_json::to_vec(&data).expect("a value is plain data") }
}

fn unreadable(entity: EntityId, error: &serde_json::Error) -> Fault {
    Fault::damaged(format!("the state of {entity} cannot be read: {error}"))
}
