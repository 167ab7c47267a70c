//! Which shards a node looks after, on a store that several nodes share.

use ordo_model::{EntityId, Timestamp};
use ordo_store::Shard;

/// A set of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShardSet([u64; 4]);

impl ShardSet {
    pub fn all() -> ShardSet {
        ShardSet([u64::MAX; 4])
    }

    pub fn insert(&mut self, shard: Shard) {
        self.0[usize::from(shard.0) / 64] |= 1 << (shard.0 % 64);
    }

    pub fn contains(&self, shard: Shard) -> bool {
        self.0[usize::from(shard.0) / 64] & (1 << (shard.0 % 64)) != 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Shard> + '_ {
        Shard::all().filter(|shard| self.contains(*shard))
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every shard of this set is in the other.
    pub fn is_within(&self, other: &ShardSet) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }
}

impl FromIterator<Shard> for ShardSet {
    fn from_iter<I: IntoIterator<Item = Shard>>(shards: I) -> ShardSet {
        let mut set = ShardSet::default();
        shards.into_iter().for_each(|shard| set.insert(shard));
        set
    }
}

/// What a node has leases for, and until when it may trust them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    pub shards: ShardSet,
    pub until: Timestamp,
}

impl Ownership {
    /// Nothing yet.
    pub fn none() -> Ownership {
        Ownership { shards: ShardSet::default(), until: Timestamp::MIN }
    }

    pub fn covers(&self, entity: EntityId) -> bool {
        self.shards.contains(Shard::of(entity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: ShardSet = [0, 63, 64, 255].into_iter().map(Shard).collect();
        assert_eq!(set.iter().map(|shard| shard.0).collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!(set.len(), 4);
        assert!(set.is_within(&ShardSet::all()) && !ShardSet::all().is_within(&set));
    }
}
