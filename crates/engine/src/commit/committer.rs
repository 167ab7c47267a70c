//! One round of orders: load the jobs, decide, commit, say what changed.
//!
//! Invariant: nobody is told yes before the commit is durable. A conflict (another node was faster) is decided anew
//! on what that node wrote, a bounded number of times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ordo_model::job::{Command, Job, Pool, Refusal};
use ordo_model::{EntityId, JobId, RunId, Timestamp};
use ordo_store::{Batch, Chunk, Fault, Outcome, Store};

use crate::commit::cache::Cache;
use crate::commit::change::{Change, Place};
use crate::commit::codec;
use crate::commit::object;
use crate::commit::object::ask::{Ask, Lost};
use crate::commit::object::planner::{Loaded, ObjectPlan};
use crate::commit::planner::{Accepted, Denied, Plan, Request, plan};

/// Why an order was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Somebody did the same before; what they left behind.
    #[error("this was done before")]
    Duplicate(Vec<u8>),
    /// The store failed; whether the order took effect is not known to be true.
    #[error("{0}")]
    Store(Arc<Fault>),
    #[error("others kept changing the job: try again")]
    Contended,
    #[error("Ordo is shutting down")]
    Stopped,
}

impl From<Denied> for SubmitError {
    fn from(denied: Denied) -> SubmitError {
        match denied {
            Denied::Refused(refusal) => SubmitError::Refused(refusal),
            Denied::Again => SubmitError::Contended,
        }
    }
}

pub type Answer = Result<Accepted, SubmitError>;

/// What came of a round: one answer per request, in order, and what the engine must act on.
#[derive(Debug)]
pub struct Round {
    pub answers: Vec<Answer>,
    pub changes: Vec<Change>,
    /// The asks on objects, each with why it was not carried out, if it was not.
    pub(crate) asks: Vec<Answered>,
}

/// An ask that came back from the store.
pub(crate) struct Answered {
    pub(crate) ask: Box<dyn Ask>,
    pub(crate) lost: Option<Lost>,
}

impl std::fmt::Debug for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answered").field("entity", &self.ask.entity()).field("lost", &self.lost).finish()
    }
}

/// Rounds may be prepared while earlier ones are still being committed: they build on what those will leave behind.
/// If an earlier one is lost, the guard of the commit, or `tainted`, refuses what was built on it.
pub struct Committer {
    store: Arc<dyn Store>,
    cache: Cache,
    /// How many rounds are prepared and not yet settled.
    open: usize,
    /// Jobs whose round was lost while later rounds were open.
    tainted: BTreeSet<JobId>,
    /// On a store that others write to as well: the jobs of open rounds.
    busy: BTreeSet<JobId>,
    shared: bool,
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer").field("open", &self.open).finish_non_exhaustive()
    }
}

/// A round that is decided and waits for its commit.
#[derive(Debug)]
pub struct Prepared {
    asked: Vec<Asked>,
    asks: Asks,
    plan: Result<Plan, Fault>,
}

/// The asks of a round, with what was planned for them.
#[derive(Default)]
struct Asks {
    asks: Vec<Box<dyn Ask>>,
    plan: ObjectPlan,
}

impl std::fmt::Debug for Asks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Asks({})", self.asks.len())
    }
}

impl Prepared {
    /// What is to be committed; to be taken once.
    pub fn take_batch(&mut self) -> Batch {
        self.plan.as_mut().map(|plan| std::mem::take(&mut plan.batch)).unwrap_or_default()
    }
}

impl Committer {
    pub fn new(store: Arc<dyn Store>) -> Committer {
        let shared = store.is_shared();
        Committer { store, cache: Cache::default(), open: 0, tainted: BTreeSet::new(), busy: BTreeSet::new(), shared }
    }

    /// An order on this job must wait until the open rounds are settled. On a shared store another node may bring the
    /// job to the very version that an open round is about to write, and the guard of the commit, which compares
    /// versions only, would let pass what was built on a round that lost.
    pub fn is_busy(&self, job_id: JobId) -> bool {
        self.busy.contains(&job_id)
    }

    /// Whether the job is known to be slow; one that is not in memory may be.
    pub fn is_slow(&self, job_id: JobId) -> bool {
        self.cache.get(job_id).is_some_and(|job| job.pool() == Pool::Slow)
    }

