//! Deliveries of webhooks: stored as they came, brought to every job that listens, kept until those are done.
//!
//! Invariant: a job gets exactly one run of a delivery, however often the process dies in between: the run and the
//! key that says so are one commit. Nothing is acknowledged before the delivery is durable.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ordo_model::hook::{Bound, Delivery, DeliveryCommand, DeliveryOutcome, DeliveryRefusal, Hook};
use ordo_model::job::{Command, Refusal, Run};
use ordo_model::limits::DELIVERY_KEPT;
use ordo_model::{Actor, ActorSource, JobId, Millis, RunId, Timestamp};
use ordo_store::{Chunk, Dedup, Direction, Fault, KeyRange, View};
use uuid::Uuid;

use crate::commit::command::SubmitError;
use crate::commit::encoding::keys;
use crate::commit::entity_command::CommitExtras;
use crate::commit::entity_command::Committed;
use crate::commit::job_command::Claim;
use crate::commit::job_command::JobReply;
use crate::commit::kinds::deliveries_prefix;
use crate::engine::Engine;
use crate::read::queries::Queries;
use crate::run::tool::DeliveryPayload;
use crate::time::clock::new_id;

/// A payload is kept in parts of this size.
const PART_BYTES: usize = 1024 * 1024;
/// The headers stand before the parts of the payload.
const HEADERS_SEQ: u64 = 0;
const CHUNKS_PER_READ: usize = 64;
const JOBS_PER_READ: usize = 500;
/// How long it is remembered that a job got its run, should the delivery itself not have heard of it.
const CLAIM_KEPT: Millis = Millis::from_days(30);

/// A call of a hook, before it is stored.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub hook: String,
    /// How the sender names it.
    pub sender_id: Option<String>,
    /// What a copy of it would have in common with it, whatever it is called.
    pub replay_mark: Option<String>,
    pub headers: Vec<(String, String)>,
    pub content_type: Option<String>,
    pub body: Bytes,
    /// Whether the hook's filter lets it through.
    pub passes: bool,
}

/// A call of a hook that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    New(Uuid),
    /// It came before, under this id.
    Duplicate(Uuid),
}

/// What is counted of deliveries.
#[derive(Debug, Default)]
pub struct DeliveryCounts {
    pub received: AtomicU64,
    pub duplicate: AtomicU64,
    pub filtered: AtomicU64,
    /// Not believed, or too large.
    pub refused: AtomicU64,
    /// Runs that deliveries brought about.
    pub routed: AtomicU64,
}

impl DeliveryCounts {
    pub fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Remembers a delivery by what its signature covers, as long as by its id.
fn seen_once(hook: &str, mark: &str, id: Uuid, now: Timestamp) -> Dedup {
    let key = format!("signed-call/{hook}/{mark}").into_bytes();
    Dedup { key, at: now, until: now.plus(DELIVERY_KEPT), value: id.as_bytes().to_vec() }
}

impl Engine {
    /// Stores a call of a hook for every job that listens now.
    pub async fn receive(&self, arrival: Arrival) -> Result<Received, SubmitError<DeliveryRefusal>> {
        let counts = &self.metrics().deliveries;
        let id = arrival.sender_id.as_ref().map_or_else(new_id, |name| Delivery::id(&arrival.hook, name).id);
        let jobs = self.listeners(&arrival.hook).await?;
        let owner = new_id();
        let dedup = arrival.replay_mark.as_ref().map(|mark| seen_once(&arrival.hook, mark, id, self.clock().now()));
        let extras = CommitExtras { chunks: chunks(owner, &arrival), dedup: dedup.into_iter().collect() };
        let passes = arrival.passes;
        let command = DeliveryCommand::Receive {
            hook: arrival.hook,
            sender_id: arrival.sender_id,
            content_type: arrival.content_type,
            bytes: arrival.body.len() as u64,
            payload: owner,
            passes,
            jobs,
        };
        match self.command_with::<Delivery>(id, command, extras).await {
            Ok(_) => {
                DeliveryCounts::add(if passes { &counts.received } else { &counts.filtered });
                Ok(Received::New(id))
            }
            Err(SubmitError::Refused(DeliveryRefusal::Duplicate)) => {
                DeliveryCounts::add(&counts.duplicate);
                Ok(Received::Duplicate(id))
            }
            Err(SubmitError::Duplicate(first)) => {
                DeliveryCounts::add(&counts.duplicate);
                // Only an id was ever written down under such a key.
                Ok(Received::Duplicate(Uuid::from_slice(&first).unwrap_or(id)))
            }
            Err(error) => Err(error),
        }
    }

