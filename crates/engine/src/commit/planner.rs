//! Turns a round of orders into one batch: decides each against its job, folds all orders on one job into one item.
//!
//! Invariant: pure. The same jobs, orders and moment give the same batch; orders on one job apply in the order they came.

use std::collections::BTreeMap;
use std::sync::Arc;

use ordo_model::job::{Command, Decided, Event, Job, Order, Refusal, Run, decide};
use ordo_model::{EntityId, JobId, Kind, RunId, Timestamp};
use ordo_store::{Alarm, Batch, Dedup, Disposition, Item, NewEvent, RowWrite, Trim};
use uuid::Uuid;

use crate::commit::change::{Assignment, Change, Place};
use crate::commit::codec;
use crate::commit::projection;
use crate::run::tool::Shard;

/// An order on a job, with what goes along with it.
#[derive(Debug)]
pub struct Request {
    pub job_id: JobId,
    pub order: Order,
    /// Where the order's reservation was reserved.
    pub place: Option<Place>,
    pub claim: Option<Claim>,
    pub extra: Extra,
}

/// A key that is claimed in the same commit as what the order leads to, so that the same is not done twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub key: Vec<u8>,
    pub until: Timestamp,
    /// Handed to whoever comes second.
    pub value: Vec<u8>,
    /// The 16 bytes of the id of the run that the order brings about follow the value: nobody knows it beforehand.
    pub names_run: bool,
}

impl Claim {
    fn fulfilled(self, events: &[Event], now: Timestamp) -> Dedup {
        let Claim { key, until, mut value, names_run } = self;
        if let Some(run) = begun(events).filter(|_| names_run) {
            value.extend(run.0.as_bytes());
        }
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

/// What a keeper adds to an order.
#[derive(Debug, Default)]
pub enum Extra {
    #[default]
    Nothing,
    /// Forgets the beginning of the stream and these runs.
    Trim { trim: Option<Trim>, rows: Vec<RowWrite>, forget: Vec<Uuid> },
    /// Forgets the job, if it may be forgotten; `rows` are those of its runs.
    Purge { rows: Vec<RowWrite>, forget: Vec<Uuid> },
}

impl Request {
    pub fn new(job_id: JobId, command: Command) -> Request {
        Request { job_id, order: Order { command, reservation: None }, place: None, claim: None, extra: Extra::Nothing }
    }
}

/// What an order led to, provided that the batch becomes durable.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The job after the order; shared with the other orders of the round that left it so.
    pub job: Arc<Job>,
    /// The runs that the order touched.
    pub runs: Vec<Run>,
    pub events: Vec<Event>,
}

impl Accepted {
    /// The run that the order brought about, fired or skipped. Others may have moved with it.
    pub fn run_begun(&self) -> Option<&Run> {
        let id = begun(&self.events)?;
        self.runs.iter().find(|run| run.id == id)
    }
}

/// Why an order of the round leads to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    Refused(Refusal),
    /// Its key is being claimed by another order of the same round: what became of that is known in the next.
    Again,
}

#[derive(Debug)]
pub struct Plan {
    pub batch: Batch,
    /// For each item of the batch, the job it is about.
    pub item_jobs: Vec<JobId>,
    /// One answer per request, in order.
    pub answers: Vec<Result<Accepted, Denied>>,
    pub changes: BTreeMap<JobId, Change>,
    /// The jobs as the batch leaves them; those it forgets are None.
    pub jobs: BTreeMap<JobId, Option<Arc<Job>>>,
}

/// A job while the orders of a round are laid on it.
struct Work {
    before: Option<Arc<Job>>,
    now: Option<Arc<Job>>,
    events: Vec<NewEvent>,
    runs: Vec<Run>,
    dedup: Vec<Dedup>,
    rows: Vec<RowWrite>,
    trim: Option<Trim>,
    forget: Vec<Uuid>,
    purge: bool,
    change: Change,
}

pub fn plan(jobs: BTreeMap<JobId, Option<Arc<Job>>>, requests: Vec<Request>, now: Timestamp) -> Plan {
    let mut works: BTreeMap<JobId, Work> = jobs.into_iter().map(|(id, job)| (id, Work::new(id, job))).collect();
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        let work = works.entry(request.job_id).or_insert_with_key(|id| Work::new(*id, None));
        answers.push(work.take(request, now));
    }
    let mut plan = Plan {
        batch: Batch::default(),
        item_jobs: Vec::new(),
        answers,
        changes: BTreeMap::new(),
        jobs: BTreeMap::new(),
    };
    for (job_id, work) in works {
        plan.jobs.insert(job_id, work.now.clone().filter(|_| !work.purge));
        let (item, change) = work.finish();
        if let Some(item) = item {
            plan.batch.items.push(item);
            plan.item_jobs.push(job_id);
        }
        plan.changes.insert(job_id, change);
    }
    plan
}

impl Work {
    fn new(id: JobId, job: Option<Arc<Job>>) -> Work {
        Work {
            now: job.clone(),
            before: job,
            events: Vec::new(),
            runs: Vec::new(),
            dedup: Vec::new(),
            rows: Vec::new(),
            trim: None,
            forget: Vec::new(),
            purge: false,
            change: Change::of(id),
        }
    }

