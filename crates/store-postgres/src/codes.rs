//! How the contract's words are written in columns.
//!
//! Invariant: what is written as a number here is read back as the same thing for ever, and numbers sort as the things do.

use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{EventActor, Fault, Partition, Version, View};
use uuid::Uuid;

pub(crate) fn partition(partition: Partition) -> i16 {
    i16::from(partition.0)
}

pub(crate) fn partition_of(number: i16) -> Result<Partition, Fault> {
    u8::try_from(number).map(Partition).map_err(|_| Fault::damaged(format!("there is no partition {number}")))
}

pub(crate) fn kind(kind: Kind) -> i16 {
    i16::from(kind.code())
}

pub(crate) fn entity(kind: i16, id: Uuid) -> Result<EntityId, Fault> {
    let known = u8::try_from(kind).ok().and_then(Kind::from_code);
    let kind =
        known.ok_or_else(|| Fault::damaged(format!("an entity of the unknown kind {kind}: a newer Ordo wrote it")))?;
    Ok(EntityId { kind, id })
}

pub(crate) fn time(ms: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_ms(ms).map_err(|error| Fault::damaged(format!("{ms}: {error}")))
}

/// Most events are Ordo's own: they have NULL, which takes no room.
pub(crate) fn actor(actor: &EventActor) -> Option<&[u8]> {
    match actor {
        EventActor::Ordo => None,
        EventActor::Unknown => Some(&[]),
        EventActor::Recorded(bytes) => Some(bytes),
    }
}

pub(crate) fn actor_of(stored: Option<&[u8]>) -> EventActor {
    match stored {
        None => EventActor::Ordo,
        Some([]) => EventActor::Unknown,
        Some(bytes) => EventActor::Recorded(bytes.into()),
    }
}

/// Versions count events: they do not come near the bound. What a reader asks for may.
pub(crate) fn version(version: Version) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

pub(crate) fn version_of(number: i64) -> Result<Version, Fault> {
    u64::try_from(number).map_err(|_| Fault::damaged(format!("a version of {number}")))
}

pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Numbers of chunks use all 64 bits: shifted, so that they sort as they count.
pub(crate) fn seq(seq: u64) -> i64 {
    (seq ^ (1 << 63)).cast_signed()
}

pub(crate) fn seq_of(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

/// A number that follows from the view's name, which never changes.
pub(crate) fn view(view: View) -> i32 {
    let hash =
        view.name().bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_views_have_one_number() {
        let mut numbers: Vec<i32> = View::ALL.into_iter().map(view).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), View::ALL.len());
        assert_eq!(view(View::Runs), 439_545_147);
    }

    #[test]
    fn numbers_of_chunks_sort_as_they_count() {
        let counted = [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX];
        assert!(counted.map(seq).is_sorted());
        assert_eq!(counted.map(seq).map(seq_of), counted);
    }
}
