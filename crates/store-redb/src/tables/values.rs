//! Values: a short binary header in front of the model's own bytes, which stay opaque.
//!
//! Invariant: a header has a fixed width (an event's kind and actor are preceded by their lengths); a value too short for
//! its header is damage, never a panic. Who brought an event about takes no room if it was Ordo by itself: two bits
//! beside the length of the kind say so, which are zero in events that are older than actors are.

use ordo_model::{EntityId, Timestamp};
use ordo_store::{Alarm, EVENT_KIND_MAX_BYTES, EventActor, Fault, NewEvent, Snapshot, StoredEvent, Version};

use crate::tables::EntityKey;
use crate::tables::keys::{entity_key, entity_of, number_of, position, time_bytes, time_of};

/// entity 17, version 8, at 8, length of kind and what is known of the actor 1
const EVENT_HEADER: usize = 34;
/// Of the last byte of an event's header: the length of the kind,
const KIND_LENGTH: u8 = 0b0011_1111;
/// that who brought the event about is known,
const ACTOR_KNOWN: u8 = 0b1000_0000;
/// and that it was somebody else than Ordo: length 2 and actor follow the kind.
const ACTOR_FOLLOWS: u8 = 0b0100_0000;
const _: () = assert!(EVENT_KIND_MAX_BYTES == KIND_LENGTH as usize);
/// version 8, alarm time 8, alarm rank 1
const SNAPSHOT_HEADER: usize = 17;
/// Where there is no alarm, its time is written as this: no time looks like it.
const NO_ALARM: [u8; 8] = [0xff; 8];

pub(crate) fn write_event(out: &mut Vec<u8>, entity: EntityId, version: Version, event: &NewEvent) {
    out.clear();
    out.extend_from_slice(&entity_key(entity));
    out.extend_from_slice(&version.to_be_bytes());
    out.extend_from_slice(&time_bytes(event.at));
    // A batch is checked before it is written: neither length is ever cut.
    let kind_length = event.kind.len() as u8 & KIND_LENGTH;
    match &event.actor {
        EventActor::Ordo => {
            out.push(kind_length | ACTOR_KNOWN);
            out.extend_from_slice(event.kind.as_bytes());
        }
        EventActor::Unknown => {
            out.push(kind_length);
            out.extend_from_slice(event.kind.as_bytes());
        }
        EventActor::Recorded(actor) => {
            out.push(kind_length | ACTOR_KNOWN | ACTOR_FOLLOWS);
            out.extend_from_slice(event.kind.as_bytes());
            out.extend_from_slice(&(actor.len() as u16).to_be_bytes());
            out.extend_from_slice(actor);
        }
    }
    out.extend_from_slice(&event.data);
}

pub(crate) fn read_event(number: u64, bytes: &[u8]) -> Result<StoredEvent, Fault> {
    let damaged = || Fault::damaged(format!("the event at position {number} is cut short"));
    let (header, rest) = bytes.split_at_checked(EVENT_HEADER).ok_or_else(damaged)?;
    let (kind, rest) = rest.split_at_checked(usize::from(header[33] & KIND_LENGTH)).ok_or_else(damaged)?;
    let (actor, data) = read_actor(header[33], rest).ok_or_else(damaged)?;
    let (entity, version) = event_owner(number, bytes)?;
    let kind = std::str::from_utf8(kind).map_err(|_| damaged())?;
    Ok(StoredEvent {
        entity: entity_of(&entity)?,
        version,
        position: position(number),
        at: time_of(&header[25..33])?,
        kind: kind.to_owned(),
        data: data.to_vec(),
        actor,
    })
}

/// The actor in front of the data, as the header says.
fn read_actor(header: u8, rest: &[u8]) -> Option<(EventActor, &[u8])> {
    match header & (ACTOR_KNOWN | ACTOR_FOLLOWS) {
        0 => Some((EventActor::Unknown, rest)),
        ACTOR_KNOWN => Some((EventActor::Ordo, rest)),
        ACTOR_FOLLOWS => None,
        _ => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            let (actor, data) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            Some((EventActor::Recorded(actor.into()), data))
        }
    }
}

/// Whose event it is and which of its stream.
pub(crate) fn event_owner(number: u64, bytes: &[u8]) -> Result<(EntityKey, Version), Fault> {
    let damaged = || Fault::damaged(format!("the event at position {number} is cut short"));
    let (entity, rest) = bytes.split_first_chunk::<17>().ok_or_else(damaged)?;
    let (version, _) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
    Ok((*entity, u64::from_be_bytes(*version)))
}

/// What a commit needs to know of a snapshot, without its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Header {
    pub(crate) version: Version,
    pub(crate) alarm: Option<Alarm>,
}

