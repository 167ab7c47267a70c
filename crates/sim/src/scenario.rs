//! How a world is set up: what follows from the seed before anything happens.

use ordo_engine::{PoolSize, PoolSizes};

use crate::rng::SimRng;

/// How long the world goes wrong, before the calm.
const LENGTHS_MS: [i64; 4] = [4 * 60_000, 20 * 60_000, 90 * 60_000, 5 * 3_600_000];
/// Moments to begin at: an ordinary one and nights in which clocks change.
const BEGINNINGS: [&str; 6] = [
    "2026-06-10T08:17:42.123Z",
    "2026-10-24T22:40:00Z",
    "2026-03-28T23:50:00Z",
    "2026-11-01T04:30:00Z",
    "2026-03-08T05:45:00.500Z",
    "2026-04-04T14:10:00Z",
];

#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) begin_ms: i64,
    pub(crate) length_ms: i64,
    pub(crate) tick_ms: i64,
    pub(crate) pools: PoolSizes,
    pub(crate) jobs: usize,
    pub(crate) commands: usize,
    pub(crate) misfortunes: usize,
    /// The longest an ordinary commit takes.
    pub(crate) commit_ms: i64,
    /// The longest a read takes to come back.
    pub(crate) read_ms: i64,
}

impl Scenario {
    pub(crate) fn draw(rng: &mut SimRng) -> Scenario {
        let length_ms = *rng.pick(&LENGTHS_MS);
        let tick_ms = rng.skewed((length_ms / 500).max(200), (length_ms / 100).clamp(400, 60_000));
        Scenario {
            begin_ms: begin(rng),
            length_ms,
            tick_ms,
            pools: pools(rng),
            jobs: rng.between(2, 6) as usize,
            commands: rng.between(0, 40) as usize,
            misfortunes: if rng.chance(150) { 0 } else { rng.between(1, 9) as usize },
            commit_ms: rng.skewed(1, 30),
            read_ms: rng.skewed(1, 400),
        }
    }
}

fn begin(rng: &mut SimRng) -> i64 {
    let begin: jiff::Timestamp = rng.pick(&BEGINNINGS).parse().expect("a time");
    begin.as_millisecond() + rng.between(0, 30 * 60_000)
}

fn pools(rng: &mut SimRng) -> PoolSizes {
    let mut pool = |slots: i64, queue: i64| PoolSize {
        slots: rng.skewed(1, slots) as usize,
        queue: rng.skewed(1, queue) as usize,
    };
    PoolSizes { fast: pool(40, 200), slow: pool(20, 200) }
}
