//! Partitions: 256 fixed slices of all entities, so that many nodes can share the work and a position needs no global lock.
//!
//! Invariant: the partition of an id never changes. What is stored under a partition is found under it for ever.

use std::fmt;

use ordo_model::EntityId;
use uuid::Uuid;

/// How many partitions there are, for ever.
pub const PARTITIONS: usize = 256;

/// A fixed slice of all entities.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u8);

impl Partition {
    /// Where an entity lives. Entities of different kinds with one id are neighbours.
    pub fn of(entity: EntityId) -> Partition {
        Partition::of_id(entity.id)
    }

    pub fn of_id(id: Uuid) -> Partition {
        let (high, low) = id.as_u64_pair();
        Partition((mix(high ^ mix(low)) >> 56) as u8)
    }

    /// Where something lives that has a key instead of an id.
    pub fn of_key(key: &[u8]) -> Partition {
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Partition((mix(hash) >> 56) as u8)
    }

    pub fn all() -> impl Iterator<Item = Partition> {
        (0..=u8::MAX).map(Partition)
    }

    /// Who of these should have the partition: the one that draws the highest number for it (rendezvous hashing).
    /// A node that comes or goes moves only the partitions that it gains or had.
    pub fn owner(self, nodes: &[Uuid]) -> Option<Uuid> {
        let draw = |node: &Uuid| {
            let (high, low) = node.as_u64_pair();
            mix(mix(high ^ mix(low)) ^ u64::from(self.0))
        };
        nodes.iter().copied().max_by_key(|node| (draw(node), *node))
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {}", self.0)
    }
}

/// The finalizer of splitmix64.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partition_of_an_id_never_changes() {
        let partitions = [0, 1, 2, u128::MAX].map(|id| Partition::of_id(Uuid::from_u128(id)).0);
        assert_eq!(partitions, [167, 94, 100, 99]);
        assert_eq!([b"".as_slice(), b"k"].map(|key| Partition::of_key(key).0), [195, 22]);
    }

    #[test]
    fn ids_spread_over_all_partitions() {
        let mut counts = [0u32; PARTITIONS];
        for id in 0..25_600u128 {
            counts[usize::from(Partition::of_id(Uuid::from_u128(id << 64 | id)).0)] += 1;
        }
        assert!(counts.iter().all(|count| (50..=160).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_node_that_joins_takes_its_share_and_moves_nothing_else() {
        let two = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let three = [two[0], two[1], Uuid::from_u128(3)];
        let mut moved = 0;
        for partition in Partition::all() {
            let (before, after) = (partition.owner(&two).unwrap(), partition.owner(&three).unwrap());
            assert!(after == before || after == three[2], "{partition:?} moved between old nodes");
            moved += usize::from(after != before);
        }
        assert!((50..=120).contains(&moved), "{moved}");
        assert_eq!(Partition(0).owner(&[]), None);
    }
}
