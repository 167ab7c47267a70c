//! The row that says who changed what: one for each event that somebody, a person or a program, brought about and that
//! is a change. What Ordo does by itself, and what happens to runs, has none.
//!
//! Invariant: a row follows from its event and the state after it; it stays when its event is folded away or its stream
//! is forgotten, so that who did it can still be read.

use ordo_model::{Actor, EntityId, Kind, Timestamp};
use ordo_store::{EventActor, Fault, Row, RowWrite, Version, View};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::commit::state::EntityState;

/// One change, as the audit shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub entity: EntityId,
    pub version: Version,
    /// The name of the event.
    pub event: String,
    /// What the entity was called then.
    pub name: String,
    pub actor: Actor,
}

#[derive(Serialize)]
struct WrittenChange<'a> {
    event: &'a str,
    name: &'a str,
    /// As it stands in the event.
    actor: &'a RawValue,
}

#[derive(Deserialize)]
struct Read {
    event: String,
    name: String,
    actor: Actor,
}

/// The row of an event, if it is a change by somebody. `state` is that of the entity after it.
pub(crate) fn row(
    entity: EntityId,
    version: Version,
    (event, at): (&str, Timestamp),
    actor: &EventActor,
    state: &dyn EntityState,
) -> Option<RowWrite> {
    let EventActor::Recorded(actor) = actor else { return None };
    let name = state.audited_as(event)?;
    let actor: &RawValue = serde_json::from_slice(actor).ok()?;
    let value = serde_json::to_vec(&WrittenChange { event, name, actor }).expect("an entry is plain data");
    Some(RowWrite::put(View::Audit, key(at, entity, version), value))
}

/// The time, then what sets it apart from others of the same millisecond.
fn key(at: Timestamp, entity: EntityId, version: Version) -> Vec<u8> {
    [&time_key(at)[..], &[entity.kind.code()], entity.id.as_bytes(), &version.to_be_bytes()].concat()
}

/// Where the entries of a moment begin.
pub(crate) fn time_key(at: Timestamp) -> [u8; 8] {
    at.ms().max(0).to_be_bytes()
}

pub(crate) fn decode(row: &Row) -> Result<AuditEntry, Fault> {
    let broken = |why: &str| Fault::damaged(format!("an entry of the audit cannot be read: {why}"));
    let (time, rest) = row.key.split_first_chunk::<8>().ok_or_else(|| broken("its key is too short"))?;
    let (kind, rest) = rest.split_first().ok_or_else(|| broken("its key is too short"))?;
    let (id, version) = rest.split_first_chunk::<16>().ok_or_else(|| broken("its key is too short"))?;
    let version: [u8; 8] = version.try_into().map_err(|_| broken("its key is too long"))?;
    let kind = Kind::from_code(*kind).ok_or_else(|| broken("it is of an unknown kind"))?;
    let at = Timestamp::from_ms(i64::from_be_bytes(*time)).map_err(|_| broken("its time is none"))?;
    let Read { event, name, actor } = serde_json::from_slice(&row.value).map_err(|e| broken(&e.to_string()))?;
    let entity = EntityId { kind, id: Uuid::from_bytes(*id) };
    Ok(AuditEntry { at, entity, version: u64::from_be_bytes(version), event, name, actor })
}
