//! What a remote executor calls: register, heartbeat, poll, leave.

use std::sync::Arc;
use std::time::Duration;

use ordo_model::executor::{Executor, ExecutorCommand, ExecutorRefusal, Offer, Owner, Speaker, check_room};
use ordo_model::job::{AttemptReport, Command};
use ordo_model::limits::{POLL_MAX, POLL_WAIT_MAX};
use ordo_model::{FencingToken, JobId, Millis, RunId, Timestamp, TraceParent};
use ordo_store::Fault;
use uuid::Uuid;

use super::lease;
use super::registry::HandOut;
use crate::commit::change::StartedAttempt;
use crate::commit::command::SubmitError;
use crate::commit::job_command::Request;
use crate::commit::kinds::Stored;
use crate::core::News;
use crate::engine::Engine;
use crate::maintenance::recovery;
use crate::read::object_queries::IndexRange;
use crate::run::tool::DeliveryPayload;
use crate::run::trace::RunTrace;
use crate::time::clock::new_id;

/// Nobody of this id is there: it never was, it left, or its lease expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such executor, or its lease has expired: register again")]
pub struct NotThere;

/// Why the executor is not with this node.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    NotThere(#[from] NotThere),
    /// Whether it is there is not known.
    #[error("{0}")]
    Store(Arc<Fault>),
}

impl From<Fault> for HostError {
    fn from(fault: Fault) -> HostError {
        HostError::Store(Arc::new(fault))
    }
}

/// What an executor hears on its heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatReply {
    /// Attempts to end.
    pub cancel: Vec<RunId>,
    /// Attempts that are no longer its own: their reports will be refused.
    pub lost: Vec<RunId>,
    /// The executor should finish what it has, and leave.
    pub drain: bool,
}

/// An executor asks for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkRequest {
    pub max: usize,
    pub wait: Millis,
    /// It names runs in a heartbeat before it begins them, where it is asked to.
    pub confirms: bool,
}

/// What an executor gets when it asks for work.
#[derive(Debug, Clone, Default)]
pub struct Polled {
    pub handed: Vec<Handed>,
    /// Attempts to end.
    pub cancel: Vec<RunId>,
    /// What is handed out is begun only after the executor has named it in a heartbeat, and only if it is not lost then.
    pub confirm: bool,
    /// Nothing more will come: the executor should finish what it has, and leave.
    pub drain: bool,
}

/// An attempt that was handed out, with the values of secrets in the place of their references.
#[derive(Debug, Clone)]
pub struct Handed {
    pub assignment: StartedAttempt,
    /// What came with the webhook that brought the run about.
    pub payload: Option<DeliveryPayload>,
    /// The trace context that its tool leases on.
    pub traceparent: TraceParent,
}

/// What came of the wish to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    Left,
    /// It still has so many attempts; it gets no more.
    Draining {
        running: usize,
    },
}

/// An executor as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedExecutor {
    pub id: Uuid,
    pub executor: Executor,
    /// How many attempts it has, or is offered.
    pub running: usize,
    pub heard_at: Timestamp,
}

/// How many executors are read at a time.
const EXECUTORS_PAGE: usize = 200;
/// How long the poll of a draining executor is held, so that one that does not heed it does not poll without a pause.
const DRAINING_PAUSE: Duration = Duration::from_secs(1);

impl Engine {
    /// A new executor, or a new generation of one. It belongs to its owner; without one, to the admins.
    pub async fn register_executor(
        &self,
        offer: Offer,
        owner: Option<Owner>,
    ) -> Result<Uuid, SubmitError<ExecutorRefusal>> {
        // One at a time, so that all are counted.
        let _turn = self.registry().registering().await;
        self.make_room(&offer, owner.as_ref()).await?;
        let (id, token) = (new_id(), owner.as_ref().map(|owner| owner.token));
        let node = self.me().executor.clone();
        self.command::<Executor>(id, ExecutorCommand::Register { offer: offer.clone(), node, owner }).await?;
        self.registry().enroll(id, offer.clone(), token, false, self.clock().now());
        self.notify_core(id, News::Enrolled(offer));
        Ok(id)
    }

