//! Chance in tests: every randomised test takes its seed here, so that all print it and all can be given it again with
//! `ORDO_SEED`. Behind the feature `testing`: no program that is shipped has it.

#![allow(clippy::disallowed_methods, reason = "a seed from the environment, for tests alone")]

use std::hash::{BuildHasher, Hasher, RandomState};

use proptest::test_runner::{Config, RngSeed};

/// The seed of this test: that of `ORDO_SEED`, or else `usual`. It is printed, and shown if the test fails.
///
/// # Panics
/// When `ORDO_SEED` is not a number: a seed that was given is not ignored.
pub fn seed_or(usual: u64) -> u64 {
    let given = std::env::var("ORDO_SEED").ok();
    let given = given.map(|text| text.parse().unwrap_or_else(|_| panic!("ORDO_SEED is a number, not {text:?}")));
    let seed = given.unwrap_or(usual);
    println!("ORDO_SEED={seed}");
    seed
}

/// The seed of this test: that of `ORDO_SEED`, or else another one every time.
pub fn any_seed() -> u64 {
    seed_or(RandomState::new().build_hasher().finish())
}

/// Settings of proptest with a seed that can be given again; a failure is a seed, not a file.
pub fn proptest_config() -> Config {
    Config { rng_seed: RngSeed::Fixed(any_seed()), failure_persistence: None, ..Config::default() }
}

/// Chance from a seed (splitmix64).
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// From `from` to `to`, both of them too.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next_u64() % (to - from + 1)
    }

    pub fn percent(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    /// # Panics
    /// When there is nothing to choose from.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = u64::try_from(choices.len()).unwrap_or(u64::MAX) - 1;
        choices[usize::try_from(self.between(0, last)).unwrap_or(0)]
    }
}
