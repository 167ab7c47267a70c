//! The world: one node, its disk, its clock, its users and its misfortunes, in one thread, from one seed.
//!
//! Invariant: whatever happens is taken from one queue in order of time, and every choice is drawn from one source
//! of chance: the same seed is the same world.

use std::collections::{BTreeMap, BTreeSet};

use ordo_engine::codec::{self, Recorded};
use ordo_engine::core::Input;
use ordo_engine::timekeeper::Look;
use ordo_model::job::Event;
use ordo_model::{JobId, Millis, RunId, Timestamp};
use ordo_store::{Position, Store};

use crate::client::Client;
use crate::disk::Plug;
use crate::executor::Ended;
use crate::history::{Fact, History, What};
use crate::misfortune::Misfortune;
use crate::node::Node;
use crate::ready::ready;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::trace::Trace;

/// How long everything goes well before the world is asked to stand still.
const CALM_MS: i64 = 4 * 60_000;
/// By then at the latest every run must have come to its end once nothing new is asked: timeouts, graces, retries.
const SETTLE_MS: i64 = 40 * 60_000;
/// Room on both sides of the simulated time, for the oracle's calendar.
const MARGIN_MS: i64 = 2 * 86_400_000;
/// A world in which this much happens has gone round in circles.
const HAPPENINGS_MAX: u64 = 400_000;

/// The process is gone: nothing it meant to do next is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crash;

/// What the world does next, at its time. Those with a life are void once that life is over.
#[derive(Debug)]
pub(crate) enum Happening {
    Timer { life: u32, generation: u64 },
    Input { life: u32, input: Box<Input> },
    Look { life: u32, look: Look },
    FindWaiting { life: u32, limit: usize },
    TakeOff { life: u32 },
    Commit { life: u32 },
    Land { life: u32 },
    AttemptEnds { life: u32, run: RunId, token: u64, ended: Ended },
    Keeper { life: u32 },
    Boot,
    Create { again: Option<u32> },
    Command,
    Misfortune(Misfortune),
    Calm,
    Quiet,
    Watch,
}

pub struct World {
    pub(crate) rng: Rng,
    pub(crate) scenario: Scenario,
    pub(crate) trace: Trace,
    pub(crate) mono: i64,
    pub(crate) clock_offset: i64,
    queue: BTreeMap<(i64, u64), Happening>,
    queued: u64,
    pub(crate) plug: Plug,
    pub(crate) node: Option<Node>,
    pub(crate) lives: u32,
    pub(crate) power_lost: bool,
    pub(crate) stalled_until: i64,
    pub(crate) slow_until: i64,
    pub(crate) calm: bool,
    quiet_since: Option<i64>,
    set_back_ms: i64,
    wall_max: i64,
    pub(crate) client: Client,
    pub(crate) history: History,
    cursor: Position,
    /// The log could not be read to its end the last time.
    behind: bool,
    /// Runs that are not over, as the log tells.
    pub(crate) active: BTreeSet<RunId>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("scenario", &self.scenario).field("mono", &self.mono).finish_non_exhaustive()
    }
}

