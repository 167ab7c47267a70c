//! A running engine: starts the tasks, takes commands in, stops them again.
//!
//! Invariant: one task owns the core, one the batcher, one the log writer; they talk by messages only.

use std::sync::Arc;
use std::time::Duration;

use ordo_model::job::{Command, Definition, Job, Run, Seat};
use ordo_model::{Incarnation, JobId, Millis};
use ordo_store::{Chunk, Dedup, Fault, Store};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::attend::Attendants;
use crate::batcher::{Asking, Batcher, Message, Submission, chain};
use crate::clock::{SharedClock, new_id};
use crate::committer::{Answer, Committer, SubmitError};
use crate::core::{Core, Input, News};
use crate::dispatch::PoolSizes;
use crate::live::{LIVE_BACKLOG, Live};
use crate::log_writer::LogWriter;
use crate::metrics::Metrics;
use crate::object::ask::TypedAsk;
use crate::object::{Along, AskError, Stored, Told};
use crate::planner::Request;
use crate::queries::Queries;
use crate::remote::restore;
use crate::remote::roll::Roll;
use crate::runner::{Runner, Tools};
use crate::shell::{CoreMessage, CoreShell};
use crate::{recovery, remote, retention};

pub use crate::shell::Load;

/// How often the keepers make a pass.
const KEEPER_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct Options {
    /// The name of this node; its executor is called the same.
    pub node: String,
    /// The group of this node's own executor.
    pub group: String,
    pub tick_rate: Millis,
    pub pools: PoolSizes,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            node: "local".into(),
            group: Definition::DEFAULT_GROUP.into(),
            tick_rate: Millis::from_secs(1),
            pools: PoolSizes::default(),
        }
    }
}

