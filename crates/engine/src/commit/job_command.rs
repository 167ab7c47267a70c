//! A command on a job: with a slot to run in, a key it claims, and what retention adds.

use std::sync::Arc;

use ordo_model::job::{Command, Decided, Event, Job, Refusal, Run, ShardPosition, SkipReason, SlottedCommand, decide};
use ordo_model::schedule::Gap;
use ordo_model::{EntityId, JobId, Kind, Moment, RunId, Timestamp};
use ordo_store::{Dedup, EventActor, Quota, QuotaLimit, RowWrite, Trim, View};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::change::{Change, RateKey, SharedLimit, SlotLocation, StartedAttempt};
use super::command::{Announcements, Lost, PendingCommand, Submission, SubmitError};
use super::encoding::codec;
use super::planner::EntityWork;
use super::rounds::{CONTENTION_MAX, KEY_CONTENTION_MAX};
use super::state;
use crate::read::change_hint::ChangeHint;

/// A command on a job, with what goes along with it.
#[derive(Debug)]
pub struct Request {
    pub job_id: JobId,
    pub slotted: SlottedCommand,
    /// Where the command's slot was reserved.
    pub location: Option<SlotLocation>,
    /// Keys that no other command may have claimed.
    pub claims: Vec<Claim>,
    pub extra: Extra,
    /// Who gave the command; Ordo itself, unless somebody else is named.
    pub actor: EventActor,
}

impl Request {
    pub fn new(job_id: JobId, command: Command) -> Request {
        Request {
            job_id,
            slotted: SlottedCommand { command, reservation: None },
            location: None,
            claims: Vec::new(),
            extra: Extra::Nothing,
            actor: EventActor::Ordo,
        }
    }

    /// On its way, and where its answer comes.
    pub fn answered(self) -> (Submission, oneshot::Receiver<JobReply>) {
        let (reply, answer) = oneshot::channel();
        (Submission::new(PendingJobCommand::new(self, Some(reply))), answer)
    }

    /// On its way; nobody waits for the answer.
    pub fn unanswered(self) -> Submission {
        Submission::new(PendingJobCommand::new(self, None))
    }
}

/// A key that is claimed in the same commit as what the command leads to, so that the same is not done twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub key: Vec<u8>,
    pub until: Timestamp,
    /// Handed to whoever comes second.
    pub value: Vec<u8>,
    /// The 16 bytes of the id of the run that the command brings about follow the value: nobody knows it beforehand.
    pub names_run: bool,
}

impl Claim {
    fn fulfilled(&self, events: &[Event], now: Timestamp) -> Dedup {
        let Claim { key, until, value, names_run } = self.clone();
        let run = begun(events).filter(|_| names_run);
        let value = value.into_iter().chain(run.into_iter().flat_map(|run| *run.0.as_bytes())).collect();
        Dedup { key, at: now, until, value }
    }

    /// Takes the run off a value that names one.
    pub fn read_run(value: &[u8]) -> Option<(&[u8], RunId)> {
        let (rest, run) = value.split_last_chunk::<16>()?;
        Some((rest, RunId(Uuid::from_bytes(*run))))
    }
}

/// The run that somebody asked for and got, fired or skipped.
fn begun(events: &[Event]) -> Option<RunId> {
    events.iter().find_map(|event| match event {
        Event::JobTriggered { run_id, cause, .. } | Event::JobSkipped { run_id, cause, .. } => {
            cause.is_asked_for().then_some(*run_id)
        }
        _ => None,
    })
}

/// What retention adds to a command.
#[derive(Debug, Default)]
pub enum Extra {
    #[default]
    Nothing,
    /// Forgets the beginning of the stream and these runs.
    Trim { trim: Option<Trim>, rows: Vec<RowWrite>, forget: Vec<Uuid> },
    /// Forgets the job, if it may be forgotten; `rows` are those of its runs.
    Purge { rows: Vec<RowWrite>, forget: Vec<Uuid> },
}