pub(crate) fn write_snapshot(out: &mut Vec<u8>, header: Header, state: &[u8]) {
    out.clear();
    out.extend_from_slice(&header.version.to_be_bytes());
    match header.alarm {
        Some(alarm) => {
            out.extend_from_slice(&time_bytes(alarm.at));
            out.push(alarm.rank);
        }
        None => {
            out.extend_from_slice(&NO_ALARM);
            out.push(0);
        }
    }
    out.extend_from_slice(state);
}

pub(crate) fn read_header(bytes: &[u8]) -> Result<Header, Fault> {
    let header = bytes.get(..SNAPSHOT_HEADER).ok_or_else(|| Fault::damaged("a snapshot is cut short"))?;
    let alarm = match &header[8..16] {
        none if *none == NO_ALARM => None,
        at => Some(Alarm { at: time_of(at)?, rank: header[16] }),
    };
    Ok(Header { version: number_of(&header[..8])?, alarm })
}

pub(crate) fn read_snapshot(bytes: &[u8]) -> Result<Snapshot, Fault> {
    let Header { version, alarm } = read_header(bytes)?;
    Ok(Snapshot { version, alarm, state: bytes[SNAPSHOT_HEADER..].to_vec() })
}

pub(crate) fn write_dedup(out: &mut Vec<u8>, until: Timestamp, value: &[u8]) {
    out.clear();
    out.extend_from_slice(&time_bytes(until));
    out.extend_from_slice(value);
}

pub(crate) fn read_dedup(bytes: &[u8]) -> Result<(Timestamp, &[u8]), Fault> {
    let (until, value) = bytes.split_at_checked(8).ok_or_else(|| Fault::damaged("a dedup entry is cut short"))?;
    Ok((time_of(until)?, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::Kind;
    use uuid::Uuid;

    const JOB: EntityId = EntityId { kind: Kind::Job, id: Uuid::from_u128(7) };

    #[test]
    fn an_event_reads_back() {
        for actor in
            [EventActor::Ordo, EventActor::Unknown, EventActor::Recorded(b"{\"name\":\"ana\"}".as_slice().into())]
        {
            let event = NewEvent { actor, ..event() };
            let mut bytes = Vec::new();
            write_event(&mut bytes, JOB, 3, &event);
            let back = read_event(12, &bytes).unwrap();
            assert_eq!((back.entity, back.version, back.position.0.as_str()), (JOB, 3, "12"));
            let back = NewEvent { at: back.at, kind: back.kind, data: back.data, actor: back.actor };
            assert_eq!(back, event);
        }
    }

    fn event() -> NewEvent {
        let (kind, data) = ("job_created".into(), b"{}".to_vec());
        NewEvent { at: Timestamp::MAX, kind, data, actor: EventActor::Ordo }
    }

    #[test]
    fn an_event_of_ordo_itself_is_as_long_as_one_without_an_actor() {
        let length = |actor| {
            let mut bytes = Vec::new();
            write_event(&mut bytes, JOB, 3, &NewEvent { actor, ..event() });
            bytes.len()
        };
        assert_eq!(length(EventActor::Ordo), EVENT_HEADER + "job_created{}".len());
        assert_eq!(length(EventActor::Ordo), length(EventActor::Unknown));
    }

    #[test]
    fn an_event_from_before_actors_reads_as_nobody_s() {
        let mut bytes = Vec::new();
        write_event(&mut bytes, JOB, 3, &event());
        bytes[33] = "job_created".len() as u8;
        let back = read_event(12, &bytes).unwrap();
        assert_eq!(
            (back.kind.as_str(), back.data.as_slice(), back.actor),
            ("job_created", &b"{}"[..], EventActor::Unknown)
        );
    }

    #[test]
    fn a_snapshot_reads_back_with_and_without_an_alarm() {
        for alarm in [None, Some(Alarm { at: Timestamp::MIN, rank: 0 }), Some(Alarm { at: Timestamp::MAX, rank: 255 })]
        {
            let mut bytes = Vec::new();
            write_snapshot(&mut bytes, Header { version: 5, alarm }, b"state");
            assert_eq!(read_snapshot(&bytes).unwrap(), Snapshot { version: 5, alarm, state: b"state".to_vec() });
        }
    }

    #[test]
    fn every_cut_of_a_value_is_damage_not_a_panic() {
        let mut bytes = Vec::new();
        for actor in [EventActor::Ordo, EventActor::Recorded(b"ana".as_slice().into())] {
            write_event(&mut bytes, JOB, 3, &NewEvent { at: Timestamp::MIN, data: Vec::new(), actor, ..event() });
            for len in 0..bytes.len() {
                assert!(matches!(read_event(1, &bytes[..len]), Err(Fault::Damaged { .. })), "{len}");
            }
        }
        for len in 0..SNAPSHOT_HEADER {
            assert!(matches!(read_snapshot(&bytes[..len]), Err(Fault::Damaged { .. })), "{len}");
        }
        assert!(matches!(read_dedup(&bytes[..7]), Err(Fault::Damaged { .. })));
    }
}
