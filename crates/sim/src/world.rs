//! The world: one node, its disk, its clock, its users and its misfortunes, in one thread, from one seed.
//!
//! Invariant: whatever happens is taken from one queue in order of time, and every choice is drawn from one source
//! of chance: the same seed is the same world.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::{Millis, RunId, Timestamp};
use ordo_store::Position;

use crate::actors::client::SimClient;
use crate::actors::node::SimNode;
use crate::disk::Plug;
use crate::happening::Happening;
use crate::misfortune::Misfortune;
use crate::record::history::{Fact, FactKind, History};
use crate::record::trace::Trace;
use crate::rng::SimRng;
use crate::scenario::Scenario;

/// Room on both sides of the simulated time, for the oracle's calendar.
const MARGIN_MS: i64 = 2 * 86_400_000;
/// A world in which this much happens has gone round in circles.
const HAPPENINGS_MAX: u64 = 400_000;

/// The process is gone: nothing it meant to do next is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crash;

pub struct Simulation {
    pub(crate) rng: SimRng,
    pub(crate) scenario: Scenario,
    pub(crate) trace: Trace,
    pub(crate) mono: i64,
    pub(crate) clock_offset: i64,
    queue: BTreeMap<(i64, u64), Happening>,
    queued: u64,
    pub(crate) plug: Plug,
    pub(crate) node: Option<SimNode>,
    pub(crate) generations: u32,
    pub(crate) power_lost: bool,
    pub(crate) stalled_until: i64,
    pub(crate) slow_until: i64,
    pub(crate) slow_reads_until: i64,
    pub(crate) calm: bool,
    pub(crate) quiet_since: Option<i64>,
    pub(crate) set_back_ms: i64,
    pub(crate) wall_max: i64,
    pub(crate) client: SimClient,
    pub(crate) history: History,
    pub(crate) cursor: Position,
    /// The log could not be read to its end the last time.
    pub(crate) behind: bool,
    /// Runs that are not over, according to the log.
    pub(crate) active: BTreeSet<RunId>,
}

impl std::fmt::Debug for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulation").field("scenario", &self.scenario).field("mono", &self.mono).finish_non_exhaustive()
    }
}

impl Simulation {
    pub fn new(seed: u64, keep_trace: bool) -> Simulation {
        let mut rng = SimRng::new(seed);
        let scenario = Scenario::draw(&mut rng);
        let begin = scenario.begin_ms;
        let history = History {
            within: (begin - MARGIN_MS, begin + scenario.length_ms + MARGIN_MS),
            tick_ms: scenario.tick_ms,
            ..History::default()
        };
        let plug = Plug::new(rng.draw());
        let mut world = Simulation {
            rng,
            trace: Trace::new(keep_trace),
            mono: 0,
            clock_offset: 0,
            queue: BTreeMap::new(),
            queued: 0,
            plug,
            node: None,
            generations: 0,
            power_lost: false,
            stalled_until: 0,
            slow_until: 0,
            slow_reads_until: 0,
            calm: false,
            quiet_since: None,
            set_back_ms: 0,
            wall_max: begin,
            client: SimClient::default(),
            history,
            cursor: Position::default(),
            behind: false,
            active: BTreeSet::new(),
            scenario,
        };
        world.lay_out();
        world
    }

    /// Puts down when what will be asked and what will go wrong.
    fn lay_out(&mut self) {
        self.note(format_args!("{:?}", self.scenario.clone()));
        self.at(0, Happening::Boot);
        let length = self.scenario.length_ms;
        for _ in 0..self.scenario.jobs {
            let at = self.rng.between(0, length / 3);
            self.at(at, Happening::Create { again: None });
        }
        let knots: Vec<i64> = (0..4).map(|_| self.rng.between(0, length)).collect();
        for _ in 0..self.scenario.commands {
            let at = self.moment(&knots, 300).max(length / 50);
            self.at(at, Happening::Command);
        }
        for _ in 0..self.scenario.misfortunes {
            let at = self.moment(&knots, 2_000);
            let misfortune = Misfortune::draw(&mut self.rng);
            self.at(at, Happening::Misfortune(misfortune));
        }
        if self.scenario.misfortunes > 0 && self.rng.chance(50) {
            let at = self.rng.between(length / 3, 2 * length / 3);
            self.at(at, Happening::Storm);
        }
        self.at(length, Happening::Calm);
    }

