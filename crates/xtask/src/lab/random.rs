//! Chance with a seed: the same seed makes the same plan. What processes make of it is their own.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> SeededRandom {
        SeededRandom(seed)
    }

    /// Another sequence for another thread, from the same seed.
    pub(crate) fn fork(&mut self) -> SeededRandom {
        SeededRandom(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.saturating_sub(low).unsigned_abs() + 1;
        low + i64::try_from(self.next() % span).expect("it is not more than the span")
    }

    pub(crate) fn percent(&mut self, chance: i64) -> bool {
        self.between(0, 99) < chance
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        let high = i64::try_from(len).expect("lists are short") - 1;
        usize::try_from(self.between(0, high.max(0))).expect("it is not negative")
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_plan_and_both_ends_are_reached() {
        let draw = |seed| {
            let mut chance = SeededRandom::new(seed);
            (0..200).map(|_| chance.between(-2, 3)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_eq!((draw(7).iter().min(), draw(7).iter().max()), (Some(&-2), Some(&3)));
    }
}