    fn take(&mut self, request: Request, now: Timestamp) -> Result<Accepted, Denied> {
        let id = request.job_id;
        if let Command::Start { run_id } | Command::Broadcast { run_id, .. } = request.order.command {
            self.change.answered.push(run_id);
        }
        if self.purge {
            self.change.returned.extend(request.place);
            return Err(Denied::Refused(Refusal::NoSuchJob));
        }
        if let Extra::Purge { rows, forget } = request.extra {
            return self.take_purge(rows, forget, now).map_err(Denied::Refused);
        }
        if let Some(claim) = &request.claim
            && self.dedup.iter().any(|claimed| claimed.key == claim.key)
        {
            return Err(Denied::Again);
        }
        let decided = match decide(id, self.now.as_deref().cloned(), request.order, now) {
            Ok(decided) => decided,
            Err(refusal) => {
                self.change.returned.extend(request.place);
                return Err(Denied::Refused(refusal));
            }
        };
        self.note(&decided, request.place);
        self.dedup.extend(request.claim.map(|claim| claim.fulfilled(&decided.events, now)));
        if let Extra::Trim { trim, rows, forget } = request.extra {
            self.trim = trim.or(self.trim.take());
            self.rows.extend(rows);
            self.forget.extend(forget);
        }
        let job = Arc::new(decided.job);
        self.now = Some(job.clone());
        self.events.extend(decided.events.iter().map(|event| codec::encode_event(event, now)));
        for run in &decided.runs {
            match self.runs.iter_mut().find(|known| known.id == run.id) {
                Some(known) => *known = run.clone(),
                None => self.runs.push(run.clone()),
            }
        }
        Ok(Accepted { job, runs: decided.runs, events: decided.events })
    }

    fn take_purge(&mut self, rows: Vec<RowWrite>, forget: Vec<Uuid>, now: Timestamp) -> Result<Accepted, Refusal> {
        let job = self.now.clone().ok_or(Refusal::NoSuchJob)?;
        if !job.is_forgettable(now) || !self.events.is_empty() {
            return Err(Refusal::WrongState { state: job.state().name(), advice: "it is still needed" });
        }
        self.purge = true;
        self.rows.extend(rows);
        self.forget.extend(forget);
        Ok(Accepted { job, runs: Vec::new(), events: Vec::new() })
    }

    /// What the engine must act on after these events.
    fn note(&mut self, decided: &Decided, mut place: Option<Place>) {
        for event in &decided.events {
            match event {
                Event::JobStarted { run_id, .. } => {
                    self.change
                        .assignments
                        .extend(place.take().and_then(|place| started(&decided.job, *run_id, place)));
                }
                Event::RunCancelRequested { run_id, .. } => self.change.cancel.push(*run_id),
                Event::JobExecuted { run_id, .. }
                | Event::JobFailed { run_id, .. }
                | Event::RunReturned { run_id, .. }
                | Event::RunCancelled { run_id, .. } => self.change.ended.push(*run_id),
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
        self.change.reconcile.extend(deliveries.map(|id| EntityId { kind: Kind::Delivery, id }));
        self.change.returned.extend(place);
    }

    fn finish(mut self) -> (Option<Item>, Change) {
        let Some(job) = self.now.take() else { return (None, self.change) };
        self.change.rank = job.rank();
        // What waits in the outbox needs nobody to wake the job: it is reconciled to at once, and by the stored alarm after
        // a crash.
        let alarm = if self.purge { None } else { job.next_wake().map(|at| Alarm { at, rank: job.rank() }) };
        self.change.alarm = if self.purge { None } else { job.next_turn() };
        if !job.outbox.is_empty() && !self.purge {
            self.change.reconcile.push(job.id.into());
        }
        self.change.pool = job.pool();
        if !self.purge {
            self.change.waiting = projection::waiting(&job).collect();
        }
        if self.events.is_empty() && !self.purge {
            return (None, self.change);
        }
        let disposition = if self.purge {
            self.rows.extend(projection::forget_job_rows(&job));
            Disposition::Purge
        } else {
            self.rows.extend(projection::changes(self.before.as_deref(), &job, &self.runs));
            Disposition::Keep { snapshot: codec::encode_job(&job), alarm }
        };
        let item = Item {
            entity: job.id.into(),
            expected: self.before.as_ref().map_or(0, |job| job.version),
            events: self.events,
            disposition,
            rows: self.rows,
            dedup: self.dedup,
            trim: self.trim,
            forget_chunks: self.forget,
        };
        (Some(item), self.change)
    }
}

fn started(job: &Job, run_id: RunId, place: Place) -> Option<Assignment> {
    let run = job.active_run(run_id)?;
    let attempt = run.attempt()?;
    Some(Assignment {
        place,
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
        shard: run.shard.map(|shard| Shard { index: shard.index, total: shard.total }),
        traceparent: run.traceparent,
    })
}
