//! A running engine: starts the tasks, says who is who, stops them again.
//!
//! Invariant: one task owns the core, one the batcher, one the log writer; they talk by messages only.

pub mod incidents;
mod monitors;
mod notifications;
mod settling;
mod shell;
mod stepping;
mod submit;
pub mod tokens;
mod upkeep;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ordo_model::incident::Escalation;
use ordo_model::job::{Definition, Job, SlotReservation};
use ordo_model::limits::WAITING_COMMANDS_MAX;
use ordo_model::{Actor, ClockFrame, EntityId, Incarnation, JobId, Millis, Timestamp};
use ordo_store::{EventActor, Fault, Store};
use tokio::sync::{Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::cluster::{self, ClusterMember, NodeDetails, Reviewer};
use crate::commit::actor::encode_actor;
use crate::commit::batcher::{Batcher, BatcherMessage};
use crate::commit::rounds::Rounds;
use crate::core::{Core, Input, News};
use crate::dispatch::executors;
use crate::dispatch::executors::registry::ExecutorRegistry;
use crate::dispatch::{Draws, PoolSizes};
use crate::engine::shell::{CoreMessage, CoreShell};
use crate::engine::tokens::Tokens;
use crate::maintenance::scrub;
use crate::maintenance::writable::Writable;
use crate::notify::reconciler::Reconciler;
use crate::notify::sender::Senders;
use crate::read::change_hint::{ChangeHint, ChangeHints};
use crate::read::metrics::Metrics;
use crate::read::queries::Queries;
use crate::run::gate::Gate;
use crate::run::log_writer::LogWriter;
use crate::run::runner::{Runner, Tools};
use crate::run::secrets::{FixedKeys, Keyring, Secrets, Vault};
use crate::run::trace::Sampling;
use crate::time::clock::{SharedClock, StoreClock, new_id};
use crate::time::partitions::Ownership;
use crate::time::timekeeper::Projection;

pub use crate::engine::shell::Load;

#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The name of this node; its executor is called the same.
    pub node: String,
    /// The group of this node's own executor.
    pub group: String,
    pub tick_rate: Millis,
    pub pools: PoolSizes,
    /// What secrets are sealed with.
    pub keys: Arc<dyn Keyring>,
    /// What this node says of itself to others on the same store.
    pub about: NodeDetails,
    /// The part of runs whose traces are recorded, where nobody else has decided.
    pub sampling: Sampling,
    /// The senders of notifications; more may be registered later.
    pub senders: Senders,
    /// Chains of escalation by name; an incident without one named takes `default`, if there is one.
    pub escalations: BTreeMap<String, Escalation>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            node: "local".into(),
            group: Definition::DEFAULT_GROUP.into(),
            tick_rate: Millis::from_secs(1),
            pools: PoolSizes::default(),
            keys: Arc::new(FixedKeys::default()),
            about: NodeDetails::default(),
            sampling: Sampling::ALL,
            senders: Senders::default(),
            escalations: BTreeMap::new(),
        }
    }
}

/// A running engine, in the hands of somebody: commands that are given through it are theirs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    actor: EventActor,
}