/// What a command led to. It is durable.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The job after the command; shared with the other commands of the round that left it so.
    pub job: Arc<Job>,
    /// The runs that the command touched.
    pub runs: Arc<[Run]>,
    pub events: Vec<Event>,
}

impl Accepted {
    /// The run that the command brought about, fired or skipped. Others may have moved with it.
    pub fn run_begun(&self) -> Option<&Run> {
        let id = begun(&self.events)?;
        self.runs.iter().find(|run| run.id == id)
    }
}

pub type JobReply = Result<Accepted, SubmitError>;

struct PendingJobCommand {
    job_id: JobId,
    /// None once it was decided; what is decided anew is made of `kept`.
    slotted: Option<SlottedCommand>,
    kept: Option<Command>,
    location: Option<SlotLocation>,
    /// The run that it starts.
    start: Option<RunId>,
    claims: Vec<Claim>,
    extra: Extra,
    actor: EventActor,
    /// What it takes a share of.
    quota_keys: Vec<Vec<u8>>,
    is_report: bool,
    can_wait: bool,
    answer: Option<JobReply>,
    reply: Option<oneshot::Sender<JobReply>>,
}

impl PendingJobCommand {
    fn new(request: Request, reply: Option<oneshot::Sender<JobReply>>) -> PendingJobCommand {
        let Request { job_id, slotted, location, claims, extra, actor } = request;
        let start = match slotted.command {
            Command::Start { run_id } | Command::Broadcast { run_id, .. } => Some(run_id),
            _ => None,
        };
        // A report must reach the store however often that takes: its attempt cannot be run again to find out.
        let is_report = matches!(slotted.command, Command::Report { .. });
        let can_wait = is_report || matches!(slotted.command, Command::Wake | Command::Start { .. });
        let (slotted, kept, answer) = (Some(slotted), None, None);
        PendingJobCommand {
            job_id,
            slotted,
            kept,
            location,
            start,
            claims,
            extra,
            actor,
            quota_keys: Vec::new(),
            is_report,
            can_wait,
            answer,
            reply,
        }
    }

    /// What is decided anew if others were faster: reports; commands with a key, which meet their like in one round;
    /// and, where others may be the reason, everybody's: losing to them is no reason to refuse.
    fn keep(&mut self, command: &Command, may_lose: bool) {
        let plain = self.location.is_none() && matches!(self.extra, Extra::Nothing);
        if self.is_report || (plain && (may_lose || !self.claims.is_empty())) {
            self.kept = Some(command.clone());
        }
    }

    fn lay_on(&mut self, work: &mut EntityWork, moment: Moment, slotted: SlottedCommand) -> JobReply {
        let now = moment.now;
        let location = self.location;
        let refused = |work: &mut EntityWork, refusal: Refusal| {
            work.change().returned.extend(location);
            Err(SubmitError::Refused(refusal))
        };
        if work.is_gone() {
            return refused(work, Refusal::NoSuchJob);
        }
        let before = match work.state().map(state::job).transpose() {
            Ok(before) => before,
            Err(fault) => return Err(SubmitError::Store(Arc::new(fault))),
        };
        if let Extra::Purge { rows, forget } = std::mem::take(&mut self.extra) {
            let Some(job) = before else { return refused(work, Refusal::NoSuchJob) };
            if !job.is_forgettable(now) || work.has_events() {
                let state = job.state().name();
                return refused(work, Refusal::WrongState { state, advice: "it is still needed" });
            }
            work.purge(rows, forget);
            return Ok(Accepted { job, runs: Arc::default(), events: Vec::new() });
        }
        let decided = match decide(self.job_id, before.as_deref().cloned(), slotted, moment) {
            Ok(decided) => decided,
            Err(refusal) => return refused(work, refusal),
        };
        note(work.change(), &decided, location);
        work.claim(self.claims.iter().map(|claim| claim.fulfilled(&decided.events, now)));
        let Decided { job, events, runs } = decided;
        let quotas = quotas(&job, &events, now);
        self.quota_keys = quotas.iter().map(|quota| quota.key.clone()).collect();
        work.reserve(quotas);
        let job = Arc::new(job);
        work.advance(job.clone(), events.iter().map(|event| codec::encode_event(event, now)), &self.actor);
        let runs: Arc<[Run]> = runs.into();
        work.touch(runs.clone());
        Ok(Accepted { job, runs, events })
    }
}