    /// Whether others write to the store too.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// A round was lost, and rounds that built on it are still under way. Nothing must be prepared until they are
    /// settled: what is read from the store meanwhile may come to have the same version as what they are writing,
    /// and the guard of the commit, which compares versions only, would take one for the other. On a shared store no
    /// round builds on an open one, see [`Committer::is_busy`].
    pub fn must_settle(&self) -> bool {
        !self.tainted.is_empty()
    }

    /// A whole round: prepared, committed, settled.
    pub async fn round(&mut self, requests: Vec<Request>, chunks: Vec<Chunk>, now: Timestamp) -> Round {
        let mut prepared = self.prepare(requests, chunks, now).await;
        let outcomes = commit(self.store.as_ref(), prepared.take_batch()).await;
        self.settle(prepared, outcomes)
    }

    pub async fn prepare(&mut self, requests: Vec<Request>, chunks: Vec<Chunk>, now: Timestamp) -> Prepared {
        self.prepare_with(requests, Vec::new(), chunks, now).await
    }

    /// No object may have an ask in two rounds that are both under way.
    pub(crate) async fn prepare_with(
        &mut self,
        requests: Vec<Request>,
        mut asks: Vec<Box<dyn Ask>>,
        chunks: Vec<Chunk>,
        now: Timestamp,
    ) -> Prepared {
        assert!(!self.must_settle(), "nothing is prepared beside rounds that were built on a lost one");
        assert!(!requests.iter().any(|request| self.is_busy(request.job_id)), "an order on a busy job must wait");
        self.open += 1;
        let asked: Vec<Asked> = requests.iter().map(Asked::of).collect();
        let loaded = match self.load(&asked).await {
            Ok(jobs) => self.load_objects(&asks).await.map(|objects| (jobs, objects)),
            Err(fault) => Err(fault),
        };
        let mut object_plan = ObjectPlan::default();
        let plan = loaded.map(|(jobs, objects)| {
            let mut plan = plan(jobs, requests, now);
            plan.batch.chunks = chunks;
            object_plan = object::planner::plan(objects, &mut asks, now);
            plan.batch.chunks.append(&mut object_plan.chunks);
            plan.batch.items.append(&mut object_plan.items);
            plan
        });
        if self.shared {
            self.busy.extend(asked.iter().map(|asked| asked.job_id));
        } else if let Ok(plan) = &plan {
            for (job_id, job) in &plan.jobs {
                match job {
                    Some(job) => self.cache.keep(*job_id, job.clone()),
                    None => self.cache.forget(*job_id),
                }
            }
        }
        Prepared { asked, asks: Asks { asks, plan: object_plan }, plan }
    }

    /// Joins a round with what became of its commit. Rounds are settled in the order in which they were prepared.
    pub fn settle(&mut self, prepared: Prepared, outcomes: Result<Vec<Outcome>, Fault>) -> Round {
        let Prepared { asked, asks, plan } = prepared;
        for asked in &asked {
            self.busy.remove(&asked.job_id);
        }
        let round = match plan.and_then(|plan| outcomes.map(|outcomes| (plan, outcomes))) {
            Ok((plan, mut outcomes)) => {
                let object_outcomes = outcomes.split_off(plan.item_jobs.len());
                let mut round = self.settle_plan(plan, &asked, outcomes);
                settle_asks(asks, object_outcomes, &mut round);
                round
            }
            Err(fault) => {
                // Whether the batch became durable is unknown: what is stored now must be read again.
                asked.iter().for_each(|asked| self.lose(asked.job_id));
                failed_round(&asked, asks.asks, &Arc::new(fault))
            }
        };
        self.open -= 1;
        if self.open == 0 {
            self.tainted.clear();
        }
        round
    }

    fn lose(&mut self, job_id: JobId) {
        self.cache.forget(job_id);
        if !self.shared {
            self.tainted.insert(job_id);
        }
    }