    /// Brings a delivery to every job that listens now, once more.
    pub async fn replay(
        &self,
        hook: &str,
        id: Uuid,
        extras: CommitExtras,
    ) -> Result<Committed<Delivery>, SubmitError<DeliveryRefusal>> {
        let jobs = self.listeners(hook).await?;
        self.command_with::<Delivery>(id, DeliveryCommand::Replay { jobs }, extras).await
    }

    async fn listeners(&self, hook: &str) -> Result<Vec<JobId>, SubmitError<DeliveryRefusal>> {
        Ok(self.queries().listeners(hook).await?)
    }
}

impl Queries {
    /// The hook with this slug.
    pub async fn hook(&self, slug: &str) -> Result<Option<crate::Versioned<Hook>>, Fault> {
        self.object::<Hook>(Hook::id(slug).id).await
    }

    /// The jobs that listen to a hook, in the order of their ids.
    pub async fn listeners(&self, hook: &str) -> Result<Vec<JobId>, Fault> {
        self.jobs_below(&keys::hook_prefix(hook)).await
    }

    /// The jobs that listen to each of these hooks: one list per hook, in order, in one read unless they are very many.
    pub async fn listeners_of(&self, hooks: &[&str]) -> Result<Vec<Vec<JobId>>, Fault> {
        let prefixes: Vec<Vec<u8>> = hooks.iter().map(|hook| keys::hook_prefix(hook)).collect();
        self.jobs_below_each(&prefixes).await
    }

    /// The jobs whose ids end the keys with this prefix, in the order of their ids.
    pub(crate) async fn jobs_below(&self, prefix: &[u8]) -> Result<Vec<JobId>, Fault> {
        Ok(self.jobs_below_each(&[prefix]).await?.pop().unwrap_or_default())
    }

    async fn jobs_below_each(&self, prefixes: &[impl AsRef<[u8]> + Sync]) -> Result<Vec<Vec<JobId>>, Fault> {
        let mut jobs = vec![Vec::new(); prefixes.len()];
        let mut open: Vec<(usize, KeyRange)> =
            prefixes.iter().map(|prefix| KeyRange::prefix(prefix.as_ref())).enumerate().collect();
        while !open.is_empty() {
            let (lists, ranges): (Vec<usize>, Vec<KeyRange>) = open.drain(..).unzip();
            let found = self.store().rows_of_ranges(View::Index, &ranges, Direction::Ascending, JOBS_PER_READ).await?;
            for ((list, mut range), rows) in lists.into_iter().zip(ranges).zip(found) {
                jobs[list].extend(rows.iter().filter_map(|row| keys::trailing_id(&row.key)).map(JobId));
                if let Some(last) = rows.last().filter(|_| rows.len() == JOBS_PER_READ) {
                    range.from = [last.key.as_slice(), &[0]].concat();
                    open.push((list, range));
                }
            }
        }
        Ok(jobs)
    }

    /// The last deliveries of each of these hooks, newest first: one list per hook, in order, in two reads.
    pub async fn last_deliveries(
        &self,
        hooks: &[&str],
        limit: usize,
    ) -> Result<Vec<Vec<crate::Versioned<Delivery>>>, Fault> {
        let prefixes: Vec<Vec<u8>> = hooks.iter().map(|hook| deliveries_prefix(hook)).collect();
        self.objects_below::<Delivery>(0, &prefixes, Direction::Descending, limit).await
    }

    /// What came with a delivery; None when it is no longer kept.
    pub async fn payload(&self, delivery: Uuid) -> Result<Option<DeliveryPayload>, Fault> {
        let Some(kept) = self.object::<Delivery>(delivery).await? else { return Ok(None) };
        let Some(owner) = kept.payload else { return Ok(None) };
        let chunks = self.store().chunks(owner, HEADERS_SEQ, CHUNKS_PER_READ).await?;
        let Some((first, parts)) = chunks.split_first() else { return Ok(None) };
        let damaged = |e| Fault::damaged(format!("the headers of delivery {delivery} cannot be read: {e}"));
        let headers = serde_json::from_slice(&first.bytes).map_err(damaged)?;
        let body: Vec<u8> = parts.iter().flat_map(|part| part.bytes.iter().copied()).collect();
        if body.len() as u64 != kept.bytes {
            return Err(Fault::damaged(format!("delivery {delivery}: {} of {} bytes", body.len(), kept.bytes)));
        }
        Ok(Some(DeliveryPayload { hook: kept.value.hook, delivery, headers, body: body.into() }))
    }

