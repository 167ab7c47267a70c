//! Looks at the worlds of many seeds: on all cores, for so many seeds or for so long.
//!
//! Invariant: worlds know nothing of each other, so which core looks at which seed does not matter. A panic anywhere in a
//! world, also in a task that its runtime would swallow, is a failure of its seed.

use std::cell::RefCell;
use std::num::NonZero;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use ordo_engine::clock::Stopwatch;

use crate::{Simulation, judge, whole};

const YEAR_MS: f64 = 365.25 * 86_400_000.0;
/// How often a survey says how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

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
    survey_with_progress(extent, PROGRESS_EVERY, |_, _| ())
}

/// A survey that says every ten seconds what was seen so far, and for how long it has been looking.
pub fn survey_saying(extent: Extent, progress: impl FnMut(&Survey, Duration)) -> Survey {
    survey_with_progress(extent, PROGRESS_EVERY, progress)
}

fn survey_with_progress(extent: Extent, every: Duration, mut progress: impl FnMut(&Survey, Duration)) -> Survey {
    let (next, is_found, watch) = (AtomicU64::new(extent.from), AtomicBool::new(false), Stopwatch::start());
    let elapsed = || watch.elapsed().to_std();
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut all = Survey::default();
    std::thread::scope(|scope| {
        let (looked, seeds) = mpsc::channel();
        for _ in 0..cores {
            let (looked, next, is_found) = (looked.clone(), &next, &is_found);
            scope.spawn(move || look_at_share(&extent, next, is_found, watch, &looked));
        }
        drop(looked);
        let mut due = every;
        loop {
            match seeds.recv_timeout(due.saturating_sub(elapsed())) {
                Ok(seed) => all.add(seed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if elapsed() >= due {
                progress(&all, elapsed());
                due = elapsed() + every;
            }
        }
    });
    all.failed.sort_by_key(|(seed, ..)| *seed);
    all
}

/// Hands in what was seen seed by seed.
fn look_at_share(extent: &Extent, next: &AtomicU64, is_found: &AtomicBool, watch: Stopwatch, looked: &Sender<Survey>) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let is_last = extent.seeds.is_some_and(|seeds| seed >= extent.from + seeds);
        let is_late = extent.within.is_some_and(|within| watch.elapsed().to_std() >= within);
        if is_last || is_late || (extent.until_found && is_found.load(Ordering::Relaxed)) {
            return;
        }
        let worlds = look_at_seed(seed, extent.only);
        is_found.fetch_or(!worlds.failed.is_empty(), Ordering::Relaxed);
        if looked.send(worlds).is_err() {
            return;
        }
    }
}

fn look_at_seed(seed: u64, only: Option<WorldKind>) -> Survey {
    let mut worlds = Survey { seeds: 1, ..Survey::default() };
    for kind in WorldKind::ALL.into_iter().filter(|kind| only.is_none_or(|only| only == *kind)) {
        let seen = look(kind, seed, false);
        worlds.worlds += 1;
        worlds.facts += seen.facts;
        worlds.simulated_ms += seen.simulated_ms;
        worlds.failed.extend(seen.violations.into_iter().next().map(|first| (seed, kind, first)));
    }
    worlds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_says_how_far_it_is_and_its_end_is_the_sum() {
        let extent = Extent { from: 1, seeds: Some(6), within: None, only: Some(WorldKind::Jobs), until_found: false };
        let mut said: Vec<u64> = Vec::new();
        let seen = survey_with_progress(extent, Duration::ZERO, |so_far, _| said.push(so_far.seeds));
        assert_eq!((seen.seeds, seen.worlds), (6, 6));
        assert!(seen.facts > 0 && seen.simulated_ms > 0);
        assert!(said.is_sorted() && said.last() == Some(&6), "{said:?}");
    }
}
