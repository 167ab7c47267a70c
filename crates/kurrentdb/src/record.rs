//! An event of Ordo as it is written to KurrentDB, and as it is recognised there again.
//!
//! Invariant: the id follows from stream, version, time, type and data alone: the same event has the same id whoever
//! sends it and however often, and another event at the same version has another.

use kurrentdb::{EventData, RecordedEvent};
use ordo_engine::actor::actor_of;
use ordo_engine::codec::CHECKPOINT;
use ordo_model::credential::covered;
use ordo_model::{Actor, EntityId, Timestamp};
use ordo_store::{Fault, StoredEvent, Version};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

/// The namespace of the ids.
const IDS: Uuid = Uuid::from_u128(0x0d50_0000_0000_8000_8000_6b75_7272_656e);

/// What an event needs besides its data: small beside it, and counted so that an append stays below the server's limit.
const OVERHEAD_BYTES: usize = 2_048;

/// The metadata of an event in KurrentDB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) ordo: Origin,
}

/// Where an event comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The mirror that wrote it.
    pub(crate) mirror: Uuid,
    /// Its number in its stream, from 1.
    pub(crate) version: Version,
    pub(crate) at: Timestamp,
    /// Who brought it about. It is no part of the id: events that were mirrored before had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) actor: Option<Actor>,
}

/// An event on its way.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: Uuid,
    pub(crate) version: Version,
    pub(crate) at: Timestamp,
    pub(crate) kind: String,
    data: Box<RawValue>,
    actor: Actor,
}

/// An event that stands in KurrentDB and was written by a mirror of Ordo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mirrored {
    pub(crate) revision: u64,
    pub(crate) version: Version,
    pub(crate) id: Uuid,
    pub(crate) at: Timestamp,
    pub(crate) mirror: Uuid,
    pub(crate) is_checkpoint: bool,
}

impl Record {
    /// As everybody may see it who may read events: credentials in it are covered.
    pub(crate) fn of(event: StoredEvent) -> Result<Record, Fault> {
        let actor = actor_of(&event)?;
        let unreadable = || Fault::damaged(format!("event {} of {} is not JSON", event.version, event.entity));
        let text = match ordo_model::credential::to_use(event.entity.kind) {
            None => String::from_utf8(event.data).map_err(|_| unreadable())?,
            Some(_) => {
                let data = serde_json::from_slice(&event.data).map_err(|_| unreadable())?;
                covered(event.entity.kind, data).to_string()
            }
        };
        let data = RawValue::from_string(text).map_err(|_| unreadable())?;
        let id = id_of(event.entity, event.version, event.at, &event.kind, data.get().as_bytes());
        Ok(Record { id, version: event.version, at: event.at, kind: event.kind, data, actor })
    }

    pub(crate) fn is_checkpoint(&self) -> bool {
        self.kind == CHECKPOINT
    }

    pub(crate) fn bytes(&self) -> usize {
        self.data.get().len() + self.kind.len() + OVERHEAD_BYTES
    }

    pub(crate) fn to_event(&self, mirror: Uuid) -> EventData {
        let metadata =
            Metadata { ordo: Origin { mirror, version: self.version, at: self.at, actor: Some(self.actor.clone()) } };
        EventData::json(&self.kind, &self.data)
            .and_then(|event| event.metadata_as_json(&metadata))
            .expect("checked JSON and plain data")
            .id(self.id)
    }
}

impl Mirrored {
    /// None: whoever wrote it, it was no mirror of Ordo.
    pub(crate) fn of(entity: EntityId, found: &RecordedEvent) -> Option<Mirrored> {
        let Metadata { ordo } = serde_json::from_slice(&found.custom_metadata).ok()?;
        let id = id_of(entity, ordo.version, ordo.at, &found.event_type, &found.data);
        (id == found.id).then_some(Mirrored {
            revision: found.revision,
            version: ordo.version,
            id,
            at: ordo.at,
            mirror: ordo.mirror,
            is_checkpoint: found.event_type == CHECKPOINT,
        })
    }
}

fn id_of(entity: EntityId, version: Version, at: Timestamp, kind: &str, data: &[u8]) -> Uuid {
    let head = format!("{entity}\n{version}\n{}\n{kind}\n", at.ms());
    Uuid::new_v5(&IDS, &[head.as_bytes(), data].concat())
}

#[cfg(test)]
pub(crate) mod tests {
    use ordo_model::Kind;
    use ordo_store::{EventActor, Position};

    use super::*;

    pub(crate) fn stored(kind: Kind, version: Version, name: &str, data: &str) -> StoredEvent {
        StoredEvent {
            entity: EntityId { kind, id: Uuid::from_u128(7) },
            version,
            position: Position::default(),
            at: Timestamp::from_ms(1_763_236_800_123).unwrap(),
            kind: name.to_owned(),
            data: data.as_bytes().to_vec(),
            actor: EventActor::Ordo,
        }
    }

    #[test]
    fn an_id_never_changes_and_says_which_event_it_is() {
        let event = stored(Kind::Job, 3, "JobTriggered", r#"{"number": 1}"#);
        let id = |event: &StoredEvent| Record::of(event.clone()).unwrap().id;
        assert_eq!(id(&event).to_string(), "b2b5686b-e729-5bf4-9465-f4380bfbe1c8");
        let others = [
            StoredEvent { version: 4, ..event.clone() },
            StoredEvent { kind: "JobStarted".into(), ..event.clone() },
            StoredEvent { data: br#"{"number": 2}"#.to_vec(), ..event.clone() },
            StoredEvent { at: Timestamp::from_ms(1).unwrap(), ..event.clone() },
            StoredEvent { entity: EntityId { kind: Kind::Incident, ..event.entity }, ..event.clone() },
        ];
        assert!(others.iter().all(|other| id(other) != id(&event)));
    }

    #[test]
    fn what_gives_access_to_something_is_covered() {
        let ping = stored(Kind::Monitor, 1, "MonitorCreated", r#"{"token":"abc","settings":{}}"#);
        let record = Record::of(ping).unwrap();
        assert!(record.data.get().contains("***") && !record.data.get().contains("abc"), "{record:?}");
        let job = stored(Kind::Job, 1, "JobScheduled", r#"{ "a" : 1 }"#);
        assert_eq!(Record::of(job).unwrap().data.get(), r#"{ "a" : 1 }"#, "everything else stays as it was written");
    }

    #[test]
    fn what_is_no_json_is_damage() {
        assert!(matches!(Record::of(stored(Kind::Job, 1, "JobScheduled", "{")), Err(Fault::Damaged { .. })));
    }
}