    fn settle_plan(&mut self, plan: Plan, asked: &[Asked], outcomes: Vec<Outcome>) -> Round {
        let mut lost: BTreeMap<JobId, Outcome> = BTreeMap::new();
        for asked in asked.iter().filter(|asked| self.tainted.contains(&asked.job_id)) {
            lost.insert(asked.job_id, Outcome::Conflict { actual: 0 });
        }
        for (job_id, outcome) in plan.item_jobs.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Committed { .. } => {}
                Outcome::Conflict { .. } | Outcome::Duplicate { .. } => drop(lost.insert(job_id, outcome)),
            }
        }
        lost.keys().for_each(|job_id| self.lose(*job_id));
        let answers = plan.answers.into_iter().zip(asked).map(|(answer, asked)| match lost.get(&asked.job_id) {
            None => answer.map_err(SubmitError::from),
            Some(Outcome::Duplicate { key, value }) if asked.key.as_ref() == Some(key) => {
                Err(SubmitError::Duplicate(value.clone()))
            }
            Some(_) => Err(SubmitError::Contended),
        });
        let answers = answers.collect();
        let changes = plan.changes.into_iter().map(|(job_id, change)| match lost.get(&job_id) {
            None => change,
            Some(_) => undone(change),
        });
        Round { answers, changes: changes.collect(), asks: Vec::new() }
    }

    async fn load_objects(&self, asks: &[Box<dyn Ask>]) -> Result<Loaded, Fault> {
        let entities: BTreeSet<EntityId> = asks.iter().map(|ask| ask.entity()).collect();
        let entities: Vec<EntityId> = entities.into_iter().collect();
        if entities.is_empty() {
            return Ok(Loaded::new());
        }
        let snapshots = self.store.load(&entities).await?;
        let states = entities.into_iter().zip(snapshots).map(|(entity, snapshot)| {
            let state = snapshot.map(|snapshot| object::decode(entity, &snapshot)).transpose()?;
            Ok((entity, state))
        });
        states.collect()
    }

    /// On a shared store nothing is remembered: a refusal has no item that the guard could refuse, so it must not rest
    /// on what another node has changed since.
    async fn load(&self, asked: &[Asked]) -> Result<BTreeMap<JobId, Option<Arc<Job>>>, Fault> {
        let known = asked.iter().map(|asked| (asked.job_id, self.cache.get(asked.job_id)));
        let mut jobs: BTreeMap<JobId, Option<Arc<Job>>> = known.collect();
        let missing: Vec<JobId> = jobs.iter().filter(|(_, job)| job.is_none()).map(|(id, _)| *id).collect();
        let entities: Vec<EntityId> = missing.iter().map(|id| (*id).into()).collect();
        for (id, snapshot) in missing.into_iter().zip(self.store.load(&entities).await?) {
            let job = snapshot.map(|snapshot| codec::decode_job(&snapshot.state)).transpose()?;
            jobs.insert(id, job.map(Arc::new));
        }
        Ok(jobs)
    }
}

/// Commits a batch; an empty one needs no commit.
pub async fn commit(store: &dyn Store, batch: Batch) -> Result<Vec<Outcome>, Fault> {
    if batch.items.is_empty() && batch.chunks.is_empty() { Ok(Vec::new()) } else { store.commit(batch).await }
}

/// Nothing of it happened: places go back, the wake is tried again.
fn undone(change: Change) -> Change {
    let returned =
        change.returned.into_iter().chain(change.assignments.iter().map(|assignment| assignment.place)).collect();
    Change { returned, answered: change.answered, failed: true, rank: change.rank, ..Change::of(change.entity) }
}

/// What must be undone if a request cannot be carried out.
#[derive(Debug)]
struct Asked {
    job_id: JobId,
    place: Option<Place>,
    start: Option<RunId>,
    /// The key that the order claims.
    key: Option<Vec<u8>>,
}

impl Asked {
    fn of(request: &Request) -> Asked {
        let start = match request.order.command {
            Command::Start { run_id } | Command::Broadcast { run_id, .. } => Some(run_id),
            _ => None,
        };
        Asked {
            job_id: request.job_id,
            place: request.place,
            start,
            key: request.claim.as_ref().map(|claim| claim.key.clone()),
        }
    }
}

