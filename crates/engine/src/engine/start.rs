//! How an engine starts: its parts are made, linked by channels, and begin to run.
//!
//! Invariant: nothing fires before the attempts of former generations are settled (`recover`), and no part holds more
//! than the channels that it sends on: a part ends when all that send to it are gone.

use std::sync::Arc;

use ordo_model::job::SlotReservation;
use ordo_model::limits::WAITING_COMMANDS_MAX;
use ordo_model::{Incarnation, RunId};
use ordo_store::{EventActor, Fault, Store};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::shell::{CoreMessage, CoreShell};
use super::{Engine, EngineOptions, Shared, intake, settling, upkeep};
use crate::cluster::{self, ClusterMember, NodeLoads, NodeOffer, Reviewer, Roster};
use crate::commit::batcher::{Batcher, BatcherState};
use crate::commit::queue::{BatcherInbox, BatcherQueue, batcher_queue};
use crate::commit::rounds::Rounds;
use crate::core::{Core, Input};
use crate::dispatch::Draws;
use crate::dispatch::executors;
use crate::dispatch::executors::lease::LostExecutors;
use crate::dispatch::executors::registry::ExecutorRegistry;
use crate::maintenance::scrub;
use crate::maintenance::writable::Writable;
use crate::notify::reconciler::{Reconciler, ReconcilerMessage};
use crate::read::change_hint::ChangeHints;
use crate::read::metrics::Metrics;
use crate::read::queries::Queries;
use crate::run::gate::Gate;
use crate::run::log_writer::LogWriter;
use crate::run::logs::LogLine;
use crate::run::runner::{Runner, Tools};
use crate::run::secrets::Vault;
use crate::time::clock::{SharedClock, StoreClock, new_id};
use crate::time::partitions::Ownership;

type LineOfRun = (RunId, LogLine);
type FlushOfRun = (RunId, oneshot::Sender<()>);

/// Where messages are sent, by who receives them.
struct Links {
    batcher: BatcherQueue,
    inputs: UnboundedSender<Input>,
    core: UnboundedSender<CoreMessage>,
    lines: UnboundedSender<LineOfRun>,
    flushes: UnboundedSender<FlushOfRun>,
    reconcile: UnboundedSender<ReconcilerMessage>,
    roll_call: UnboundedSender<()>,
    loads: watch::Sender<NodeLoads>,
}

/// The other ends: each is taken by the one that it is for.
struct Inboxes {
    batcher: BatcherInbox,
    inputs: UnboundedReceiver<Input>,
    core: UnboundedReceiver<CoreMessage>,
    lines: UnboundedReceiver<LineOfRun>,
    flushes: UnboundedReceiver<FlushOfRun>,
    reconcile: UnboundedReceiver<ReconcilerMessage>,
    roll_call: UnboundedReceiver<()>,
    loads: watch::Receiver<NodeLoads>,
}

fn channels() -> (Links, Inboxes) {
    let (to_batcher, batcher) = batcher_queue();
    let (to_inputs, inputs) = unbounded_channel();
    let (to_core, core) = unbounded_channel();
    let (to_lines, lines) = unbounded_channel();
    let (to_flushes, flushes) = unbounded_channel();
    let (to_reconcile, reconcile) = unbounded_channel();
    let (to_roll_call, roll_call) = unbounded_channel();
    let (to_loads, loads) = watch::channel(NodeLoads::default());
    let links = Links {
        batcher: to_batcher,
        inputs: to_inputs,
        core: to_core,
        lines: to_lines,
        flushes: to_flushes,
        reconcile: to_reconcile,
        roll_call: to_roll_call,
        loads: to_loads,
    };
    (links, Inboxes { batcher, inputs, core, lines, flushes, reconcile, roll_call, loads })
}

/// What the parts of an engine are made of.
struct Wiring {
    store: Arc<dyn Store>,
    clock: SharedClock,
    tools: Arc<Tools>,
    me: Incarnation,
    vault: Vault,
    options: EngineOptions,
    links: Links,
    hints: ChangeHints,
    metrics: Arc<Metrics>,
    registry: Arc<ExecutorRegistry>,
    untidy: Arc<Notify>,
    /// Nodes of an earlier version share the store.
    is_keyless: bool,
}

