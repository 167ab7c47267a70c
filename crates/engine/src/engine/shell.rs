//! The task that owns the core: feeds it what happens, does what it says.
//!
//! Invariant: nothing is chosen here. The core is asked at every input and at its own next moment.

use std::sync::Arc;
use std::time::Duration;

use ordo_model::job::{AttemptReport, Command};
use ordo_model::moment::step_in_words;
use ordo_model::{EntityId, FencingToken, JobId, Kind, RunId, Timestamp};
use ordo_store::{DueAlarm, Fault, Partition, Store};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::cluster::NodeLoads;
use crate::commit::batcher::{BatcherMessage, chain};
use crate::commit::change::StartedAttempt;
use crate::commit::job_command::Request;
use crate::commit::queue::BatcherQueue;
use crate::core::{Core, CoreCommand, Effect, Input};
use crate::dispatch::Find;
use crate::dispatch::executors::registry::ExecutorRegistry;
use crate::notify::reconciler::ReconcilerMessage;
use crate::read::queries::waiting_runs;
use crate::run::runner::Runner;
use crate::time::clock::SharedClock;
use crate::time::partitions::Ownership;
use crate::time::timekeeper::{self, ALARM_PAGE, AlarmScan, Projection};

/// The core is asked at least this often, so that a jump of the wall clock is noticed soon.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// How many inputs the core takes in one step.
const INPUTS_MAX: usize = 512;
/// How long a store that could not be read is left alone.
const FAULT_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) enum CoreMessage {
    /// How busy the engine is.
    Load(oneshot::Sender<Load>),
    /// What the timekeeper has in mind.
    Projection(oneshot::Sender<Projection>),
    /// The attempts of remote executors that are counted here.
    RemoteAttempts(oneshot::Sender<Vec<(JobId, RunId, FencingToken)>>),
    /// Say when nothing runs here, nothing is about to, and nothing waits in memory for a slot.
    Idle(oneshot::Sender<()>),
    /// Stop firing; say when nothing runs any more.
    Drain(oneshot::Sender<()>),
    /// End what still runs.
    StopRuns,
}

/// How busy the engine is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    pub ring: usize,
    /// (pool, running, waiting in memory)
    pub pools: Vec<(&'static str, usize, usize)>,
    /// Places of both pools together.
    pub slots: usize,
    /// Some of the jobs that the slow pool runs, by the word of their last change.
    pub slow: Vec<JobId>,
}

/// How many jobs of the slow pool are listed by name.
const SLOW_TOLD: usize = 100;

pub(crate) struct CoreShell {
    pub(crate) core: Core,
    pub(crate) clock: SharedClock,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) batcher: BatcherQueue,
    pub(crate) inputs: mpsc::UnboundedReceiver<Input>,
    pub(crate) input_tx: mpsc::UnboundedSender<Input>,
    pub(crate) messages: mpsc::UnboundedReceiver<CoreMessage>,
    pub(crate) runner: Runner,
    pub(crate) registry: Arc<ExecutorRegistry>,
    pub(crate) reconcile: mpsc::UnboundedSender<ReconcilerMessage>,
    pub(crate) roll_call: mpsc::UnboundedSender<()>,
    pub(crate) loads: watch::Sender<NodeLoads>,
    pub(crate) drained: Option<oneshot::Sender<()>>,
    /// Those who wait until the core is idle.
    pub(crate) idle: Vec<oneshot::Sender<()>>,
    /// Notified when history is to be trimmed.
    pub(crate) untidy: Arc<Notify>,
}

impl CoreShell {
    pub(crate) async fn run(mut self) {
        self.step([Input::Time]);
        let mut came = Vec::with_capacity(INPUTS_MAX);
        loop {
            let sleep = self.time_to_next();
            tokio::select! {
                biased;
                message = self.messages.recv() => match message {
                    Some(message) => self.message(message),
                    None => break,
                },
                _ = self.inputs.recv_many(&mut came, INPUTS_MAX) => self.step(came.drain(..)),
                () = tokio::time::sleep(sleep) => self.step([Input::Time]),
            }
            self.say_if_drained();
            self.say_if_idle();
        }
    }

