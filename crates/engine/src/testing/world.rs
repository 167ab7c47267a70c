//! A real engine on a real store in a temporary folder, with tools and a clock that tests can steer.
//!
//! Invariant: nothing here waits for a length of time. A test waits for what it wants to see and looks again whenever
//! something was committed; how long that may take is only a bound for a test that would hang otherwise.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ordo_model::job::{Command, Definition, Job, Run, RunStatus};
use ordo_model::{JobId, Millis, RunId, Timestamp};
use ordo_store_redb::RedbStore;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast::error::RecvError;

use super::tools::{Voice, tools};
use crate::maintenance::check;
use crate::read::run_list::RunFilter;
use crate::run::log_reader::LogReader;
use crate::run::runner::Tools;
use crate::run::secrets::{FixedKeys, SealingKey};
use crate::time::clock::{SetClock, SharedClock, SystemClock};
use crate::time::timekeeper::Projection;
use crate::{Engine, EngineOptions};

/// Nothing in these tests takes this long, unless it is broken.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often the engine of a test scans its alarms.
pub const TICK_RATE: Millis = Millis::from_ms(200);
/// How often the store of a running engine is checked before a difference counts.
const CHECKS: usize = 10;

pub struct World {
    pub engine: Engine,
    /// What the tool `talk` says; dropping it ends its run.
    pub voice: Option<Voice>,
    folder: tempfile::TempDir,
    options: EngineOptions,
    tools: Tools,
    clock: WorldClock,
    /// The engine has threads of its own, as in the daemon, so that a test can end them.
    threads: Threads,
}

#[derive(Debug, Clone)]
enum WorldClock {
    GoesOn(SharedClock),
    Stands(Arc<SetClock>),
}

impl WorldClock {
    fn shared(&self) -> SharedClock {
        match self {
            WorldClock::GoesOn(clock) => clock.clone(),
            WorldClock::Stands(clock) => clock.clone(),
        }
    }
}

impl Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("folder", &self.folder).field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// As tests want it: with a short tick and a key for secrets.
pub fn options() -> EngineOptions {
    let keys = Arc::new(FixedKeys(vec![SealingKey::of([7; 32])]));
    EngineOptions { tick_rate: TICK_RATE, keys, ..EngineOptions::default() }
}

impl World {
    pub async fn new() -> World {
        World::with(options()).await
    }

    pub async fn with(options: EngineOptions) -> World {
        World::begin(options, WorldClock::GoesOn(Arc::new(SystemClock))).await
    }

    /// Time stands still until the test moves it: [`World::advance`], [`World::clock`].
    pub async fn standing(options: EngineOptions) -> World {
        let noon = Timestamp::from_ms(1_900_000_000_000).unwrap();
        World::begin(options, WorldClock::Stands(Arc::new(SetClock::new(noon)))).await
    }

    async fn begin(options: EngineOptions, clock: WorldClock) -> World {
        let folder = tempfile::tempdir().unwrap();
        let (tools, voice) = tools();
        let (engine, threads) = start(folder.path(), &options, &tools, &clock).await;
        World { engine, voice: Some(voice), folder, options, tools, clock, threads }
    }

    /// The process is stopped as one should be, and comes back.
    pub async fn restart(self) -> World {
        self.engine.shutdown(Duration::ZERO).await;
        self.come_back().await
    }

    /// The process dies without a word and comes back: nothing is ended or recorded, and what was only in memory is
    /// lost. What the store has acknowledged is in its files.
    pub async fn kill(self) -> World {
        self.come_back().await
    }

    async fn come_back(self) -> World {
        let World { engine, voice, folder, options, tools, clock, threads } = self;
        threads.end().await;
        drop(engine);
        let (engine, threads) = start(folder.path(), &options, &tools, &clock).await;
        World { engine, voice, folder, options, tools, clock, threads }
    }