    async fn outcome(&self, run: RunId) -> Result<DeliveryOutcome, Fault> {
        let found = self.run(run).await?;
        // A run that retention took away was over.
        Ok(found.map_or_else(|| DeliveryOutcome::Ended { run, status: "forgotten".to_owned() }, |run| outcome_of(&run)))
    }
}

fn chunks(owner: Uuid, arrival: &Arrival) -> Vec<Chunk> {
    if !arrival.passes {
        return Vec::new();
    }
    let headers = serde_json::to_vec(&arrival.headers).expect("headers are plain text");
    let parts = std::iter::once(headers).chain(arrival.body.chunks(PART_BYTES).map(<[u8]>::to_vec));
    parts.zip(HEADERS_SEQ..).map(|(bytes, seq)| Chunk { owner, seq, bytes }).collect()
}

/// Brings a delivery to the jobs that have no run of it yet, and looks what became of the others.
pub(crate) async fn reconcile(engine: &Engine, id: Uuid) -> Result<(), Fault> {
    let Some(delivery) = engine.queries().object::<Delivery>(id).await? else { return Ok(()) };
    let mut found = route(engine, id, &delivery).await?;
    for bound in &delivery.bound {
        if let DeliveryOutcome::Running { run } = bound.outcome {
            found.push(Bound { job: bound.job, outcome: engine.queries().outcome(run).await? });
        }
    }
    match engine.command::<Delivery>(id, DeliveryCommand::Check { found }).await {
        Ok(_) | Err(SubmitError::Refused(_) | SubmitError::Stopped | SubmitError::Duplicate(_)) => Ok(()),
        Err(SubmitError::Store(fault)) => Err(Fault::clone(&fault)),
        Err(SubmitError::Contended | SubmitError::Overloaded) => {
            Err(Fault::Held { what: "others kept changing the delivery".into() })
        }
    }
}

async fn route(engine: &Engine, id: Uuid, delivery: &Delivery) -> Result<Vec<Bound>, Fault> {
    let now = engine.clock().now();
    let (mut found, mut commands) = (Vec::new(), Vec::new());
    for bound in delivery.bound.iter().filter(|bound| bound.outcome == DeliveryOutcome::Waiting) {
        let claim = claim(id, delivery.replays, bound.job, now);
        // A generation before this one may have come so far.
        match engine.queries().store().dedup(&claim.key, now).await? {
            Some(value) => found.push(Bound { job: bound.job, outcome: claimed(engine, &value).await? }),
            None => commands.push((bound.job, Command::Deliver { delivery: id, replay: delivery.replays }, claim)),
        }
    }
    let jobs: Vec<JobId> = commands.iter().map(|(job, _, _)| *job).collect();
    let by_hook = engine.signed_by(&Actor::new(delivery.hook.clone(), ActorSource::Hook));
    for (job, answer) in jobs.into_iter().zip(by_hook.submit_all_once(commands).await) {
        found.push(Bound { job, outcome: answered(engine, answer).await? });
    }
    Ok(found)
}

fn claim(delivery: Uuid, replay: u32, job: JobId, now: Timestamp) -> Claim {
    let key = [b"hook-run/".as_slice(), delivery.as_bytes(), &replay.to_be_bytes(), job.0.as_bytes()].concat();
    let changes =
        if ordo_model::is_planted!(DeliveryClaimChanges) { now.ms().to_be_bytes().to_vec() } else { Vec::new() };
    let key = [key, changes].concat();
    Claim { key, until: now.plus(CLAIM_KEPT), value: Vec::new(), names_run: true }
}

async fn claimed(engine: &Engine, value: &[u8]) -> Result<DeliveryOutcome, Fault> {
    let (_, run) = Claim::read_run(value).ok_or_else(|| Fault::damaged("a claim of a delivery names no run"))?;
    engine.queries().outcome(run).await
}

async fn answered(engine: &Engine, answer: JobReply) -> Result<DeliveryOutcome, Fault> {
    match answer {
        Ok(accepted) => {
            DeliveryCounts::add(&engine.metrics().deliveries.routed);
            let none = || DeliveryOutcome::Refused { reason: "the command led to no run".to_owned() };
            Ok(accepted.run_begun().map_or_else(none, outcome_of))
        }
        Err(SubmitError::Duplicate(value)) => claimed(engine, &value).await,
        // It is tried again a little later.
        Err(
            SubmitError::Refused(Refusal::QueueFull)
            | SubmitError::Contended
            | SubmitError::Overloaded
            | SubmitError::Stopped,
        ) => Ok(DeliveryOutcome::Waiting),
        Err(SubmitError::Refused(refusal)) => Ok(DeliveryOutcome::Refused { reason: refusal.to_string() }),
        Err(SubmitError::Store(fault)) => Err(Fault::clone(&fault)),
    }
}

fn outcome_of(run: &Run) -> DeliveryOutcome {
    match run.status.is_terminal() {
        true => DeliveryOutcome::Ended { run: run.id, status: run.status.name().to_owned() },
        false => DeliveryOutcome::Running { run: run.id },
    }
}