/// Joins the asks of a round with what became of their items.
fn settle_asks(asks: Asks, outcomes: Vec<Outcome>, round: &mut Round) {
    let Asks { asks, mut plan } = asks;
    let mut lost: BTreeMap<EntityId, Outcome> = BTreeMap::new();
    for (entity, outcome) in std::mem::take(&mut plan.item_entities).into_iter().zip(outcomes) {
        match outcome {
            Outcome::Committed { .. } => {}
            Outcome::Conflict { .. } | Outcome::Duplicate { .. } => drop(lost.insert(entity, outcome)),
        }
    }
    for (ask, too_late) in asks.into_iter().zip(plan.too_late) {
        let lost = match lost.get(&ask.entity()) {
            None => too_late.then_some(Lost::Contended),
            Some(Outcome::Duplicate { key, value }) if ask.claims(key) => Some(Lost::Duplicate(value.clone())),
            Some(_) => Some(Lost::Contended),
        };
        round.asks.push(Answered { ask, lost });
    }
    let undone = |entity: &EntityId| lost.contains_key(entity);
    round.changes.extend(plan.changes.into_iter().map(|(entity, change)| match undone(&entity) {
        true => Change { failed: true, rank: change.rank, ..Change::of(entity) },
        false => change,
    }));
}

fn failed_round(asked: &[Asked], asks: Vec<Box<dyn Ask>>, fault: &Arc<Fault>) -> Round {
    let mut changes: BTreeMap<JobId, Change> = BTreeMap::new();
    for Asked { job_id, place, start, .. } in asked {
        let change = changes.entry(*job_id).or_insert_with(|| Change { failed: true, ..Change::of(*job_id) });
        change.returned.extend(*place);
        change.answered.extend(*start);
    }
    let answers = asked.iter().map(|_| Err(SubmitError::Store(fault.clone()))).collect();
    let mut changes: Vec<Change> = changes.into_values().collect();
    changes.extend(asks.iter().map(|ask| Change { failed: true, ..Change::of(ask.entity()) }));
    let asks = asks.into_iter().map(|ask| Answered { ask, lost: Some(Lost::Store(fault.clone())) }).collect();
    Round { answers, changes, asks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::job::Definition;
    use ordo_store_redb::RedbStore;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::MIN;

    fn job() -> JobId {
        JobId(Uuid::from_u128(1))
    }

    fn order(command: Command) -> Vec<Request> {
        vec![Request::new(job(), command)]
    }

    fn schedule() -> Command {
        let form = serde_json::json!({ "label": "l", "tool_name": "noop", "trigger": { "type": "manual" } });
        let definition: Definition = serde_json::from_value(form).unwrap();
        Command::Schedule { definition: Box::new(definition), held: false }
    }

    fn pause() -> Command {
        Command::Pause { reason: None }
    }

    /// Two nodes on one store.
    fn nodes() -> [Committer; 2] {
        let store: Arc<dyn Store> = Arc::new(RedbStore::in_memory().unwrap());
        [store.clone(), store].map(|store| Committer { shared: true, ..Committer::new(store) })
    }

    #[tokio::test]
    async fn on_a_shared_store_a_job_waits_for_its_open_round_and_is_read_anew() {
        let [mut one, mut two] = nodes();
        assert!(one.round(order(schedule()), Vec::new(), NOW).await.answers[0].is_ok());
        // Both decide on the same version; the other node is faster.
        let mut slow = one.prepare(order(pause()), Vec::new(), NOW).await;
        assert!(one.is_busy(job()) && !two.is_busy(job()));
        assert!(two.round(order(pause()), Vec::new(), NOW).await.answers[0].is_ok());
        let outcomes = commit(one.store().as_ref(), slow.take_batch()).await;
        let round = one.settle(slow, outcomes);
        assert!(matches!(round.answers[0], Err(SubmitError::Contended)), "{round:?}");
        assert!(!one.is_busy(job()) && !one.must_settle());
        // What it decides now rests on what the other wrote.
        let resumed = one.round(order(Command::Resume), Vec::new(), NOW).await;
        assert!(resumed.answers[0].is_ok(), "{resumed:?}");
    }

    #[tokio::test]
    async fn on_a_shared_store_nobody_is_refused_because_of_what_was_true_before() {
        let [mut one, mut two] = nodes();
        assert!(one.round(order(schedule()), Vec::new(), NOW).await.answers[0].is_ok());
        assert!(one.round(order(pause()), Vec::new(), NOW).await.answers[0].is_ok());
        assert!(two.round(order(Command::Resume), Vec::new(), NOW).await.answers[0].is_ok());
        let again = one.round(order(pause()), Vec::new(), NOW).await;
        assert!(again.answers[0].is_ok(), "it is not paused any more: {again:?}");
    }
}