    /// Any time, but as often shortly after one of the knots: troubles come together.
    fn moment(&mut self, knots: &[i64], spread_ms: i64) -> i64 {
        let length = self.scenario.length_ms;
        if self.rng.chance(500) {
            let near = *self.rng.pick(knots) + self.rng.between(0, spread_ms);
            return near.min(length);
        }
        self.rng.between(0, length)
    }

    /// Lets the whole world happen.
    pub fn run(mut self) -> (History, Trace) {
        let mut happened = 0;
        while let Some(((at, place), happening)) = self.queue.pop_first() {
            self.mono = self.mono.max(at);
            self.wall_max = self.wall_max.max(self.wall_ms());
            happened += 1;
            if happened > HAPPENINGS_MAX {
                let text = format!("the world goes round in circles: {happening:?}");
                self.note(format_args!("{text}"));
                self.history.end.differences.push(text);
                break;
            }
            if self.is_void(&happening) {
                continue;
            }
            if self.mono < self.stalled_until && happening.generation().is_some() {
                self.queue.insert((self.stalled_until, place), happening);
                continue;
            }
            if self.happen(happening) == Err(Crash) {
                self.crash();
            }
            if self.is_over() {
                break;
            }
        }
        self.end();
        (self.history, self.trace)
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Crash> {
        match happening {
            Happening::Timer { timer_epoch, .. } => self.timer(timer_epoch),
            Happening::Input { input, .. } => self.step(*input),
            Happening::AlarmScan { scan, .. } => self.look(scan),
            Happening::FindWaiting { find, .. } => self.find_waiting(&find),
            Happening::Reconcile { job, .. } => self.reconcile(job),
            Happening::TakeOff { .. } => self.take_off(),
            Happening::Commit { .. } => self.commit(),
            Happening::Land { .. } => self.land(),
            Happening::AttemptEnds { run, token, ended, .. } => self.attempt_ends(run, token, ended),
            Happening::Maintenance { .. } => self.maintain(),
            Happening::Boot => self.boot(),
            Happening::Create { again } => self.submit_create(again),
            Happening::Storm => self.submit_storm(),
            Happening::Command => self.submit_command(),
            Happening::Misfortune(misfortune) => self.suffer(misfortune),
            Happening::Calm => self.begin_calm(),
            Happening::Quiet => self.begin_quiet(),
            Happening::Watch => self.watch(),
        }
    }

    fn is_void(&self, happening: &Happening) -> bool {
        let alive = self.node.as_ref().map(|node| node.number);
        happening.generation().is_some_and(|generation| Some(generation) != alive)
    }

    // --- time -----------------------------------------------------------------------------------

    pub(crate) fn wall_ms(&self) -> i64 {
        self.scenario.begin_ms + self.mono + self.clock_offset
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.wall_ms()).expect("simulated time is near ours")
    }

    pub(crate) fn tick_rate(&self) -> Millis {
        Millis::from_ms(self.scenario.tick_ms.unsigned_abs())
    }

    pub(crate) fn at(&mut self, mono: i64, happening: Happening) {
        self.queued += 1;
        self.queue.insert((mono, self.queued), happening);
    }

    pub(crate) fn after(&mut self, ms: i64, happening: Happening) {
        self.at(self.mono + ms, happening);
    }

    /// Some time up to `ms` from now.
    pub(crate) fn soon(&mut self, ms: i64, happening: Happening) {
        let delay = self.rng.between(0, ms);
        self.after(delay, happening);
    }

    pub(crate) fn set_clock(&mut self, by: i64) {
        self.clock_offset += by;
        self.set_back_ms += (-by).max(0);
        self.history.within.1 += by.max(0);
    }

    // --- facts ----------------------------------------------------------------------------------

    pub(crate) fn note(&mut self, text: std::fmt::Arguments<'_>) {
        self.trace.line(self.mono, text);
    }

    pub(crate) fn fact(&mut self, what: FactKind) {
        self.trace.line(self.mono, format_args!("{what:?}"));
        self.history.facts.push(Fact { mono: self.mono, wall: self.wall_ms(), what });
    }

    pub(crate) fn trouble(&mut self, until: i64) {
        self.fact(FactKind::Trouble { until });
    }
}