impl PendingCommand for PendingJobCommand {
    fn entity(&self) -> EntityId {
        self.job_id.into()
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.claims.iter().map(|claim| claim.key.as_slice()).collect()
    }

    fn quota_keys(&self) -> &[Vec<u8>] {
        &self.quota_keys
    }

    fn creates(&self) -> bool {
        matches!(self.slotted, Some(SlottedCommand { command: Command::Schedule { .. }, .. }))
    }

    fn can_wait(&self) -> bool {
        self.can_wait
    }

    fn is_report(&self) -> bool {
        self.is_report && matches!(self.extra, Extra::Nothing) && self.claims.is_empty()
    }

    fn decide(&mut self, work: &mut EntityWork, now: Moment, is_shared: bool) -> bool {
        let slotted = match (self.slotted.take(), self.kept.take()) {
            (Some(slotted), _) => slotted,
            (None, Some(command)) => SlottedCommand { command, reservation: None },
            (None, None) => return true,
        };
        // A start in the same round may find what it needs used up: that is no reason to refuse what came with it.
        let may_be_refused = |job: &Arc<Job>| job.definition.needs_dispatch();
        let is_limited = work.state().and_then(|state| state::job(state).ok()).as_ref().is_some_and(may_be_refused);
        self.keep(&slotted.command, is_shared || is_limited);
        work.change().answered.extend(self.start);
        if self.claims.iter().any(|claim| work.claims(&claim.key)) {
            self.slotted = Some(slotted);
            return false;
        }
        let extra = match &mut self.extra {
            Extra::Trim { trim, rows, forget } => Some((trim.take(), std::mem::take(rows), std::mem::take(forget))),
            Extra::Nothing | Extra::Purge { .. } => None,
        };
        let answer = self.lay_on(work, now, slotted);
        if let Some((trim, rows, forget)) = extra.filter(|_| answer.is_ok()) {
            work.trim(trim, rows, forget);
        }
        self.answer = Some(answer);
        true
    }

    fn undo(&self, change: &mut Change) {
        change.returned.extend(self.location);
        change.answered.extend(self.start);
    }

    fn rewind(&mut self) {
        self.location = None;
        // One that was not decided still has it: what it started would be in nobody's slot.
        if let Some(slotted) = &mut self.slotted {
            slotted.reservation = None;
        }
    }

    fn tries_again(&self, lost: &Lost, tries: u32) -> bool {
        let most = if self.is_report || !self.claims.is_empty() { KEY_CONTENTION_MAX } else { CONTENTION_MAX };
        // What a trim forgets was read with the state it was decided on: the next pass looks again.
        let stands_alone = matches!(self.extra, Extra::Nothing);
        let is_kept = stands_alone && (self.kept.is_some() || self.slotted.is_some());
        match lost {
            Lost::Contended => is_kept && tries < most,
            Lost::Store(_) => is_kept && self.is_report,
            Lost::Duplicate(_) | Lost::Exhausted | Lost::Stopped => false,
        }
    }

    fn settle(self: Box<Self>, lost: Option<Lost>, announce: &mut Announcements<'_>) {
        let answer = match lost {
            Some(lost) => Err(lost.into_error()),
            None => self.answer.unwrap_or(Err(SubmitError::Contended)),
        };
        if let Ok(accepted) = &answer {
            announce.metrics.accepted(accepted);
            say_missed(accepted);
            announce.hints.extend(accepted.runs.iter().map(|run| ChangeHint::Run(run.id)));
            if !accepted.events.is_empty() {
                announce.hints.push(ChangeHint::Job(accepted.job.id));
            }
        }
        if let Some(reply) = self.reply {
            // Whoever asked may have stopped waiting; what was decided stands.
            drop(reply.send(answer));
        }
    }
}