impl Wiring {
    fn start_batcher(&self, inbox: BatcherInbox) -> JoinHandle<()> {
        let rounds = Rounds::new(self.store.is_shared(), self.options.flush_delay, self.metrics.clone())
            .with_tables(self.store.has_tables());
        let (store, clock, core) = (self.store.clone(), self.clock.clone(), self.links.inputs.clone());
        let state = BatcherState::new(rounds, store, clock, core, self.hints.clone(), self.metrics.clone());
        Batcher::start(state, inbox, &self.links.batcher)
    }

    fn log_writer(&self, lines: UnboundedReceiver<LineOfRun>, flushes: UnboundedReceiver<FlushOfRun>) -> LogWriter {
        LogWriter::new(lines, flushes, self.links.batcher.clone(), self.hints.clone())
    }

    fn runner(&self) -> Runner {
        Runner {
            tools: self.tools.clone(),
            vault: self.vault.clone(),
            clock: self.clock.clone(),
            core: self.links.inputs.clone(),
            batcher: self.links.batcher.clone(),
            lines: self.links.lines.clone(),
            flushes: self.links.flushes.clone(),
            sampling: self.options.sampling,
            gate: Gate::new(self.options.pools),
            running: Default::default(),
            ending: Default::default(),
        }
    }

    fn core(&self) -> Result<Core, Fault> {
        let tools = Some(Arc::new(self.tools.keys().cloned().collect()));
        let (executor, group) = (self.me.clone(), self.options.group.clone());
        let reservation = SlotReservation { executor, group, tools, draw: 0, has_others: false, is_keyless: false };
        let draws = Draws::secret().map_err(|error| Fault::unavailable("starting", error.to_string()))?;
        let core = Core::new(reservation, draws, self.options.tick_rate, self.options.pools, self.clock.now());
        Ok(if self.store.is_shared() { core.sharing(self.clock.now(), self.is_keyless) } else { core })
    }

    fn shell(
        &self,
        runner: Runner,
        inputs: UnboundedReceiver<Input>,
        messages: UnboundedReceiver<CoreMessage>,
    ) -> Result<CoreShell, Fault> {
        Ok(CoreShell {
            core: self.core()?,
            clock: self.clock.clone(),
            store: self.store.clone(),
            batcher: self.links.batcher.clone(),
            inputs,
            input_tx: self.links.inputs.clone(),
            messages,
            runner,
            registry: self.registry.clone(),
            reconcile: self.links.reconcile.clone(),
            roll_call: self.links.roll_call.clone(),
            loads: self.links.loads.clone(),
            drained: None,
            idle: Vec::new(),
            untidy: self.untidy.clone(),
        })
    }

    fn engine(self, stopping: CancellationToken, tasks: Vec<JoinHandle<()>>) -> Engine {
        let ownership = if self.store.is_shared() { Ownership::none() } else { Ownership::everything() };
        let shared = Shared {
            started_at: self.clock.now(),
            clock: self.clock,
            queries: Queries::new(self.store),
            standby: std::sync::OnceLock::new(),
            tools: self.tools,
            vault: self.vault,
            me: self.me,
            options: self.options,
            batcher: self.links.batcher,
            core: self.links.core,
            inputs: self.links.inputs,
            registry: self.registry,
            lost_executors: LostExecutors::default(),
            live: self.hints,
            metrics: self.metrics,
            reconcile: self.links.reconcile,
            admission: Arc::new(Semaphore::new(WAITING_COMMANDS_MAX)),
            stopping,
            tasks: std::sync::Mutex::new(tasks),
            reconciler: std::sync::Mutex::default(),
            writable: Writable::default(),
            submitted: Arc::default(),
            ownership: watch::channel(ownership).0,
        };
        Engine { shared: Arc::new(shared), actor: EventActor::Ordo, reads_standby: false }
    }
}

/// The clock that the engine goes by: on a store that nodes share that of the store, and this node is one of them. Also
/// whether nodes are there that hold no keys.
async fn common_clock(
    store: &dyn Store,
    clock: SharedClock,
    me: &Incarnation,
    options: &EngineOptions,
) -> Result<(SharedClock, Arc<StoreClock>, bool), Fault> {
    let store_clock = Arc::new(StoreClock::new(clock.clone()));
    let Some(cluster) = store.cluster() else { return Ok((clock, store_clock, false)) };
    store_clock.compare(cluster).await?;
    let is_keyless = cluster::join(cluster, me, &options.about).await?;
    Ok((store_clock.clone(), store_clock, is_keyless))
}

