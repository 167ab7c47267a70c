//! Looks at the worlds of many seeds: on all cores, for so many seeds or for so long.
//!
//! Invariant: worlds know nothing of each other, so which core looks at which seed does not matter. A panic anywhere in a
//! world, also in a task that its runtime would swallow, is a failure of its seed.

use std::cell::RefCell;
use std::num::NonZero;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ordo_engine::clock::Stopwatch;

use crate::{Simulation, judge, whole};

const YEAR_MS: f64 = 365.25 * 86_400_000.0;

/// Which of the two worlds of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorldKind {
    /// The core of the engine, driven by hand: jobs, to the millisecond.
    Jobs,
    /// Whole engines, with everything around them.
    Whole,
}

impl WorldKind {
    pub const ALL: [WorldKind; 2] = [WorldKind::Jobs, WorldKind::Whole];

    pub const fn name(self) -> &'static str {
        match self {
            WorldKind::Jobs => "jobs",
            WorldKind::Whole => "whole",
        }
    }

    pub fn named(name: &str) -> Option<WorldKind> {
        WorldKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What was seen of one world.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub facts: u64,
    pub simulated_ms: u64,
    pub violations: Vec<String>,
    pub fingerprint: u64,
    pub lines: Vec<String>,
}

thread_local! {
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn note_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            PANICS.with_borrow_mut(|panics| panics.push(info.to_string().replace('\n', " ")));
        }));
    });
}

/// Lets one world happen and judges it.
pub fn look(kind: WorldKind, seed: u64, keep_trace: bool) -> Seen {
    note_panics();
    PANICS.with_borrow_mut(Vec::clear);
    let seen = std::panic::catch_unwind(|| match kind {
        WorldKind::Jobs => {
            let (history, trace) = Simulation::new(seed, keep_trace).run();
            let violations = judge(&history).iter().map(ToString::to_string).collect();
            seen(history.facts.len(), history.end.mono, violations, &trace)
        }
        WorldKind::Whole => {
            let (history, trace) = whole::run(seed, keep_trace);
            let violations = whole::oracle::judge(&history).iter().map(ToString::to_string).collect();
            seen(history.facts.len(), history.end.mono, violations, &trace)
        }
    });
    ordo_engine::simulated::seed(None);
    let mut seen = seen.unwrap_or_default();
    let panics = PANICS.with_borrow_mut(std::mem::take);
    seen.violations.splice(0..0, panics.into_iter().map(|text| format!("the world broke down: {text}")));
    seen
}

fn seen(facts: usize, mono: i64, violations: Vec<String>, trace: &crate::Trace) -> Seen {
    let (fingerprint, lines) = (trace.hash(), trace.lines().to_vec());
    Seen { facts: facts as u64, simulated_ms: mono.unsigned_abs(), violations, fingerprint, lines }
}

/// How far to look.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub from: u64,
    pub seeds: Option<u64>,
    pub within: Option<Duration>,
    /// Which worlds of each seed; None: both.
    pub only: Option<WorldKind>,
    /// The first seed that fails is enough.
    pub until_found: bool,
}

/// What many worlds showed.
#[derive(Debug, Default)]
pub struct Survey {
    pub seeds: u64,
    pub worlds: u64,
    pub facts: u64,
    pub simulated_ms: u64,
    /// The seeds that failed, with their world and the first promise that was broken.
    pub failed: Vec<(u64, WorldKind, String)>,
}

impl Survey {
    fn add(&mut self, other: Survey) {
        self.seeds += other.seeds;
        self.worlds += other.worlds;
        self.facts += other.facts;
        self.simulated_ms += other.simulated_ms;
        self.failed.extend(other.failed);
    }

    pub fn years(&self) -> f64 {
        self.simulated_ms as f64 / YEAR_MS
    }
}

pub fn survey(extent: Extent) -> Survey {
    let (next, is_found, watch) = (AtomicU64::new(extent.from), AtomicBool::new(false), Stopwatch::start());
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut all = Survey::default();
    std::thread::scope(|scope| {
        let share = || look_at_share(&extent, &next, &is_found, watch);
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(share)).collect();
        for thread in threads {
            all.add(thread.join().expect("a share catches what breaks in it"));
        }
    });
    all.failed.sort_by_key(|(seed, ..)| *seed);
    all
}

fn look_at_share(extent: &Extent, next: &AtomicU64, is_found: &AtomicBool, watch: Stopwatch) -> Survey {
    let mut all = Survey::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let is_last = extent.seeds.is_some_and(|seeds| seed >= extent.from + seeds);
        let is_late = extent.within.is_some_and(|within| watch.elapsed().to_std() >= within);
        if is_last || is_late || (extent.until_found && is_found.load(Ordering::Relaxed)) {
            return all;
        }
        all.seeds += 1;
        for kind in WorldKind::ALL.into_iter().filter(|kind| extent.only.is_none_or(|only| only == *kind)) {
            let seen = look(kind, seed, false);
            all.worlds += 1;
            all.facts += seen.facts;
            all.simulated_ms += seen.simulated_ms;
            if let Some(first) = seen.violations.into_iter().next() {
                is_found.store(true, Ordering::Relaxed);
                all.failed.push((seed, kind, first));
            }
        }
    }
}