impl World {
    pub fn new(seed: u64, keep_trace: bool) -> World {
        let mut rng = Rng::new(seed);
        let scenario = Scenario::draw(&mut rng);
        let begin = scenario.begin_ms;
        let history = History {
            within: (begin - MARGIN_MS, begin + scenario.length_ms + MARGIN_MS),
            tick_ms: scenario.tick_ms,
            ..History::default()
        };
        let plug = Plug::new(rng.draw());
        let mut world = World {
            rng,
            trace: Trace::new(keep_trace),
            mono: 0,
            clock_offset: 0,
            queue: BTreeMap::new(),
            queued: 0,
            plug,
            node: None,
            lives: 0,
            power_lost: false,
            stalled_until: 0,
            slow_until: 0,
            calm: false,
            quiet_since: None,
            set_back_ms: 0,
            wall_max: begin,
            client: Client::default(),
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
        for _ in 0..self.scenario.commands {
            let at = self.rng.between(length / 20, length);
            self.at(at, Happening::Command);
        }
        for _ in 0..self.scenario.misfortunes {
            let at = self.rng.between(0, length);
            let misfortune = Misfortune::draw(&mut self.rng);
            self.at(at, Happening::Misfortune(misfortune));
        }
        self.at(length, Happening::Calm);
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
            if self.mono < self.stalled_until && happening.life().is_some() {
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
            Happening::Timer { generation, .. } => self.timer(generation),
            Happening::Input { input, .. } => self.step(*input),
            Happening::Look { look, .. } => self.look(look),
            Happening::FindWaiting { limit, .. } => self.find_waiting(limit),
            Happening::TakeOff { .. } => self.take_off(),
            Happening::Commit { .. } => self.commit(),
            Happening::Land { .. } => self.land(),
            Happening::AttemptEnds { run, token, ended, .. } => self.attempt_ends(run, token, ended),
            Happening::Keeper { .. } => self.keep(),
            Happening::Boot => self.boot(),
            Happening::Create { again } => self.ask_create(again),
            Happening::Command => self.ask_command(),
            Happening::Misfortune(misfortune) => self.suffer(misfortune),
            Happening::Calm => self.begin_calm(),
            Happening::Quiet => self.begin_quiet(),
            Happening::Watch => self.watch(),
        }
    }

    fn is_void(&self, happening: &Happening) -> bool {
        let alive = self.node.as_ref().map(|node| node.number);
        happening.life().is_some_and(|life| Some(life) != alive)
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

    pub(crate) fn fact(&mut self, what: What) {
        self.trace.line(self.mono, format_args!("{what:?}"));
        self.history.facts.push(Fact { mono: self.mono, wall: self.wall_ms(), what });
    }

    pub(crate) fn trouble(&mut self, until: i64) {
        self.fact(What::Trouble { until });
    }

    /// Reads what an earlier failure left in the log, before anything is added to it.
    pub(crate) fn catch_up(&mut self, store: &dyn Store) {
        if self.behind {
            self.tail(store, None);
        }
    }

    /// Reads what is new in the log. `acked`: when that was decided of which the store just said that it is durable.
    pub(crate) fn tail(&mut self, store: &dyn Store, acked: Option<i64>) {
        self.behind = true;
        // A disk that fails just now is read again later; nothing is lost by that.
        while let Ok(page) = ready(store.events(&self.cursor, 200)) {
            let Some(last) = page.last() else {
                self.behind = false;
                break;
            };
            self.cursor = last.position.clone();
            for stored in &page {
                let (job, at) = (JobId(stored.entity.id), stored.at.ms());
                match codec::decode_event(stored).expect("what is in the log can be read") {
                    Recorded::Happened(event) => self.logged(job, stored.version, at, acked == Some(at), event),
                    Recorded::Checkpoint(_) => {}
                }
            }
        }
    }

    fn logged(&mut self, job: JobId, version: u64, at: i64, acked: bool, event: Event) {
        match &event {
            Event::JobTriggered { run_id, .. } => {
                self.active.insert(*run_id);
                self.client.runs.push((job, *run_id));
            }
            Event::JobStarted { run_id, token, .. } => self.client.started.push((job, *run_id, token.0)),
            Event::JobExecuted { run_id, .. }
            | Event::RunCancelled { run_id, .. }
            | Event::JobFailed { run_id, retry_at: None, .. } => {
                self.active.remove(run_id);
            }
            _ => {}
        }
        self.fact(What::Logged { job, version, at, acked, event: Box::new(event) });
    }

    // --- the last part: nothing goes wrong any more ---------------------------------------------

    fn begin_calm(&mut self) -> Result<(), Crash> {
        self.calm = true;
        self.plug.clear_fuse();
        self.slow_until = 0;
        self.stalled_until = 0;
        if let Some(node) = &mut self.node {
            node.crash_in = None;
        } else {
            self.after(1, Happening::Boot);
        }
        self.release_deaf();
        self.trouble(self.mono);
        self.fact(What::Calm);
        self.after(CALM_MS, Happening::Quiet);
        Ok(())
    }

    fn begin_quiet(&mut self) -> Result<(), Crash> {
        self.fact(What::Quiet);
        self.quiet_since = Some(self.mono);
        self.after(1_000, Happening::Watch);
        self.ask_to_pause_all()
    }

    fn watch(&mut self) -> Result<(), Crash> {
        self.after(2_000, Happening::Watch);
        Ok(())
    }

    /// Nothing is under way any more, or it should long not have been.
    fn is_over(&self) -> bool {
        let Some(since) = self.quiet_since else { return false };
        let quiet = self.mono - since;
        let idle = self.active.is_empty() && self.client.is_idle() && self.node.as_ref().is_some_and(Node::is_idle);
        (idle && quiet > 5_000) || quiet > SETTLE_MS + self.set_back_ms
    }

    fn end(&mut self) {
        let Some(node) = self.node.take() else {
            self.history.end.differences.push("the node is down at the end".into());
            return;
        };
        self.tail(node.store.as_ref(), None);
        self.history.end.mono = self.mono;
        self.history.end.wall = self.wall_ms();
        self.history.end.wall_max = self.wall_max;
        node.close(&mut self.history.end);
        let end = format!("{:?}", self.history.end);
        self.note(format_args!("{end}"));
    }
}

impl Happening {
    fn life(&self) -> Option<u32> {
        match self {
            Happening::Timer { life, .. }
            | Happening::Input { life, .. }
            | Happening::Look { life, .. }
            | Happening::FindWaiting { life, .. }
            | Happening::TakeOff { life }
            | Happening::Commit { life }
            | Happening::Land { life }
            | Happening::AttemptEnds { life, .. }
            | Happening::Keeper { life } => Some(*life),
            Happening::Boot
            | Happening::Create { .. }
            | Happening::Command
            | Happening::Misfortune(_)
            | Happening::Calm
            | Happening::Quiet
            | Happening::Watch => None,
        }
    }
}