struct Shared {
    clock: SharedClock,
    queries: Queries,
    tools: Arc<Tools>,
    vault: Vault,
    me: Incarnation,
    options: EngineOptions,
    batcher: mpsc::UnboundedSender<BatcherMessage>,
    core: mpsc::UnboundedSender<CoreMessage>,
    inputs: mpsc::UnboundedSender<Input>,
    registry: Arc<ExecutorRegistry>,
    live: ChangeHints,
    metrics: Arc<Metrics>,
    started_at: Timestamp,
    reconcile: mpsc::UnboundedSender<EntityId>,
    /// Shares of what may wait for the store at once.
    admission: Arc<Semaphore>,
    stopping: CancellationToken,
    tasks: std::sync::Mutex<Vec<JoinHandle<()>>>,
    /// They end by themselves when they are cancelled.
    reconciler: std::sync::Mutex<Option<JoinHandle<()>>>,
    writable: Writable,
    ownership: watch::Sender<Ownership>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("me", &self.me).field("options", &self.options).finish_non_exhaustive()
    }
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
        let store_clock = Arc::new(StoreClock::new(clock.clone()));
        let clock: SharedClock = match store.cluster() {
            Some(cluster) => {
                store_clock.compare(cluster).await?;
                cluster::join(cluster, &me, &options.about).await?;
                store_clock.clone()
            }
            None => clock,
        };
        let (batcher_tx, batcher_rx) = mpsc::unbounded_channel();
        let (input_tx, input_rx) = mpsc::unbounded_channel();
        let (core_tx, core_rx) = mpsc::unbounded_channel();
        let (line_tx, line_rx) = mpsc::unbounded_channel();
        let (flush_tx, flush_rx) = mpsc::unbounded_channel();
        let (attend_tx, attend_rx) = mpsc::unbounded_channel();
        let stopping = CancellationToken::new();
        let live = ChangeHints::new();
        let metrics = Arc::new(Metrics::default());
        let batcher = Batcher {
            rounds: Rounds::new(store.is_shared(), metrics.clone()),
            store: store.clone(),
            clock: clock.clone(),
            queue: batcher_rx,
            core: input_tx.clone(),
            hints: live.clone(),
            metrics: metrics.clone(),
        };
        let vault = Vault { queries: Queries::new(store.clone()), keys: options.keys.clone() };
        let runner = Runner {
            tools: tools.clone(),
            vault: vault.clone(),
            clock: clock.clone(),
            core: input_tx.clone(),
            batcher: batcher_tx.clone(),
            lines: line_tx,
            flushes: flush_tx,
            sampling: options.sampling,
            gate: Gate::new(options.pools),
            running: Default::default(),
            ending: Default::default(),
        };
        let log_writer = LogWriter::new(line_rx, flush_rx, batcher_tx.clone(), live.clone());
        let registry = Arc::new(ExecutorRegistry::default());
        let names = Arc::new(tools.keys().cloned().collect());
        let (group, tools_here) = (options.group.clone(), Some(names));
        let reservation = SlotReservation { executor: me.clone(), group, tools: tools_here, draw: 0 };
        let draws = Draws::secret().map_err(|error| Fault::unavailable("starting", error.to_string()))?;
        let core = Core::new(reservation, draws, options.tick_rate, options.pools, clock.now());
        let core = if store.is_shared() { core.sharing(clock.now()) } else { core };
        let reviewer = Reviewer::new(store.clone(), runner.clone());
        let untidy = Arc::new(Notify::new());
        let shell = CoreShell {
            core,
            clock: clock.clone(),
            store: store.clone(),
            batcher: batcher_tx.clone(),
            inputs: input_rx,
            input_tx: input_tx.clone(),
            messages: core_rx,
            runner,
            registry: registry.clone(),
            reconcile: attend_tx.clone(),
            drained: None,
            untidy: untidy.clone(),
        };
        let ownership = if store.is_shared() { Ownership::none() } else { Ownership::everything() };
        let (ownership, _) = watch::channel(ownership);
        let tasks = vec![tokio::spawn(batcher.run()), tokio::spawn(log_writer.run())];
        let engine = Engine {
            actor: EventActor::Ordo,
            shared: Arc::new(Shared {
                started_at: clock.now(),
                clock,
                queries: Queries::new(store.clone()),
                tools,
                vault,
                me,
                options,
                batcher: batcher_tx,
                core: core_tx,
                inputs: input_tx.clone(),
                registry,
                live,
                metrics,
                reconcile: attend_tx,
                admission: Arc::new(Semaphore::new(WAITING_COMMANDS_MAX)),
                stopping: stopping.clone(),
                tasks: std::sync::Mutex::new(tasks),
                reconciler: std::sync::Mutex::default(),
                writable: Writable::default(),
                ownership,
            }),
        };
        engine.recover().await?;
        let reconciler = Reconciler { engine: engine.clone(), wanted: attend_rx, core: input_tx.clone(), stopping };
        engine.keep_task(tokio::spawn(shell.run()));
        engine.keep_task(tokio::spawn(upkeep::maintain(engine.clone(), untidy)));
        if !store.is_shared() {
            engine.keep_task(tokio::spawn(scrub::run(engine.clone())));
        }
        engine.keep_task(tokio::spawn(executors::watch(engine.clone())));
        *engine.reconciler() = Some(tokio::spawn(reconciler.run()));
        if store.is_shared() {
            engine.be_a_member(store, store_clock, input_tx, reviewer);
        }
        Ok(engine)
    }

    /// Begins to work with the other nodes on the same store.
    fn be_a_member(
        &self,
        store: Arc<dyn Store>,
        clock: Arc<StoreClock>,
        core: mpsc::UnboundedSender<Input>,
        reviewer: Reviewer,
    ) {
        let ours = self.shared.ownership.clone();
        let watched = ours.subscribe();
        let (me, about) = (self.shared.me.clone(), self.shared.options.about.clone());
        let live = self.shared.live.clone();
        self.keep_task(tokio::spawn(reviewer.clone().run()));
        self.keep_task(tokio::spawn(cluster::follow(store.clone(), watched, core.clone(), live, reviewer.clone())));
        let member = ClusterMember { engine: self.clone(), store, clock, me, about, core, ours, reviewer };
        self.keep_task(tokio::spawn(member.run()));
    }

    fn reconciler(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.shared.reconciler.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn keep_task(&self, task: JoinHandle<()>) {
        self.shared.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(task);
    }

    /// The same in the hands of somebody.
    #[must_use]
    pub fn signed_by(&self, actor: &Actor) -> Engine {
        Engine { shared: self.shared.clone(), actor: encode_actor(actor) }
    }

    /// The same in the hands of nobody yet: to read from. A command through it is a mistake in the code; its events would
    /// have an unknown actor.
    #[must_use]
    pub fn unsigned(self) -> Engine {
        Engine { actor: EventActor::Unknown, ..self }
    }

    /// The same for what Ordo does by itself.
    #[must_use]
    pub fn by_itself(&self) -> Engine {
        Engine { shared: self.shared.clone(), actor: EventActor::Ordo }
    }

    pub(crate) fn actor(&self) -> EventActor {
        debug_assert_ne!(self.actor, EventActor::Unknown, "a command that nobody gives");
        self.actor.clone()
    }

    pub fn queries(&self) -> &Queries {
        &self.shared.queries
    }

    pub fn options(&self) -> &EngineOptions {
        &self.shared.options
    }

    /// This generation of this node.
    pub fn me(&self) -> &Incarnation {
        &self.shared.me
    }

    pub fn started_at(&self) -> Timestamp {
        self.shared.started_at
    }

    pub fn clock(&self) -> &SharedClock {
        &self.shared.clock
    }

    /// Whether the moment has come, or may have: the clock was set since it was laid out.
    pub(crate) fn is_due(&self, at: Option<Timestamp>, laid: Option<ClockFrame>) -> bool {
        let moment = self.shared.clock.moment();
        at.is_some_and(|at| at <= moment.now || moment.frame.moved_from(laid).is_some())
    }

    pub fn tools(&self) -> &Tools {
        &self.shared.tools
    }

    /// The part of traces that is recorded.
    pub fn sampling(&self) -> Sampling {
        self.shared.options.sampling
    }

    /// What jobs, hooks and senders refer to by name.
    pub fn secrets(&self) -> Secrets {
        Secrets::new(self.clone(), self.shared.vault.clone())
    }

    /// Who is let in.
    pub fn tokens(&self) -> Tokens {
        Tokens::new(self.clone())
    }

    pub fn senders(&self) -> &Senders {
        &self.shared.options.senders
    }

    pub fn escalations(&self) -> &BTreeMap<String, Escalation> {
        &self.shared.options.escalations
    }

    /// Has an entity looked at now that may have something to do. A hint: its alarm stands all the same.
    pub(crate) fn nudge(&self, entity: EntityId) {
        self.shared.reconcile.send(entity).unwrap_or(());
    }

    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// The group of this node's own executor.
    pub fn group(&self) -> &str {
        &self.shared.options.group
    }

    pub(crate) fn registry(&self) -> &ExecutorRegistry {
        &self.shared.registry
    }

    pub(crate) fn admission(&self) -> &Arc<Semaphore> {
        &self.shared.admission
    }

    pub(crate) fn batcher(&self) -> &mpsc::UnboundedSender<BatcherMessage> {
        &self.shared.batcher
    }

    pub(crate) fn send_input(&self, input: Input) {
        // The core is gone only while the process is going down.
        drop(self.shared.inputs.send(input));
    }

    pub(crate) fn notify_core(&self, executor: Uuid, news: News) {
        self.send_input(Input::Remote { executor, news });
    }

    pub(crate) fn hint(&self, live: ChangeHint) {
        self.shared.live.send(live);
    }

    pub fn watch(&self) -> broadcast::Receiver<ChangeHint> {
        self.shared.live.watch()
    }

    /// Hints about everything but jobs and their runs.
    pub fn watch_objects(&self) -> broadcast::Receiver<ChangeHint> {
        self.shared.live.watch_objects()
    }

    /// Which partitions this node serves, as nodes come and go; all of them where the store is not shared.
    pub fn ownership(&self) -> watch::Receiver<Ownership> {
        self.shared.ownership.subscribe()
    }

    pub async fn job(&self, id: JobId) -> Result<Option<Job>, Fault> {
        self.shared.queries.job(id).await
    }

    pub async fn load(&self) -> Load {
        let (reply, load) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Load(reply)));
        load.await.unwrap_or_default()
    }

    /// What the timekeeper has in mind; None while the engine goes down.
    pub async fn timekeeper(&self) -> Option<Projection> {
        let (reply, projection) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Projection(reply)));
        projection.await.ok()
    }

    /// Whether the core takes its turn: false when its task is gone; never, when it hangs.
    pub async fn is_answering(&self) -> bool {
        let (reply, load) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Load(reply)));
        load.await.is_ok()
    }

    /// Whether a commit would succeed now.
    pub async fn can_write(&self) -> Result<(), Fault> {
        let now = self.shared.clock.moment().steady();
        self.shared.writable.ask(self.shared.queries.store().as_ref(), now).await
    }

    /// Stops firing, lets what runs come to its end within `grace`, ends and records the rest.
    pub async fn shutdown(&self, grace: Duration) {
        cluster::hand_over(self.shared.queries.store().as_ref(), &self.shared.me.executor).await;
        let (drained, done) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Drain(drained)));
        tokio::pin!(done);
        if tokio::time::timeout(grace, &mut done).await.is_err() {
            drop(self.shared.core.send(CoreMessage::StopRuns));
            drop(tokio::time::timeout(Duration::from_secs(10), done).await);
        }
        drop(self.shared.batcher.send(BatcherMessage::Stop));
        let tasks: Vec<_> =
            std::mem::take(&mut *self.shared.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let mut tasks = tasks.into_iter();
        if let Some(batcher) = tasks.next() {
            drop(batcher.await);
        }
        // Those who reconcile let go of what they hold before they are gone.
        self.shared.stopping.cancel();
        let reconciler = self.reconciler().take();
        if let Some(reconciler) = reconciler {
            drop(reconciler.await);
        }
        for task in tasks {
            task.abort();
            // Cancelled, as asked: the task is gone and has let go of the store.
            drop(task.await);
        }
        cluster::leave(self.shared.queries.store().as_ref(), self.shared.me.generation).await;
    }
}