    /// The process is stopped, and comes back with other options.
    pub async fn restart_with(self, options: EngineOptions) -> World {
        World { options, ..self }.restart().await
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the store is.
    pub fn store_path(&self) -> PathBuf {
        store_in(self.folder())
    }

    /// The clock of a world whose time stands still.
    pub fn clock(&self) -> &SetClock {
        match &self.clock {
            WorldClock::Stands(clock) => clock,
            WorldClock::GoesOn(_) => panic!("the time of this world goes on by itself"),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.shared().now()
    }

    /// So much time passes at once; returns when the engine has seen it and has woken what fell due.
    pub async fn advance(&self, by: Millis) {
        self.clock().set(self.now().plus(by));
        self.caught_up().await;
    }

    /// A few ticks pass, one after the other.
    pub async fn some_ticks(&self) {
        for _ in 0..5 {
            self.advance(TICK_RATE).await;
        }
    }

    /// Waits until the engine has looked at the clock, and until whatever is due by it has been woken and settled.
    pub async fn caught_up(&self) {
        let caught_up = async {
            loop {
                self.engine.look_at_the_clock();
                let (now, seen) = (self.now(), self.projection().await);
                let has_scanned = seen.next_tick_at > now && seen.covered_until.is_some_and(|until| until >= now);
                let is_later = seen.nearest.first().is_none_or(|(due, _)| *due > now);
                if has_scanned && is_later && seen.in_flight == 0 {
                    return;
                }
                // The core is asked in turn with everything else it has to do.
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, caught_up).await.expect("the engine never caught up with its clock");
    }

    async fn projection(&self) -> Projection {
        self.engine.timekeeper().await.expect("the engine has stopped")
    }

    /// Looks until there is something to see: now, and whenever something was committed.
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
        let caller = std::panic::Location::caller();
        let mut hints = self.engine.watch();
        async move {
            let seen = async {
                loop {
                    if let Some(seen) = look().await {
                        return seen;
                    }
                    // Lagging or not, it is time to look again; nothing more comes from an engine that is gone.
                    if let Err(RecvError::Closed) = hints.recv().await {
                        panic!("{caller}: the engine has stopped before {what}");
                    }
                }
            };
            match tokio::time::timeout(PATIENCE, seen).await {
                Ok(seen) => seen,
                Err(_) => panic!("{caller}: never seen: {what}"),
            }
        }
    }

    pub async fn add(&self, definition: Value) -> Job {
        let definition: Definition = serde_json::from_value(definition).unwrap();
        Job::clone(&self.engine.schedule(definition, false).await.unwrap().job)
    }

    pub async fn trigger(&self, job: JobId) -> RunId {
        self.engine.submit(job, Command::Trigger { tool_input: None, traceparent: None }).await.unwrap().runs[0].id
    }

    /// The run, once it looks as wanted.
    #[track_caller]
    pub fn run_until(&self, id: RunId, wanted: impl Fn(&Run) -> bool) -> impl Future<Output = Run> {
        self.until("the run looks as wanted", async move || {
            self.engine.queries().run_with_result(id).await.unwrap().filter(|run| wanted(run))
        })
    }

    #[track_caller]
    pub fn over(&self, id: RunId) -> impl Future<Output = Run> {
        self.run_until(id, |run| run.status.is_terminal())
    }

    /// Those runs of the job that are over, oldest first, once there are so many.
    #[track_caller]
    pub fn finished(&self, job: JobId, count: usize) -> impl Future<Output = Vec<Run>> {
        self.until("so many runs are over", async move || {
            let mut runs = self.runs(job).await;
            runs.retain(|run| run.status.is_terminal());
            (runs.len() >= count).then_some(runs)
        })
    }

    /// The runs of a job, oldest first.
    pub async fn runs(&self, job: JobId) -> Vec<Run> {
        let filter = RunFilter { job_id: Some(job), ..Default::default() };
        let mut runs = self.engine.queries().runs(&filter, None, 1_000).await.unwrap().items;
        runs.reverse();
        runs
    }

    /// What a run said.
    pub async fn lines(&self, run: RunId) -> Vec<String> {
        let mut reader = LogReader::after(self.engine.queries().store().clone(), run, None);
        reader.next().await.unwrap().into_iter().map(|line| line.line.text).collect()
    }

    /// The store proves itself. The engine goes on meanwhile, and what it writes between two reads of the check is a
    /// difference of that moment: only one that stays is a real one.
    pub async fn assert_clean(&self) {
        let store = self.engine.queries().store().clone();
        let mut shown = Vec::new();
        for _ in 0..CHECKS {
            let mut hints = self.engine.watch();
            let report = check::check(store.as_ref(), &mut |_| {}).await.unwrap();
            if report.is_clean() {
                return;
            }
            shown = report.shown;
            // A real difference is followed by no commit: it is looked at again all the same.
            drop(tokio::time::timeout(TICK_RATE.to_std(), hints.recv()).await);
        }
        panic!("{shown:#?}");
    }
}

/// The threads of an engine.
struct Threads(Option<Runtime>);

impl Threads {
    /// Returns when no task is left that holds the store.
    async fn end(mut self) {
        if let Some(runtime) = self.0.take() {
            tokio::task::spawn_blocking(move || runtime.shutdown_timeout(PATIENCE)).await.unwrap();
        }
    }
}

/// A runtime must not be waited for where a test drops it.
impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn store_in(folder: &Path) -> PathBuf {
    folder.join("ordo.db")
}

async fn start(folder: &Path, options: &EngineOptions, tools: &Tools, clock: &WorldClock) -> (Engine, Threads) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (path, tools, clock, options) = (store_in(folder), tools.clone(), clock.shared(), options.clone());
    let begun = runtime.spawn(async move {
        let store = RedbStore::open(path, Default::default()).unwrap();
        Engine::start(Arc::new(store), tools, clock, options).await.unwrap()
    });
    (begun.await.unwrap(), Threads(Some(runtime)))
}

/// A job that runs when somebody triggers it.
pub fn manual(tool: &str, input: &Value) -> Value {
    json!({ "label": "test", "tool_name": tool, "tool_input": input, "trigger": { "type": "manual" } })
}

pub fn every(tool: &str, every: &str) -> Value {
    json!({ "label": "test", "tool_name": tool, "trigger": { "type": "scheduled", "every": every } })
}

/// Why a run failed, if it did.
pub fn failed(run: &Run) -> Option<&str> {
    match &run.status {
        RunStatus::Failed { reason } => Some(reason),
        _ => None,
    }
}

/// Looks again every few milliseconds until there is something to see. Only for what changes in memory and is followed
/// by no commit; for everything else there is [`World::until`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let seen = async {
        loop {
            match look().await {
                Some(seen) => return seen,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("never seen: {what}"))
}