/// What the attempts that these events begin take a share of.
fn quotas(job: &Job, events: &[Event], now: Timestamp) -> Vec<Quota> {
    let mut quotas = Vec::new();
    for event in events {
        let Event::JobStarted { run_id, concurrency_key, .. } = event else { continue };
        if let Some((key, limit)) = concurrency_key.as_ref().zip(job.definition.concurrency_key.as_ref()) {
            let limit = QuotaLimit::Rows { view: View::Index, max: limit.max };
            quotas.push(Quota { key: SharedLimit::Concurrency(key.clone()).bytes(), limit });
        }
        let rate = job.definition.rate_limit.as_ref();
        if let Some((limit, run)) = rate.zip(job.active_run(*run_id))
            && let Some(key) = job.rate_key_of(run)
        {
            let (per, max) = (limit.per, limit.limit);
            let key = SharedLimit::Rate(RateKey { key, per }).bytes();
            quotas.push(Quota { key, limit: QuotaLimit::Rate { at: now, per, max } });
        }
    }
    quotas
}

/// What a policy lets pass without a run is at least said.
fn say_missed(accepted: &Accepted) {
    for event in &accepted.events {
        if let Event::JobSkipped { reason: SkipReason::Misfire, gap: Some(gap), .. } = event {
            let (job, Gap { from, to, count, .. }) = (&accepted.job, gap);
            let policy = job.definition.misfire.name();
            tracing::warn!(job_id = %job.id, label = %job.definition.label, %from, %to, count, policy, "missed occurrences were skipped");
        }
    }
}

/// What the engine must act on after these events.
fn note(change: &mut Change, decided: &Decided, mut location: Option<SlotLocation>) {
    for event in &decided.events {
        match event {
            Event::JobStarted { run_id, .. } => {
                change
                    .assignments
                    .extend(location.take().and_then(|location| assignment(&decided.job, *run_id, location)));
            }
            Event::RunCancelRequested { run_id, .. } => change.cancel.push(*run_id),
            Event::JobExecuted { run_id, .. }
            | Event::JobFailed { run_id, .. }
            | Event::RunReturned { run_id, .. }
            | Event::RunCancelled { run_id, .. } => change.ended.push(*run_id),
            Event::JobScheduled { .. }
            | Event::JobUpdated { .. }
            | Event::JobPaused { .. }
            | Event::JobResumed { .. }
            | Event::JobCancelled { .. }
            | Event::JobTriggered { .. }
            | Event::JobSkipped { .. }
            | Event::RunReady { .. }
            | Event::RunExpired { .. }
            | Event::RunBroadcast { .. }
            | Event::ShardTriggered { .. }
            | Event::RunOrphaned { .. }
            | Event::AttemptExtended { .. }
            | Event::ClockStepped { .. }
            | Event::BackfillRequested { .. }
            | Event::HistoryTrimmed { .. }
            | Event::JobFollowed {}
            | Event::UpstreamEnded { .. }
            | Event::Published { .. } => {}
        }
    }
    // A delivery whose run is over may have no more to wait for.
    let over = decided.runs.iter().filter(|run| run.status.is_terminal());
    let deliveries = over.filter_map(|run| run.cause.delivery());
    change.reconcile.extend(deliveries.map(|id| EntityId { kind: Kind::Delivery, id }));
    change.returned.extend(location);
}

fn assignment(job: &Job, run_id: RunId, location: SlotLocation) -> Option<StartedAttempt> {
    let run = job.active_run(run_id)?;
    let attempt = run.attempt()?;
    Some(StartedAttempt {
        location,
        executor: attempt.executor.clone(),
        job_id: job.id,
        run_id,
        label: job.definition.label.clone(),
        attempt: attempt.number,
        token: attempt.token,
        scheduled_for: run.cause.occurrence().map(|o| o.nominal),
        timeout: job.definition.timeout,
        tool_name: job.definition.tool_name.clone(),
        delivery: run.cause.delivery(),
        tool_input: run.tool_input.clone().unwrap_or_else(|| job.definition.tool_input.clone()),
        shard: run.shard.map(|shard| ShardPosition { index: shard.index, total: shard.total }),
        traceparent: run.traceparent,
    })
}