    fn time_to_next(&self) -> Duration {
        let now = self.clock.now();
        self.core.next_wake().map_or(LONGEST_SLEEP, |at| at.since(now).to_std().min(LONGEST_SLEEP))
    }

    fn step(&mut self, inputs: impl IntoIterator<Item = Input>) {
        let moment = self.clock.moment();
        for effect in self.core.step(inputs, moment) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::ScanAlarms(scan) => self.look(scan),
            Effect::FindWaiting(find) => self.find_waiting(find),
            // Nobody calls only while the process begins or goes down; the next beat brings it about.
            Effect::RollCall => drop(self.roll_call.send(())),
            Effect::Publish(loads) => drop(self.loads.send_replace(loads)),
            Effect::Submit(orders) => {
                let request = |CoreCommand { job_id, slotted, location }| Request {
                    slotted,
                    location,
                    ..Request::new(job_id, Command::Wake)
                };
                self.submit(orders.into_iter().map(request));
            }
            Effect::Execute(assignment) => self.runner.execute(*assignment),
            Effect::Kill(run) => self.runner.kill(run),
            Effect::Deliver(assignment) => {
                if let Err(assignment) = self.registry.deliver(*assignment) {
                    self.give_back(&assignment, "left");
                }
            }
            Effect::Recall { executor, run_id } => {
                if let Some(assignment) = self.registry.recall(executor, run_id) {
                    self.report(&assignment, AttemptReport::Cancelled { started_at: None });
                }
            }
            Effect::Forget { executor, run_id, token } => self.registry.forget(executor, run_id, token),
            Effect::Withdraw(overdue) => {
                if let Some(name) = self.registry.withdraw(&overdue) {
                    let report = AttemptReport::Unclaimed { reason: format!("{name} did not take it in time") };
                    let command = Command::Report { run_id: overdue.run_id, token: overdue.token, report };
                    self.submit([Request::new(overdue.job_id, command)]);
                }
            }
            Effect::Reconcile(entity) => drop(self.reconcile.send(ReconcilerMessage::Wanted(entity))),
            Effect::TrimHistory => self.untidy.notify_one(),
            Effect::ClockStepped { by_ms, until } => self.clock_stepped(by_ms, until),
        }
    }

    fn submit(&self, requests: impl IntoIterator<Item = Request>) {
        drop(self.batcher.send(BatcherMessage::Commands(requests.into_iter().map(Request::unanswered).collect())));
    }

    fn give_back(&self, assignment: &StartedAttempt, why: &str) {
        self.report(assignment, AttemptReport::Unclaimed { reason: format!("{} {why}", assignment.executor.executor) });
    }

    fn report(&self, assignment: &StartedAttempt, report: AttemptReport) {
        let command = Command::Report { run_id: assignment.run_id, token: assignment.token, report };
        self.submit([Request::new(assignment.job_id, command)]);
    }

    fn look(&self, scan: AlarmScan) {
        if let Some(damage) = self.store.damage() {
            tracing::error!(damage, "the store is damaged: nothing fires any more until it is restored");
            drop(self.input_tx.send(Input::Stop));
            return;
        }
        let (store, inputs) = (self.store.clone(), self.input_tx.clone());
        let ours = self.core.ours();
        tokio::spawn(async move {
            let input = match due(store.as_ref(), ours, scan).await {
                Ok(page) => Input::Scanned { scan, page },
                Err(fault) => {
                    tracing::error!(error = %chain(&fault), "the alarms could not be read");
                    Input::ScanFailed
                }
            };
            drop(inputs.send(input));
        });
    }

    /// What is measured in elapsed time has its alarm on the wall clock. After a step forward the alarms ring early and
    /// find that nothing is due; after a step back they would ring late, so all that may be concerned is looked at now.
    fn clock_stepped(&self, by_ms: i64, until: Timestamp) {
        let from = self.clock.now();
        tracing::warn!(
            now = %from,
            "the wall clock was set {}: timeouts, leases and retries go on by elapsed time, `every` jobs keep their beat",
            step_in_words(by_ms)
        );
        if by_ms >= 0 {
            return;
        }
        let (store, batcher, reconcile) = (self.store.clone(), self.batcher.clone(), self.reconcile.clone());
        tokio::spawn(async move {
            let mut after = Some(timekeeper::edge(from));
            while let Some(edge) = after {
                let page = match store.due(until, Some(edge), ALARM_PAGE).await {
                    Ok(page) => page,
                    Err(fault) => {
                        tracing::error!(error = %chain(&fault), "the alarms could not be read after the clock was set");
                        tokio::time::sleep(FAULT_PAUSE).await;
                        continue;
                    }
                };
                after = page.last().copied().filter(|_| page.len() == ALARM_PAGE);
                let (jobs, others): (Vec<EntityId>, Vec<EntityId>) =
                    page.into_iter().map(|alarm| alarm.entity).partition(|entity| entity.kind == Kind::Job);
                let wakes = jobs.into_iter().map(|job| Request::new(JobId(job.id), Command::Wake).unanswered());
                if batcher.send(BatcherMessage::Commands(wakes.collect())).is_err() {
                    return;
                }
                for entity in others {
                    // Nobody reconciles any more only while the process goes down.
                    reconcile.send(ReconcilerMessage::Wanted(entity)).unwrap_or(());
                }
            }
        });
    }

    fn find_waiting(&self, find: Find) {
        let (store, inputs) = (self.store.clone(), self.input_tx.clone());
        tokio::spawn(async move {
            let (found, complete) = match waiting_runs(store.as_ref(), &find).await {
                Ok(found) => found,
                Err(fault) => {
                    tracing::error!(error = %chain(&fault), "the waiting runs could not be read");
                    tokio::time::sleep(FAULT_PAUSE).await;
                    (Vec::new(), false)
                }
            };
            drop(inputs.send(Input::Waiting { queue: find.queue, found, complete }));
        });
    }

    fn message(&mut self, message: CoreMessage) {
        match message {
            CoreMessage::Load(reply) => {
                let pools = self.core.dispatcher().load();
                let pools = pools.into_iter().map(|(pool, running, queued)| (pool.name(), running, queued)).collect();
                let slots = self.core.dispatcher().slots_len();
                let slow = self.core.dispatcher().slow_jobs(SLOW_TOLD);
                drop(reply.send(Load { ring: self.core.ring_len(), pools, slots, slow }));
            }
            CoreMessage::Projection(reply) => {
                // Whoever asked may have stopped waiting.
                drop(reply.send(self.core.projection(self.clock.now())));
            }
            // Whoever asked may have stopped waiting.
            CoreMessage::RemoteAttempts(reply) => drop(reply.send(self.core.dispatcher().remote_attempts())),
            CoreMessage::Idle(reply) => self.idle.push(reply),
            CoreMessage::Drain(reply) => {
                self.drained = Some(reply);
                self.step([Input::Stop]);
            }
            CoreMessage::StopRuns => self.runner.stop_all(),
        }
    }

    /// Drained: nothing runs and nothing is about to.
    fn say_if_drained(&mut self) {
        if self.core.is_idle()
            && let Some(reply) = self.drained.take()
        {
            // Whoever asked may have stopped waiting.
            reply.send(()).unwrap_or(());
        }
    }

    fn say_if_idle(&mut self) {
        // What came and was not taken in yet may be work.
        if self.idle.is_empty() || !self.inputs.is_empty() || !self.core.is_idle() {
            return;
        }
        if self.core.dispatcher().load().iter().all(|(_, running, queued)| running + queued == 0) {
            // Whoever asked may have stopped waiting.
            self.idle.drain(..).for_each(|reply| reply.send(()).unwrap_or(()));
        }
    }
}

/// A page of the alarms of this node's partitions.
async fn due(store: &dyn Store, ours: Option<Ownership>, scan: AlarmScan) -> Result<Vec<DueAlarm>, Fault> {
    match (store.cluster(), ours) {
        (Some(cluster), Some(ours)) => {
            let partitions: Vec<Partition> = ours.partitions.iter().collect();
            if partitions.is_empty() {
                return Ok(Vec::new());
            }
            cluster.due_in(&partitions, scan.until, scan.after, scan.limit).await
        }
        (None, _) | (_, None) => store.due(scan.until, scan.after, scan.limit).await,
    }
}