    /// Refuses one too many. Lost ones count as long as they are shown, but for those that come back now.
    async fn make_room(&self, offer: &Offer, owner: Option<&Owner>) -> Result<(), SubmitError<ExecutorRefusal>> {
        let known = self.executors().await.map_err(|fault| SubmitError::Store(Arc::new(fault)))?;
        let token = |owner: Option<&Owner>| owner.map(|owner| owner.token);
        let theirs = |one: &&ListedExecutor| token(one.executor.owner.as_ref()) == token(owner);
        let returns = |one: &&ListedExecutor| {
            let Offer { name, group, .. } = &one.executor.offer;
            !one.executor.is_there() && (name, group) == (&offer.name, &offer.group)
        };
        let (back, others): (Vec<&ListedExecutor>, Vec<&ListedExecutor>) =
            known.iter().filter(theirs).partition(returns);
        check_room(others.len(), known.len() - back.len()).map_err(SubmitError::Refused)?;
        for former in back {
            self.command::<Executor>(former.id, ExecutorCommand::Return).await?;
        }
        Ok(())
    }

    /// Whether whoever asks has an executor with a run of this job.
    pub fn holds_run_of(&self, speaker: Speaker, job: JobId) -> bool {
        self.registry().holds_run_of(speaker, job)
    }

    /// The executor is there and has these attempts: their leases are renewed.
    pub async fn heartbeat(
        &self,
        speaker: Speaker,
        id: Uuid,
        runs: &[(RunId, FencingToken)],
    ) -> Result<HeartbeatReply, HostError> {
        self.host(speaker, id).await?;
        let pulse = self.registry().pulse(id, runs, self.clock().now()).ok_or(NotThere)?;
        self.notify_core(id, News::Heartbeat);
        if !pulse.confirmed.is_empty() {
            self.notify_core(id, News::Took(pulse.confirmed));
        }
        if pulse.write {
            // Should it not be written down now, it is at the next heartbeat; the lease allows for it.
            match self.command::<Executor>(id, ExecutorCommand::Seen).await {
                Ok(_) => {}
                // Another node took it for lost and has settled what it had.
                Err(SubmitError::Refused(_)) => {
                    self.notify_core(id, News::Gone);
                    let left = self.registry().remove(id);
                    self.give_back(left.undelivered, "was lost before it took the run");
                    return Err(NotThere.into());
                }
                Err(error) => tracing::warn!(%error, executor = %id, "a heartbeat could not be written down"),
            }
        }
        Ok(HeartbeatReply { cancel: pulse.cancel, lost: pulse.lost, drain: pulse.drain })
    }

    /// Attempts for the executor, and what is to end; waits for the first of either.
    pub async fn poll(&self, speaker: Speaker, id: Uuid, request: WorkRequest) -> Result<Polled, HostError> {
        self.host(speaker, id).await?;
        self.registry().hear(id, self.clock().now()).ok_or(NotThere)?;
        self.notify_core(id, News::Polling);
        let mut wait = request.wait.min(POLL_WAIT_MAX).to_std();
        if self.registry().is_leaving(id) {
            wait = wait.min(DRAINING_PAUSE);
        }
        let max = request.max.clamp(1, POLL_MAX);
        let taken = tokio::select! {
            biased;
            taken = self.registry().take_next(id, max, request.confirms, || self.clock().now()) => taken.ok_or(NotThere)?,
            () = tokio::time::sleep(wait) => HandOut::default(),
        };
        Ok(self.hand_out(id, taken).await)
    }

    async fn hand_out(&self, id: Uuid, taken: HandOut) -> Polled {
        let HandOut { attempts, cancel, confirm } = taken;
        if !attempts.is_empty() && !confirm {
            let took = attempts.iter().map(|attempt| (attempt.run_id, attempt.token)).collect();
            self.notify_core(id, News::Took(took));
        }
        let mut handed = Vec::with_capacity(attempts.len());
        for attempt in attempts {
            handed.extend(self.equip(attempt).await);
        }
        Polled { confirm: confirm && !handed.is_empty(), handed, cancel, drain: self.registry().answer_poll(id) }
    }

