//! Keys: how entities, times and numbers become bytes that sort like they do.
//!
//! Invariant: every number in a key is big-endian and of fixed width, so that the order of bytes is the order of values.

use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{DueAlarm, Fault, Position, Version};
use uuid::Uuid;

use crate::tables::{AlarmKey, AlarmValue, ChunkKey, EntityKey, StreamKey};

pub(crate) fn entity_key(entity: EntityId) -> EntityKey {
    let mut key = [0; 17];
    key[0] = entity.kind.code();
    key[1..].copy_from_slice(entity.id.as_bytes());
    key
}

pub(crate) fn entity_of(key: &EntityKey) -> Result<EntityId, Fault> {
    let kind = kind_of(key[0])?;
    let (_, id) = key.split_first_chunk::<1>().ok_or_else(|| Fault::damaged("an empty entity key"))?;
    Ok(EntityId { kind, id: uuid_of(id)? })
}

pub(crate) fn stream_key(entity: EntityId, version: Version) -> StreamKey {
    let mut key = [0; 25];
    key[..17].copy_from_slice(&entity_key(entity));
    key[17..].copy_from_slice(&version.to_be_bytes());
    key
}

pub(crate) fn stream_of(key: &StreamKey) -> Result<(EntityKey, Version), Fault> {
    let (entity, version) = key.split_first_chunk::<17>().ok_or_else(|| Fault::damaged("a short stream key"))?;
    Ok((*entity, number_of(version)?))
}

pub(crate) fn alarm_key(at: Timestamp, id: Uuid) -> AlarmKey {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&time_bytes(at));
    key[8..].copy_from_slice(id.as_bytes());
    key
}

pub(crate) fn ringing_of(key: &AlarmKey, value: &AlarmValue) -> Result<DueAlarm, Fault> {
    let [kind, rank] = *value;
    let entity = EntityId { kind: kind_of(kind)?, id: uuid_of(&key[8..])? };
    Ok(DueAlarm { at: time_of(&key[..8])?, rank, entity })
}

pub(crate) fn chunk_key(owner: Uuid, seq: u64) -> ChunkKey {
    let mut key = [0; 24];
    key[..16].copy_from_slice(owner.as_bytes());
    key[16..].copy_from_slice(&seq.to_be_bytes());
    key
}

pub(crate) fn chunk_number_of(key: &ChunkKey) -> Result<u64, Fault> {
    number_of(&key[16..])
}

pub(crate) fn expiry_key(until: Timestamp, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + key.len());
    bytes.extend_from_slice(&time_bytes(until));
    bytes.extend_from_slice(key);
    bytes
}

pub(crate) fn time_bytes(at: Timestamp) -> [u8; 8] {
    at.ms().to_be_bytes()
}

pub(crate) fn time_of(bytes: &[u8]) -> Result<Timestamp, Fault> {
    let ms = i64::from_be_bytes(fixed(bytes)?);
    Timestamp::from_ms(ms).map_err(|_| Fault::damaged(format!("a time of {ms} ms")))
}

pub(crate) fn number_of(bytes: &[u8]) -> Result<u64, Fault> {
    fixed(bytes).map(u64::from_be_bytes)
}

pub(crate) fn uuid_of(bytes: &[u8]) -> Result<Uuid, Fault> {
    fixed(bytes).map(Uuid::from_bytes)
}

fn kind_of(code: u8) -> Result<Kind, Fault> {
    Kind::from_code(code).ok_or_else(|| Fault::damaged(format!("an unknown kind of entity: {code}")))
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Fault> {
    bytes.try_into().map_err(|_| Fault::damaged(format!("{} bytes where {N} belong", bytes.len())))
}

pub(crate) fn position(number: u64) -> Position {
    Position(number.to_string())
}

/// A position as a client hands it back: decimal digits, or nothing for the beginning.
pub(crate) fn position_of(position: &Position) -> Result<u64, Fault> {
    let text = position.0.as_str();
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        _ if text.is_empty() => Ok(0),
        Ok(number) if digits => Ok(number),
        Ok(_) | Err(_) => Err(Fault::NotAPosition { given: text.chars().take(40).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(id: u128) -> EntityId {
        EntityId { kind: Kind::Job, id: Uuid::from_u128(id) }
    }

    #[test]
    fn keys_read_back() {
        let job = entity(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        assert_eq!(entity_of(&entity_key(job)).unwrap(), job);
        assert_eq!(stream_of(&stream_key(job, 9)).unwrap(), (entity_key(job), 9));
        let due = DueAlarm { at: Timestamp::MAX, rank: 7, entity: job };
        assert_eq!(ringing_of(&alarm_key(due.at, job.id), &[job.kind.code(), 7]).unwrap(), due);
        assert_eq!(chunk_number_of(&chunk_key(job.id, u64::MAX)).unwrap(), u64::MAX);
    }

    #[test]
    fn keys_sort_by_number_not_by_text() {
        assert!(stream_key(entity(1), 9) < stream_key(entity(1), 10));
        assert!(stream_key(entity(1), u64::MAX) < stream_key(entity(2), 0));
        let at = |ms| Timestamp::from_ms(ms).unwrap();
        assert!(alarm_key(at(255), Uuid::max()) < alarm_key(at(256), Uuid::nil()));
        assert!(chunk_key(Uuid::nil(), 255) < chunk_key(Uuid::nil(), 256));
    }

    #[test]
    fn an_unknown_kind_is_damage_not_a_guess() {
        assert!(matches!(entity_of(&[0; 17]), Err(Fault::Damaged { .. })));
    }

    #[test]
    fn a_position_is_digits_or_nothing() {
        assert_eq!(position_of(&Position(String::new())).unwrap(), 0);
        assert_eq!(position_of(&position(u64::MAX)).unwrap(), u64::MAX);
        for text in ["x", "+1", "-1", "1.5", " 1", "18446744073709551616"] {
            assert!(matches!(position_of(&Position(text.into())), Err(Fault::NotAPosition { .. })), "{text}");
        }
    }
}
