//! A running engine: says who is who, and stops its tasks; `start` begins them.
//!
//! Invariant: one task owns the core, one the batcher, one the log writer; they talk by messages only. The batcher's place may be
//! taken for one command by a caller who is alone (`commit/queue.rs`).

pub mod escalations;
pub mod forecast;
pub mod incidents;
mod intake;
mod monitors;
mod notifications;
mod settling;
mod shell;
mod start;
mod stepping;
mod submit;
pub mod tokens;
mod upkeep;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ordo_model::incident::Escalation;
use ordo_model::job::{Definition, Job};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{Actor, ClockFrame, EntityId, Incarnation, JobId, Millis, Timestamp};
use ordo_store::{EventActor, Fault, Store};
use tokio::sync::{Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::cluster::{self, NodeDetails};
use crate::commit::batcher::BatcherMessage;
use crate::commit::encoding::actor::encode_actor;
use crate::commit::queue::BatcherQueue;
use crate::core::{Input, News};
use crate::dispatch::PoolSizes;
use crate::dispatch::executors::lease::LostExecutors;
use crate::dispatch::executors::registry::ExecutorRegistry;
pub(crate) use crate::engine::shell::CoreMessage;
use crate::engine::tokens::Tokens;
use crate::maintenance::writable::Writable;
use crate::notify::reconciler::ReconcilerMessage;
use crate::notify::sender::Senders;
use crate::read::change_hint::{ChangeHint, ChangeHints};
use crate::read::metrics::Metrics;
use crate::read::queries::Queries;
use crate::read::standby::StandbyReads;
use crate::run::runner::Tools;
use crate::run::secrets::{FixedKeys, Keyring, Secrets, Vault};
use crate::run::trace::Sampling;
use crate::time::clock::SharedClock;
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
    /// Within which time what waits in an outbox is looked at, however the commit that put it there went on.
    pub flush_delay: Millis,
    pub pools: PoolSizes,
    /// What secrets are sealed with.
    pub keys: Arc<dyn Keyring>,
    /// What this node says of itself to others on the same store.
    pub about: NodeDetails,
    /// The part of runs whose traces are recorded, where nobody else has decided.
    pub sampling: Sampling,
    /// The senders of notifications; more may be registered later.
    pub senders: Senders,
    /// Escalation chains by name; an incident without one named takes `default`, if there is one.
    pub escalations: BTreeMap<String, Escalation>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            node: "local".into(),
            group: Definition::DEFAULT_GROUP.into(),
            tick_rate: Millis::from_secs(1),
            flush_delay: OUTBOX_FLUSH_DELAY,
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
    /// What is read may be a moment old.
    reads_standby: bool,
}

struct Shared {
    clock: SharedClock,
    queries: Queries,
    /// Where those read who only look, if that is elsewhere.
    standby: std::sync::OnceLock<Queries>,
    tools: Arc<Tools>,
    vault: Vault,
    me: Incarnation,
    options: EngineOptions,
    batcher: BatcherQueue,
    core: mpsc::UnboundedSender<CoreMessage>,
    inputs: mpsc::UnboundedSender<Input>,
    registry: Arc<ExecutorRegistry>,
    lost_executors: LostExecutors,
    live: ChangeHints,
    metrics: Arc<Metrics>,
    started_at: Timestamp,
    reconcile: mpsc::UnboundedSender<ReconcilerMessage>,
    /// Shares of what may wait for the store at once.
    admission: Arc<Semaphore>,
    stopping: CancellationToken,
    tasks: std::sync::Mutex<Vec<JoinHandle<()>>>,
    /// They end by themselves when they are cancelled.
    reconciler: std::sync::Mutex<Option<JoinHandle<()>>>,
    writable: Writable,
    /// There is word of submissions.
    submitted: Arc<Notify>,
    ownership: watch::Sender<Ownership>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("me", &self.me).field("options", &self.options).finish_non_exhaustive()
    }
}

impl Engine {
    fn reconciler(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.shared.reconciler.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The same in the hands of somebody.
    #[must_use]
    pub fn signed_by(&self, actor: &Actor) -> Engine {
        Engine { actor: encode_actor(actor), ..self.clone() }
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
        Engine { actor: EventActor::Ordo, ..self.clone() }
    }

    pub(crate) fn actor(&self) -> EventActor {
        debug_assert_ne!(self.actor, EventActor::Unknown, "a command that nobody gives");
        self.actor.clone()
    }

    pub fn queries(&self) -> &Queries {
        let standby = self.shared.standby.get().filter(|_| self.reads_standby);
        standby.unwrap_or(&self.shared.queries)
    }

    /// From now on whoever only looks reads from there: a store that follows this one.
    pub fn follow_with(&self, standby: Arc<dyn Store>) {
        let primary = self.shared.queries.store().clone();
        // The first one stays.
        drop(self.shared.standby.set(Queries::new(Arc::new(StandbyReads::new(standby, primary)))));
    }

    /// The same for somebody who only looks: what is read may be a moment old.
    #[must_use]
    pub fn only_looking(&self) -> Engine {
        Engine { reads_standby: true, ..self.clone() }
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
        self.shared.reconcile.send(ReconcilerMessage::Wanted(entity)).unwrap_or(());
    }

    /// Has submissions looked for now. A hint: they are found all the same.
    pub fn nudge_submissions(&self) {
        self.shared.submitted.notify_one();
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

    pub(crate) fn lost_executors(&self) -> &LostExecutors {
        &self.shared.lost_executors
    }

    pub(crate) fn admission(&self) -> &Arc<Semaphore> {
        &self.shared.admission
    }

    pub(crate) fn batcher(&self) -> &BatcherQueue {
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
        self.queries().job(id).await
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