impl Engine {
    /// Starts the engine: sweeps what a former generation left behind, settles its attempts, begins to fire.
    pub async fn start(
        store: Arc<dyn Store>,
        tools: Tools,
        clock: SharedClock,
        options: EngineOptions,
    ) -> Result<Engine, Fault> {
        let tools = Arc::new(tools);
        settling::sweep(&tools).await;
        let me = Incarnation { executor: options.node.clone(), generation: new_id() };
        let (clock, store_clock, is_keyless) = common_clock(store.as_ref(), clock, &me, &options).await?;
        let (links, inboxes) = channels();
        let (inputs, untidy) = (links.inputs.clone(), Arc::new(Notify::new()));
        let wiring = Wiring {
            vault: Vault { queries: Queries::new(store.clone()), keys: options.keys.clone() },
            store: store.clone(),
            clock,
            tools,
            me,
            options,
            links,
            hints: ChangeHints::new(),
            metrics: Arc::default(),
            registry: Arc::default(),
            untidy: untidy.clone(),
            is_keyless,
        };
        let runner = wiring.runner();
        let (core, registry) = (wiring.links.core.clone(), wiring.registry.clone());
        let reviewer = Reviewer::new(store.clone(), runner.clone(), registry, inputs.clone(), core);
        let shell = wiring.shell(runner, inboxes.inputs, inboxes.core)?;
        let log_writer = wiring.log_writer(inboxes.lines, inboxes.flushes);
        let tasks = vec![wiring.start_batcher(inboxes.batcher), tokio::spawn(log_writer.run())];
        let stopping = CancellationToken::new();
        let engine = wiring.engine(stopping.clone(), tasks);
        engine.recover().await?;
        let core = inputs.clone();
        let reconciler = Reconciler { engine: engine.clone(), inbox: inboxes.reconcile, core, stopping };
        engine.keep_task(tokio::spawn(shell.run()));
        engine.begin_upkeep(store.is_shared(), untidy, reviewer.clone());
        *engine.reconciler() = Some(tokio::spawn(reconciler.run()));
        if store.is_shared() {
            engine.be_a_member(store, store_clock, inputs, reviewer, inboxes.roll_call, inboxes.loads);
        }
        Ok(engine)
    }

    fn begin_upkeep(&self, is_shared: bool, untidy: Arc<Notify>, reviewer: Reviewer) {
        self.keep_task(tokio::spawn(upkeep::maintain(self.clone(), untidy)));
        if !is_shared {
            self.keep_task(tokio::spawn(scrub::run(self.clone())));
        }
        self.keep_task(tokio::spawn(reviewer.clone().run()));
        self.keep_task(tokio::spawn(executors::watch(self.clone(), reviewer)));
        if self.shared.queries.store().submissions().is_some() {
            self.keep_task(tokio::spawn(intake::run(self.by_itself(), self.shared.submitted.clone())));
        }
    }

    /// Begins to work with the other nodes on the same store.
    fn be_a_member(
        &self,
        store: Arc<dyn Store>,
        clock: Arc<StoreClock>,
        core: UnboundedSender<Input>,
        reviewer: Reviewer,
        roll_calls: UnboundedReceiver<()>,
        loads: watch::Receiver<NodeLoads>,
    ) {
        let ours = self.shared.ownership.clone();
        let watched = ours.subscribe();
        let (me, mut about) = (self.shared.me.clone(), self.shared.options.about.clone());
        about.executor = about
            .roles
            .executor
            .then(|| NodeOffer { group: self.group().to_owned(), tools: self.tools().keys().cloned().collect() });
        let roster = Roster::new(self.clone());
        self.keep_task(tokio::spawn(roster.clone().run()));
        self.keep_task(tokio::spawn(roster.clone().answer(roll_calls)));
        let (live, submitted) = (self.shared.live.clone(), self.shared.submitted.clone());
        self.keep_task(tokio::spawn(cluster::follow(
            store.clone(),
            watched,
            core.clone(),
            live,
            submitted,
            reviewer.clone(),
            roster.clone(),
        )));
        let member =
            ClusterMember { engine: self.clone(), store, clock, me, about, core, ours, reviewer, roster, loads };
        self.keep_task(tokio::spawn(member.run()));
    }

    fn keep_task(&self, task: JoinHandle<()>) {
        self.shared.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(task);
    }
}
