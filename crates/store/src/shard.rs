//! Shards: 256 fixed slices of all entities, so that many nodes can share the work and a position needs no global lock.
//!
//! Invariant: the shard of an id never changes. What is stored under a shard is found under it for ever.

use std::fmt;

use ordo_model::EntityId;
use uuid::Uuid;

/// How many shards there are, for ever.
pub const SHARDS: usize = 256;

/// A fixed slice of all entities.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub u8);

impl Shard {
    /// Where an entity lives. Entities of different kinds with one id are neighbours.
    pub fn of(entity: EntityId) -> Shard {
        Shard::of_id(entity.id)
    }

    pub fn of_id(id: Uuid) -> Shard {
        let (high, low) = id.as_u64_pair();
        Shard((mix(high ^ mix(low)) >> 56) as u8)
    }

    /// Where something lives that has a key instead of an id.
    pub fn of_key(key: &[u8]) -> Shard {
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Shard((mix(hash) >> 56) as u8)
    }

    pub fn all() -> impl Iterator<Item = Shard> {
        (0..=u8::MAX).map(Shard)
    }

    /// Who of these should have the shard: the one that draws the highest number for it (rendezvous hashing).
    /// A node that comes or goes moves only the shards that it gains or had.
    pub fn owner(self, nodes: &[Uuid]) -> Option<Uuid> {
        let draw = |node: &Uuid| {
            let (high, low) = node.as_u64_pair();
            mix(mix(high ^ mix(low)) ^ u64::from(self.0))
        };
        nodes.iter().copied().max_by_key(|node| (draw(node), *node))
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}", self.0)
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
    fn the_shard_of_an_id_never_changes() {
        let shards = [0, 1, 2, u128::MAX].map(|id| Shard::of_id(Uuid::from_u128(id)).0);
        assert_eq!(shards, [167, 94, 100, 99]);
        assert_eq!([b"".as_slice(), b"k"].map(|key| Shard::of_key(key).0), [195, 22]);
    }

    #[test]
    fn ids_spread_over_all_shards() {
        let mut counts = [0u32; SHARDS];
        for id in 0..25_600u128 {
            counts[usize::from(Shard::of_id(Uuid::from_u128(id << 64 | id)).0)] += 1;
        }
        assert!(counts.iter().all(|count| (50..=160).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_node_that_joins_takes_its_share_and_moves_nothing_else() {
        let two = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let three = [two[0], two[1], Uuid::from_u128(3)];
        let mut moved = 0;
        for shard in Shard::all() {
            let (before, after) = (shard.owner(&two).unwrap(), shard.owner(&three).unwrap());
            assert!(after == before || after == three[2], "{shard:?} moved between old nodes");
            moved += usize::from(after != before);
        }
        assert!((50..=120).contains(&moved), "{moved}");
        assert_eq!(Shard(0).owner(&[]), None);
    }
}
