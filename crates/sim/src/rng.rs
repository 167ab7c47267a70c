//! Chance from a seed: splitmix64. The same seed gives the same world on every machine.

#[derive(Debug, Clone)]
pub(crate) struct SimRng(u64);

impl SimRng {
    pub(crate) fn new(seed: u64) -> SimRng {
        SimRng(seed ^ 0x6f72_646f_2d73_696d)
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "an empty range has nothing to draw");
        let span = high.abs_diff(low).saturating_add(1);
        low.wrapping_add_unsigned(self.draw() % span)
    }

    /// True in `per_mille` of a thousand cases.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.draw() % 1_000 < per_mille
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.place(from.len())]
    }

    /// A place in a list of this length.
    pub(crate) fn place(&mut self, len: usize) -> usize {
        assert!(len > 0, "an empty list has no place to draw");
        (self.draw() % len as u64) as usize
    }

    /// Mostly small, sometimes as large as `high`: the logarithm is spread evenly.
    pub(crate) fn skewed(&mut self, low: i64, high: i64) -> i64 {
        let (low_bits, high_bits) = ((low.max(1) as u64).ilog2(), (high.max(1) as u64).ilog2());
        let bits = self.between(i64::from(low_bits), i64::from(high_bits)) as u32;
        let top = (1_i64 << bits).saturating_mul(2) - 1;
        self.between(1_i64 << bits, top).clamp(low, high)
    }
}
