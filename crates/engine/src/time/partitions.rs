//! Which partitions a node serves, on a store that several nodes share.

use ordo_model::{EntityId, Timestamp};
use ordo_store::Partition;

/// A set of partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionSet([u64; 4]);

impl PartitionSet {
    pub fn all() -> PartitionSet {
        PartitionSet([u64::MAX; 4])
    }

    pub fn insert(&mut self, partition: Partition) {
        self.0[usize::from(partition.0) / 64] |= 1 << (partition.0 % 64);
    }

    pub fn contains(&self, partition: Partition) -> bool {
        self.0[usize::from(partition.0) / 64] & (1 << (partition.0 % 64)) != 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Partition> + '_ {
        Partition::all().filter(|partition| self.contains(*partition))
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every partition of this set is in the other.
    pub fn is_within(&self, other: &PartitionSet) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }
}

impl FromIterator<Partition> for PartitionSet {
    fn from_iter<I: IntoIterator<Item = Partition>>(partitions: I) -> PartitionSet {
        let mut set = PartitionSet::default();
        partitions.into_iter().for_each(|partition| set.insert(partition));
        set
    }
}

/// What a node has leases for, and until when it may trust them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    pub partitions: PartitionSet,
    pub until: Timestamp,
}

impl Ownership {
    /// Nothing yet.
    pub fn none() -> Ownership {
        Ownership { partitions: PartitionSet::default(), until: Timestamp::MIN }
    }

    /// What a node has that shares its store with nobody.
    pub fn everything() -> Ownership {
        Ownership { partitions: PartitionSet::all(), until: Timestamp::MAX }
    }

    pub fn covers(&self, entity: EntityId) -> bool {
        self.partitions.contains(Partition::of(entity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: PartitionSet = [0, 63, 64, 255].into_iter().map(Partition).collect();
        assert_eq!(set.iter().map(|partition| partition.0).collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!(set.len(), 4);
        assert!(set.is_within(&PartitionSet::all()) && !PartitionSet::all().is_within(&set));
    }
}