    /// The attempt with all that its tool is given. One that cannot be given that has failed, and is not handed out.
    async fn equip(&self, mut assignment: StartedAttempt) -> Option<Handed> {
        let resolved = self.secrets().resolve(&assignment.tool_input).await.map_err(|error| error.to_string());
        let payload = match assignment.delivery {
            None => Ok(None),
            Some(delivery) => match self.queries().payload(delivery).await {
                Ok(Some(payload)) => Ok(Some(payload)),
                Ok(None) => Err(format!("the payload of delivery {delivery} is no longer kept")),
                Err(fault) => Err(format!("the payload of delivery {delivery} cannot be read: {fault}")),
            },
        };
        match resolved.and_then(|resolved| Ok((resolved, payload?))) {
            Ok((resolved, payload)) => {
                self.registry().cover(assignment.run_id, resolved.mask);
                assignment.tool_input = resolved.input;
                let trace = RunTrace::of(assignment.run_id, assignment.traceparent, self.sampling());
                let traceparent = trace.attempt(assignment.run_id, assignment.attempt);
                Some(Handed { assignment, payload, traceparent })
            }
            Err(reason) => {
                let report = AttemptReport::Failed { started_at: None, reason };
                let command = Command::Report { run_id: assignment.run_id, token: assignment.token, report };
                drop(self.queue(Request::new(assignment.job_id, command)));
                None
            }
        }
    }

    /// The executor takes nothing new, and leaves once it has nothing left.
    pub async fn leave(&self, speaker: Speaker, id: Uuid) -> Result<Leaving, HostError> {
        self.host(speaker, id).await?;
        let left = self.registry().drain(id).ok_or(NotThere)?;
        self.notify_core(id, News::Draining);
        self.give_back(left.undelivered, "left before it took the run");
        if left.running == 0 {
            lease::let_go(self, id).await;
            return Ok(Leaving::Left);
        }
        if let Err(error) = self.command::<Executor>(id, ExecutorCommand::Drain).await {
            tracing::warn!(%error, executor = %id, "that an executor leaves could not be written down");
        }
        Ok(Leaving::Draining { running: left.running })
    }

    /// Asks the executor to go: it gets nothing more, finishes what it has, and leaves by itself. Returns how much it
    /// still has.
    pub async fn drain_executor(&self, id: Uuid) -> Result<usize, HostError> {
        let Some(left) = self.registry().ask_to_leave(id) else { return self.drain_elsewhere(id).await };
        self.notify_core(id, News::Draining);
        self.give_back(left.undelivered, "was asked to leave before it took the run");
        if let Err(error) = self.command::<Executor>(id, ExecutorCommand::Drain).await {
            tracing::warn!(%error, executor = %id, "that an executor is asked to leave could not be written down");
        }
        Ok(left.running)
    }

    /// The node that the executor is with hears of the wish, and passes it on.
    async fn drain_elsewhere(&self, id: Uuid) -> Result<usize, HostError> {
        match self.command::<Executor>(id, ExecutorCommand::Drain).await {
            Ok(_) => {
                let running = recovery::attempts(self.queries()).await?;
                Ok(running.iter().filter(|attempt| attempt.executor.generation == id).count())
            }
            Err(SubmitError::Refused(_)) => Err(NotThere.into()),
            Err(SubmitError::Store(fault)) => Err(HostError::Store(fault)),
            Err(error) => Err(Fault::unavailable("asking an executor to leave", error).into()),
        }
    }

    /// All executors that are there or were lost not long ago, by group and name.
    pub async fn executors(&self) -> Result<Vec<ListedExecutor>, Fault> {
        let mut listed = Vec::new();
        let mut after = None;
        loop {
            let section = IndexRange { after: after.as_ref(), ..IndexRange::all(Executor::LIST, EXECUTORS_PAGE) };
            let found = self.queries().objects::<Executor>(&section).await?;
            for kept in found.items {
                let doing = self.registry().load(kept.id);
                let running = doing.as_ref().map_or(0, |doing| doing.running + doing.offered);
                let heard_at = doing.map_or(kept.seen_at, |doing| doing.heard_at.max(kept.seen_at));
                listed.push(ListedExecutor { id: kept.id, executor: kept.value, running, heard_at });
            }
            match found.next {
                Some(next) => after = Some(next),
                None => return Ok(listed),
            }
        }
    }

    /// Whether anybody could run this tool for the group.
    pub fn offers(&self, group: &str, tool: &str) -> bool {
        let here = group == self.group() && self.tools().contains_key(tool);
        here || self.registry().offers(group, tool)
    }
}
