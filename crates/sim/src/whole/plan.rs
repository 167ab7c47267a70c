//! How a whole world is set up: which faults it has, how many nodes and executors, and how long it lasts.
//!
//! Invariant: all of it follows from the seed before anything happens. Each seed switches on a random part of the faults, so
//! that rare combinations are met without all the others drowning them (swarm testing).

use std::collections::BTreeSet;

use crate::rng::SimRng;

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    Crash,
    /// What was not synced is lost, or half of it.
    PowerLoss,
    CrashInRecovery,
    /// The process dies at some write or sync, in the middle of a commit or a checkpoint.
    CrashAtDisk,
    /// The process stands still for a while, and time goes on.
    Pause,
    ClockForward,
    ClockBack,
    /// Every clock goes at its own speed, and they differ from the beginning.
    ClockDrift,
    /// The world begins shortly before clocks change in some zone.
    DstNight,
    MessageLost,
    AnswerLost,
    MessageDoubled,
    MessageDelayed,
    /// Later messages overtake.
    MessageReordered,
    /// A node cannot reach the store, or an executor cannot reach its node.
    Partition,
    StoreError,
    /// The commit was done and its writer is told that it failed.
    DoneButFailed,
    SlowStore,
    DiskFull,
    SyncError,
    ExecutorLoss,
    SlowExecutor,
    SlowSender,
    FailingSender,
    /// Work that does not heed that it was cancelled.
    DeafWork,
}

impl FaultKind {
    pub const ALL: [FaultKind; 25] = [
        FaultKind::Crash,
        FaultKind::PowerLoss,
        FaultKind::CrashInRecovery,
        FaultKind::CrashAtDisk,
        FaultKind::Pause,
        FaultKind::ClockForward,
        FaultKind::ClockBack,
        FaultKind::ClockDrift,
        FaultKind::DstNight,
        FaultKind::MessageLost,
        FaultKind::AnswerLost,
        FaultKind::MessageDoubled,
        FaultKind::MessageDelayed,
        FaultKind::MessageReordered,
        FaultKind::Partition,
        FaultKind::StoreError,
        FaultKind::DoneButFailed,
        FaultKind::SlowStore,
        FaultKind::DiskFull,
        FaultKind::SyncError,
        FaultKind::ExecutorLoss,
        FaultKind::SlowExecutor,
        FaultKind::SlowSender,
        FaultKind::FailingSender,
        FaultKind::DeafWork,
    ];

    /// Faults that happen at a moment, not with every call.
    pub(crate) const MOMENTS: [FaultKind; 12] = [
        FaultKind::Crash,
        FaultKind::PowerLoss,
        FaultKind::CrashAtDisk,
        FaultKind::Pause,
        FaultKind::ClockForward,
        FaultKind::ClockBack,
        FaultKind::Partition,
        FaultKind::StoreError,
        FaultKind::SlowStore,
        FaultKind::DiskFull,
        FaultKind::SyncError,
        FaultKind::ExecutorLoss,
    ];
}

/// How long faults happen, before the calm.
const LENGTHS_MS: [i64; 4] = [60_000, 4 * 60_000, 10 * 60_000, 30 * 60_000];
const ORDINARY: &str = "2026-06-10T08:17:42.123Z";
const NIGHTS: [&str; 5] = [
    "2026-10-25T00:40:00Z",
    "2026-03-29T00:50:00Z",
    "2026-11-01T05:40:00Z",
    "2026-03-08T06:45:00.500Z",
    "2026-04-04T14:40:00Z",
];

#[derive(Debug, Clone)]
pub(crate) struct WholePlan {
    pub(crate) begin_ms: i64,
    pub(crate) length_ms: i64,
    pub(crate) tick_ms: i64,
    /// One: the embedded store. More: a store that they share.
    pub(crate) nodes: usize,
    pub(crate) executors: usize,
    pub(crate) jobs: usize,
    pub(crate) monitors: usize,
    pub(crate) commands: usize,
    pub(crate) moments: usize,
    pub(crate) slots: usize,
    pub(crate) read_ms: i64,
    pub(crate) commit_ms: i64,
    pub(crate) faults: BTreeSet<FaultKind>,
}

impl WholePlan {
    pub(crate) fn draw(rng: &mut SimRng) -> WholePlan {
        let faults = swarm(rng);
        let length_ms = *rng.pick(&LENGTHS_MS);
        let night: jiff::Timestamp = match faults.contains(&FaultKind::DstNight) {
            true => rng.pick(&NIGHTS).parse().expect("a time"),
            false => ORDINARY.parse().expect("a time"),
        };
        let nodes = if rng.chance(550) { 1 } else { rng.between(2, 3) as usize };
        WholePlan {
            begin_ms: night.as_millisecond() + rng.between(0, 10 * 60_000),
            length_ms,
            tick_ms: rng.skewed(200, 2_000),
            nodes,
            executors: if rng.chance(300) { 0 } else { rng.between(1, 3) as usize },
            jobs: rng.between(1, 5) as usize,
            monitors: rng.between(0, 2) as usize,
            commands: rng.skewed(4, 80) as usize,
            moments: if faults.is_empty() { 0 } else { rng.between(1, 8) as usize },
            slots: rng.skewed(1, 16) as usize,
            read_ms: rng.skewed(1, 60) - 1,
            commit_ms: rng.skewed(1, 60) - 1,
            faults,
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.nodes > 1
    }

    pub(crate) fn has(&self, fault: FaultKind) -> bool {
        self.faults.contains(&fault)
    }
}

/// A part of the faults: now and then none, mostly some, sometimes nearly all.
fn swarm(rng: &mut SimRng) -> BTreeSet<FaultKind> {
    let share = *rng.pick(&[0, 150, 300, 300, 500, 800]);
    FaultKind::ALL.into_iter().filter(|_| rng.chance(share)).collect()
}