/// A running engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    clock: SharedClock,
    queries: Queries,
    tools: Arc<Tools>,
    me: Incarnation,
    options: Options,
    batcher: mpsc::UnboundedSender<Message>,
    core: mpsc::UnboundedSender<CoreMessage>,
    inputs: mpsc::UnboundedSender<Input>,
    roll: Arc<Roll>,
    live: broadcast::Sender<Live>,
    metrics: Arc<Metrics>,
    tasks: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("me", &self.me).field("options", &self.options).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the engine: sweeps what a former life left behind, settles its attempts, begins to fire.
    pub async fn start(
        store: Arc<dyn Store>,
        tools: Tools,
        clock: SharedClock,
        options: Options,
    ) -> Result<Engine, Fault> {
        let tools = Arc::new(tools);
        sweep(&tools).await;
        let me = Incarnation { executor: options.node.clone(), life: new_id() };
        let (batcher_tx, batcher_rx) = mpsc::unbounded_channel();
        let (input_tx, input_rx) = mpsc::unbounded_channel();
        let (core_tx, core_rx) = mpsc::unbounded_channel();
        let (line_tx, line_rx) = mpsc::unbounded_channel();
        let (flush_tx, flush_rx) = mpsc::unbounded_channel();
        let (attend_tx, attend_rx) = mpsc::unbounded_channel();
        let (live, _) = broadcast::channel(LIVE_BACKLOG);
        let metrics = Arc::new(Metrics::default());
        let batcher = Batcher {
            committer: Committer::new(store.clone()),
            clock: clock.clone(),
            queue: batcher_rx,
            core: input_tx.clone(),
            live: live.clone(),
            metrics: metrics.clone(),
            again: Default::default(),
            asks: Default::default(),
        };
        let runner = Runner::new(tools.clone(), clock.clone(), input_tx.clone(), batcher_tx.clone(), line_tx, flush_tx);
        let log_writer = LogWriter::new(line_rx, flush_rx, batcher_tx.clone(), live.clone());
        let roll = Arc::new(Roll::default());
        let names = Arc::new(tools.keys().cloned().collect());
        let seat = Seat { executor: me.clone(), group: options.group.clone(), tools: Some(names) };
        let shell = CoreShell {
            core: Core::new(seat, options.tick_rate, options.pools, clock.now()),
            clock: clock.clone(),
            store: store.clone(),
            batcher: batcher_tx.clone(),
            inputs: input_rx,
            input_tx: input_tx.clone(),
            messages: core_rx,
            runner,
            roll: roll.clone(),
            attend: attend_tx,
            drained: None,
        };
        let tasks = vec![tokio::spawn(batcher.run()), tokio::spawn(log_writer.run())];
        let engine = Engine {
            shared: Arc::new(Shared {
                clock,
                queries: Queries::new(store),
                tools,
                me,
                options,
                batcher: batcher_tx,
                core: core_tx,
                inputs: input_tx.clone(),
                roll,
                live,
                metrics,
                tasks: std::sync::Mutex::new(tasks),
            }),
        };
        engine.recover().await?;
        let attendants = Attendants { engine: engine.clone(), wanted: attend_rx, core: input_tx };
        let tasks = [
            tokio::spawn(shell.run()),
            tokio::spawn(keepers(engine.clone())),
            tokio::spawn(attendants.run()),
            tokio::spawn(remote::watch(engine.clone())),
        ];
        engine.shared.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(tasks);
        Ok(engine)
    }

    pub fn queries(&self) -> &Queries {
        &self.shared.queries
    }

    pub fn clock(&self) -> &SharedClock {
        &self.shared.clock
    }

    pub fn tools(&self) -> &Tools {
        &self.shared.tools
    }

    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// This node's own executor, in its present life.
    pub fn me(&self) -> &Incarnation {
        &self.shared.me
    }

    /// The group of this node's own executor.
    pub fn group(&self) -> &str {
        &self.shared.options.group
    }

    pub(crate) fn roll(&self) -> &Roll {
        &self.shared.roll
    }

    pub(crate) fn batcher(&self) -> &mpsc::UnboundedSender<Message> {
        &self.shared.batcher
    }

    pub(crate) fn tell(&self, input: Input) {
        // The core is gone only while the process is going down.
        drop(self.shared.inputs.send(input));
    }

    pub(crate) fn tell_core(&self, executor: Uuid, news: News) {
        self.tell(Input::Remote { executor, news });
    }

    pub(crate) fn hint(&self, live: Live) {
        drop(self.shared.live.send(live));
    }

    pub fn watch(&self) -> broadcast::Receiver<Live> {
        self.shared.live.subscribe()
    }

    /// Has one command carried out. Answers when its effect is durable.
    pub async fn submit(&self, job: JobId, command: Command) -> Answer {
        self.send(Request::new(job, command)).await
    }

    /// The same for many at once; the answers come in order.
    pub async fn submit_all(&self, commands: Vec<(JobId, Command)>) -> Vec<Answer> {
        self.send_all(commands.into_iter().map(|(job, command)| Request::new(job, command)).collect()).await
    }

    pub(crate) async fn send_all(&self, requests: Vec<Request>) -> Vec<Answer> {
        let waiting: Vec<_> = requests.into_iter().map(|request| self.queue(request)).collect();
        let mut answers = Vec::with_capacity(waiting.len());
        for answer in waiting {
            answers.push(answer.await.unwrap_or(Err(SubmitError::Stopped)));
        }
        answers
    }

    /// Has a command carried out unless the same was done before.
    pub async fn submit_once(&self, job: JobId, command: Command, dedup: Dedup) -> Answer {
        self.send(Request { dedup: Some(dedup), ..Request::new(job, command) }).await
    }

    async fn send(&self, request: Request) -> Answer {
        self.queue(request).await.unwrap_or(Err(SubmitError::Stopped))
    }

    pub(crate) fn queue(&self, request: Request) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        let submission = Submission { request, reply: Some(reply), tries: 0 };
        // A batcher that is gone drops the reply, and the receiver says so.
        drop(self.shared.batcher.send(Message::Order(Box::new(submission))));
        answer
    }

    /// Has a command on an object carried out. Answers when its effect is durable.
    pub async fn ask<T: Stored>(&self, id: Uuid, command: T::Command) -> Result<Told<T>, AskError<T::Refusal>> {
        self.ask_with::<T>(id, command, Along::default()).await
    }

    /// The same, together with what must become durable with it.
    pub async fn ask_with<T: Stored>(
        &self,
        id: Uuid,
        command: T::Command,
        along: Along,
    ) -> Result<Told<T>, AskError<T::Refusal>> {
        let (ask, answer) = TypedAsk::<T>::pair(id, command, along);
        drop(self.shared.batcher.send(Message::Ask(Asking { ask, tries: 0 })));
        answer.await.unwrap_or(Err(AskError::Stopped))
    }

    /// Stores bytes that belong to a run.
    pub async fn store_chunks(&self, chunks: Vec<Chunk>) -> Result<(), Arc<Fault>> {
        let (reply, done) = oneshot::channel();
        drop(self.shared.batcher.send(Message::Chunks { chunks, reply }));
        done.await.unwrap_or_else(|_| Err(Arc::new(Fault::Held { what: "Ordo is shutting down".into() })))
    }

    /// A new job. Its id is made here.
    pub async fn schedule(&self, definition: ordo_model::job::Definition, held: bool) -> Answer {
        self.submit(JobId(new_id()), Command::Schedule { definition: Box::new(definition), held }).await
    }

    /// Runs a finished run once more.
    pub async fn retry(&self, run: Run) -> Answer {
        self.submit(run.job_id, Command::RetryRun { run: Box::new(run) }).await
    }

    pub async fn job(&self, id: JobId) -> Result<Option<Job>, Fault> {
        self.shared.queries.job(id).await
    }

    pub async fn load(&self) -> Load {
        let (reply, load) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Load(reply)));
        load.await.unwrap_or_default()
    }

    /// Whether the core takes its turn: false when its task is gone; never, when it hangs.
    pub async fn is_answering(&self) -> bool {
        let (reply, load) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Load(reply)));
        load.await.is_ok()
    }

    /// One pass of every keeper.
    pub async fn keep(&self) -> Result<usize, Fault> {
        let now = self.shared.clock.now();
        let requests = retention::pass(&self.shared.queries, now).await?;
        let mut done = 0;
        for request in requests {
            match self.send(request).await {
                Ok(_) => done += 1,
                // Somebody used the job meanwhile: the next pass looks again.
                Err(SubmitError::Refused(_) | SubmitError::Contended) => {}
                Err(error) => tracing::warn!(%error, "history could not be trimmed"),
            }
        }
        self.shared.queries.store().forget_dedup(now, 10_000).await?;
        Ok(done)
    }

    /// Stops firing, lets what runs come to its end within `grace`, ends and records the rest.
    pub async fn shutdown(&self, grace: Duration) {
        let (drained, done) = oneshot::channel();
        drop(self.shared.core.send(CoreMessage::Drain(drained)));
        tokio::pin!(done);
        if tokio::time::timeout(grace, &mut done).await.is_err() {
            drop(self.shared.core.send(CoreMessage::StopRuns));
            drop(tokio::time::timeout(Duration::from_secs(10), done).await);
        }
        drop(self.shared.batcher.send(Message::Stop));
        let tasks: Vec<_> =
            std::mem::take(&mut *self.shared.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let mut tasks = tasks.into_iter();
        if let Some(batcher) = tasks.next() {
            drop(batcher.await);
        }
        for task in tasks {
            task.abort();
            // Cancelled, as asked: the task is gone and has let go of the store.
            drop(task.await);
        }
    }

    /// Attempts of lives that are over are settled by the model's rule; what remote executors have, they keep.
    async fn recover(&self) -> Result<(), Fault> {
        let settle_after = self.shared.options.tick_rate.saturating_mul(2);
        let there = restore::executors(self).await?;
        let running = recovery::attempts(&self.shared.queries).await?;
        restore::attempts(self, &running, &there);
        let orders = recovery::orders(&running, &there, settle_after);
        let found = orders.len();
        for answer in self.send_all(orders).await {
            match answer {
                Ok(_) | Err(SubmitError::Refused(_)) => {}
                Err(SubmitError::Store(fault)) => return Err(Fault::clone(&fault)),
                Err(error) => return Err(Fault::damaged(format!("recovery stopped: {error}"))),
            }
        }
        if found > 0 {
            tracing::info!(jobs = found, "attempts of a former life are being settled");
        }
        Ok(())
    }
}

async fn sweep(tools: &Tools) {
    for (name, tool) in tools {
        match tool.sweep().await {
            Ok(0) => {}
            Ok(killed) => tracing::warn!(tool = %name, killed, "ended what a former life left running"),
            Err(error) => tracing::error!(tool = %name, %error, "could not look for what a former life left running"),
        }
    }
}

async fn keepers(engine: Engine) {
    let mut every = tokio::time::interval(KEEPER_EVERY);
    every.tick().await;
    loop {
        every.tick().await;
        if let Err(fault) = engine.keep().await {
            tracing::warn!(error = %chain(&fault), "a keeper could not make its pass");
        }
    }
}
