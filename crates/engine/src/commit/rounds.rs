//! Rounds: commands gather while the store writes, are decided together, and are settled when their commit came back.
//!
//! A synchronous state machine that the tokio shell (`batcher`) and the simulator drive alike: `push`, `gather`, `plan`,
//! `settle`. Invariant: nobody hears yes before the commit is durable. Rounds are settled in the order in which they were
//! planned. A round may be planned while earlier ones are under way: it builds on what those will leave behind, and if an
//! earlier one is lost, the guard of the commit, or `tainted`, refuses what was built on it.

mod settling;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{EntityId, Millis, Moment, Timestamp};
use ordo_store::{Batch, Chunk, CommitOutcome, Fault, Snapshot, Store};
use tokio::sync::oneshot;

use super::cache::Cache;
use super::change::Change;
use super::command::{Announcements, Lost, Submission};
use super::deferred::Deferred;
use super::job_command::Request;
use super::kinds;
use super::planner::{RoundPlan, States, plan};
use crate::read::change_hint::ChangeHint;
use crate::read::metrics::Metrics;

/// How many commands one round takes at most, in front of a store of our own: while it is written, the next one is decided,
/// also of commands that came together.
const ROUND_MAX: usize = 128;
/// How many rounds may be on their way to a store of our own. Those that wait while another is being written become one
/// commit; whatever else comes waits, and goes together.
const ROUNDS_MAX: usize = 4;
/// The same where a round trip lies between us and the store.
const SHARED_ROUND_MAX: usize = 1_024;
const SHARED_ROUNDS_MAX: usize = 16;
/// How many commands a round must have to be decided while another one is being written to a store of our own. Deciding
/// many of them takes as long as a sync, and goes on beside it; a few are better off in one commit with those that come
/// before the writer is free.
const AHEAD_MIN: usize = 32;
/// How often a command is decided anew because another node was faster.
pub(crate) const CONTENTION_MAX: u32 = 16;
/// The same for reports and commands with a key. Of those that share a round with keys that are taken, each round settles
/// one, and a round has no more than this.
pub(crate) const KEY_CONTENTION_MAX: u32 = SHARED_ROUND_MAX as u32;
/// So many commands do not wait for others to come along, however patient they are.
const PATIENT_MAX: usize = 64;

pub(crate) type ChunkReply = oneshot::Sender<Result<(), Arc<Fault>>>;

#[derive(Debug)]
pub struct Rounds {
    queue: VecDeque<Submission>,
    /// Commands on entities of rounds that are under way, where such an entity must wait; in the order they came.
    held: VecDeque<Submission>,
    deferred: Deferred,
    chunks: Vec<Chunk>,
    chunk_replies: Vec<ChunkReply>,
    cache: Cache,
    /// On a store that others write to as well: jobs with an attempt under way, as this node left them. The report of the
    /// attempt is decided on them.
    under_way: Cache,
    /// How many rounds are planned and not yet settled.
    open: usize,
    /// Entities whose round was lost while later rounds were open.
    tainted: BTreeSet<EntityId>,
    /// Entities that must wait for an open round: on a store that others write to as well all of them, otherwise those
    /// that end with it.
    busy: BTreeSet<EntityId>,
    is_shared: bool,
    has_tables: bool,
    /// See [`AHEAD_MIN`].
    ahead_min: usize,
    /// Within which time what waits in an outbox is looked at.
    flush_delay: Millis,
    metrics: Arc<Metrics>,
}

/// A round before it is decided, and what must be read for that.
pub struct Gathered {
    submissions: Vec<Submission>,
    chunks: Vec<Chunk>,
    chunk_replies: Vec<ChunkReply>,
    known: States,
    /// Entities whose snapshots are wanted.
    pub missing: Vec<EntityId>,
    /// Keys of commands that lost once: one round reports one key that was used before; looking for the others spares
    /// each of them a round of its own.
    pub keys: Vec<Vec<u8>>,
    /// Entities whose state others may have changed since.
    remembered: BTreeSet<EntityId>,
    has_deferred: bool,
}

/// What was read for a round.
#[derive(Debug, Default)]
pub struct Loaded {
    /// One for each missing entity, in order.
    pub snapshots: Vec<Option<Snapshot>>,
    /// Keys that are taken, with what stands under them.
    pub taken: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A round on its way to the store.
#[derive(Debug)]
pub struct Flight {
    submissions: Vec<Submission>,
    chunk_replies: Vec<ChunkReply>,
    has_deferred: bool,
    /// Entities that must wait until it is settled.
    holds: Vec<EntityId>,
    /// Entities whose state others may have changed since: what leads to no item, so that no guard looks at it, is decided anew.
    remembered: BTreeSet<EntityId>,
    plan: Result<RoundPlan, Fault>,
}

impl std::fmt::Debug for Gathered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gathered").field("submissions", &self.submissions).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RoundPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoundPlan").field("items", &self.item_entities).finish_non_exhaustive()
    }
}

impl Flight {
    /// What is to be committed; to be taken once.
    pub fn take_batch(&mut self) -> Batch {
        self.plan.as_mut().map(|plan| std::mem::take(&mut plan.batch)).unwrap_or_default()
    }

    /// How many commands it carries.
    pub fn len(&self) -> usize {
        self.submissions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.submissions.is_empty()
    }
}

/// What came of a round, for the engine to act on.
#[derive(Debug, Default)]
pub struct Settled {
    pub changes: Vec<Change>,
    pub hints: Vec<ChangeHint>,
    /// The store failed.
    pub fault: Option<Arc<Fault>>,
}

impl Rounds {
    pub fn new(is_shared: bool, flush_delay: Millis, metrics: Arc<Metrics>) -> Rounds {
        Rounds {
            queue: VecDeque::new(),
            held: VecDeque::new(),
            deferred: Deferred::default(),
            chunks: Vec::new(),
            chunk_replies: Vec::new(),
            cache: Cache::default(),
            under_way: Cache::default(),
            open: 0,
            tainted: BTreeSet::new(),
            busy: BTreeSet::new(),
            is_shared,
            has_tables: false,
            ahead_min: AHEAD_MIN,
            flush_delay,
            metrics,
        }
    }

    /// Whether the store shows rows in tables, so that they are written with their columns.
    #[must_use]
    pub fn with_tables(self, has_tables: bool) -> Rounds {
        Rounds { has_tables, ..self }
    }

    /// The same, deciding a round ahead as soon as so many commands wait: with 1, rounds overlap as much as they can.
    #[must_use]
    pub fn deciding_ahead_from(self, commands: usize) -> Rounds {
        Rounds { ahead_min: commands, ..self }
    }

    pub fn push(&mut self, submission: Submission) {
        self.queue.push_back(submission);
    }

    pub(crate) fn push_chunks(&mut self, chunks: Vec<Chunk>, reply: ChunkReply) {
        self.chunks.extend(chunks);
        self.chunk_replies.push(reply);
    }

    /// Nothing waits and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.open == 0 && !self.has_waiting()
    }

    /// Whether anything waits to be decided.
    pub fn has_waiting(&self) -> bool {
        !self.queue.is_empty() || !self.held.is_empty() || !self.deferred.is_empty() || !self.chunk_replies.is_empty()
    }

    /// Whether what waits may as well wait a moment for others to come along: a few commands of the engine's own, in front of
    /// a store where each commit costs a trip and a sync of everybody's log.
    pub(crate) fn is_patient(&self) -> bool {
        self.is_shared
            && self.has_waiting()
            && self.queue.len() < PATIENT_MAX
            && self.chunk_replies.is_empty()
            && self.queue.iter().all(|submission| submission.command.can_wait())
    }

    /// Whether enough waits to be decided while a round is being written.
    pub fn has_another(&self) -> bool {
        self.queue.len() >= self.ahead_min
    }

    /// The next round, if there is one and it may be planned now.
    pub fn gather(&mut self) -> Option<Gathered> {
        let most = if self.is_shared { SHARED_ROUNDS_MAX } else { ROUNDS_MAX };
        // After a loss nothing is planned until all that was built on it is settled: what is read from the store
        // meanwhile may come to have the same version as what is being written, and the guard of the commit, which
        // compares versions only, would take one for the other. On a shared store no round builds on an open one.
        if self.open >= most || !self.tainted.is_empty() || self.is_better_off_waiting() {
            return None;
        }
        let mut submissions = self.take_ready();
        let part = self.deferred.part();
        let has_deferred = part.is_some();
        submissions.extend(part.into_iter().flatten());
        if submissions.is_empty() && self.chunk_replies.is_empty() {
            return None;
        }
        self.open += 1;
        let mut known: States = entities_of(&submissions).map(|entity| (entity, self.cache.get(entity))).collect();
        let remembered = self.remember_under_way(&mut known, &submissions);
        let missing = self.missing(&known, &submissions);
        let lost_before = submissions.iter().filter(|submission| submission.tries > 0);
        let keys = lost_before.flat_map(|submission| submission.command.keys()).map(<[u8]>::to_vec).collect();
        let (chunks, chunk_replies) = (std::mem::take(&mut self.chunks), std::mem::take(&mut self.chunk_replies));
        Some(Gathered { submissions, chunks, chunk_replies, known, missing, keys, remembered, has_deferred })
    }

    /// Where others write to the store too, only what can be decided anew may be decided on what this node remembers: reports,
    /// on their first try. They are half of all commands, and their jobs were written here a moment ago.
    fn remember_under_way(&self, known: &mut States, submissions: &[Submission]) -> BTreeSet<EntityId> {
        let mut remembered = BTreeSet::new();
        if !self.is_shared {
            return remembered;
        }
        let needs_look = |submission: &&Submission| submission.tries > 0 || !submission.command.is_report();
        let looked_at: BTreeSet<EntityId> =
            submissions.iter().filter(needs_look).map(|submission| submission.command.entity()).collect();
        for (entity, state) in known.iter_mut().filter(|(entity, _)| !looked_at.contains(entity)) {
            if let Some(kept) = self.under_way.get(*entity) {
                *state = Some(kept);
                remembered.insert(*entity);
            }
        }
        remembered
    }

    /// The entities whose snapshots are wanted. Where a round trip lies between us and the store, none is made for what is
    /// only now brought into being: if it is there after all, the guard of the commit says so, and the next try reads it.
    fn missing(&self, known: &States, submissions: &[Submission]) -> Vec<EntityId> {
        let unknown = known.iter().filter(|(_, state)| state.is_none()).map(|(entity, _)| *entity);
        if !self.is_shared {
            return unknown.collect();
        }
        let mut firsts: BTreeMap<EntityId, &Submission> = BTreeMap::new();
        for submission in submissions {
            firsts.entry(submission.command.entity()).or_insert(submission);
        }
        let is_new = |first: &&Submission| first.tries == 0 && first.command.creates();
        unknown.filter(|entity| !firsts.get(entity).is_some_and(is_new)).collect()
    }

    /// Too little waits for a commit of its own while the writer is busy.
    fn is_better_off_waiting(&self) -> bool {
        !self.is_shared && self.open > 0 && !self.has_another()
    }

    /// Takes what may be decided now. All commands on a busy entity wait, so that they keep their order; commands of
    /// slow jobs give way to all others.
    fn take_ready(&mut self) -> Vec<Submission> {
        let mut ready = Vec::new();
        let most = if self.is_shared { SHARED_ROUND_MAX } else { ROUND_MAX };
        while ready.len() < most
            && let Some(submission) = self.queue.pop_front()
        {
            let entity = submission.command.entity();
            if self.busy.contains(&entity) {
                self.held.push_back(submission);
            } else if submission.command.can_wait() && self.cache.get(entity).is_some_and(|state| state.is_slow()) {
                self.deferred.push(submission);
            } else {
                ready.push(submission);
            }
        }
        ready
    }

    /// Decides a round.
    pub fn plan(&mut self, gathered: Gathered, loaded: Result<Loaded, Fault>, now: impl Into<Moment>) -> Flight {
        let now = now.into();
        let Gathered { mut submissions, chunks, chunk_replies, known, missing, keys: _, remembered, has_deferred } =
            gathered;
        let entities = known.iter().map(|(entity, _)| *entity);
        let holds_if_shared: Vec<EntityId> = entities.filter(|_| self.is_shared).collect();
        let loaded = loaded.and_then(|loaded| Ok((complete(known, missing, loaded.snapshots)?, loaded.taken)));
        let plan = loaded.map(|(states, taken)| {
            self.answer_duplicates(&mut submissions, &taken);
            let mut plan = plan(states, &mut submissions, now, self.is_shared, self.has_tables, self.flush_delay);
            plan.batch.chunks.extend(chunks);
            plan
        });
        let holds = match &plan {
            Ok(plan) if !self.is_shared => self.remember(&plan.states),
            Ok(_) | Err(_) => holds_if_shared,
        };
        self.busy.extend(&holds);
        Flight { submissions, chunk_replies, has_deferred, holds, remembered, plan }
    }

    fn answer_duplicates(&mut self, submissions: &mut Vec<Submission>, taken: &BTreeMap<Vec<u8>, Vec<u8>>) {
        if taken.is_empty() {
            return;
        }
        let value =
            |submission: &Submission| submission.command.keys().into_iter().find_map(|key| taken.get(key)).cloned();
        for duplicate in submissions.extract_if(.., |submission| submission.tries > 0 && value(submission).is_some()) {
            let lost = value(&duplicate).map(Lost::Duplicate);
            duplicate.command.settle(lost, &mut Announcements { metrics: &self.metrics, hints: &mut Vec::new() });
        }
    }

    /// Keeps what the round leaves behind. Returns what ends with it: that may still be read from the store until the
    /// round is settled.
    fn remember(&mut self, states: &States) -> Vec<EntityId> {
        let mut ended = Vec::new();
        for (entity, state) in states {
            match state {
                Some(state) => self.cache.keep(*entity, state.clone()),
                None => {
                    self.cache.forget(*entity);
                    ended.push(*entity);
                }
            }
        }
        ended
    }

    /// Answers all that waits: nothing more is decided.
    pub(crate) fn refuse_all(&mut self) {
        let waiting = self.queue.drain(..).chain(self.held.drain(..)).chain(self.deferred.drain());
        for submission in waiting {
            let mut announce = Announcements { metrics: &self.metrics, hints: &mut Vec::new() };
            submission.command.settle(Some(Lost::Stopped), &mut announce);
        }
        for reply in self.chunk_replies.drain(..) {
            let stopped = Fault::Held { what: "Ordo is shutting down".into() };
            drop(reply.send(Err(Arc::new(stopped))));
        }
    }
}

/// Commits a batch; an empty one needs no commit.
pub async fn commit(store: &dyn Store, batch: Batch) -> Result<Vec<CommitOutcome>, Fault> {
    if batch.is_empty() { Ok(Vec::new()) } else { store.commit(batch).await }
}

/// Reads what a round needs. On a shared store nothing is remembered: a refusal has no item that the guard could refuse,
/// so it must not rest on what another node has changed since.
pub async fn load(store: &dyn Store, gathered: &Gathered, now: Timestamp) -> Result<Loaded, Fault> {
    let mut loaded = Loaded::default();
    if !gathered.missing.is_empty() {
        loaded.snapshots = store.load(&gathered.missing).await?;
    }
    for key in &gathered.keys {
        // A store that cannot be read is found out by the commit.
        if let Ok(Some(value)) = store.dedup(key, now).await {
            loaded.taken.insert(key.clone(), value);
        }
    }
    Ok(loaded)
}

/// What was known, with what was missing of it as it was read; both in the order of their ids.
fn complete(mut known: States, missing: Vec<EntityId>, snapshots: Vec<Option<Snapshot>>) -> Result<States, Fault> {
    let mut unknown = known.iter_mut().filter(|(_, state)| state.is_none());
    for (entity, snapshot) in missing.into_iter().zip(snapshots) {
        let state = unknown.by_ref().find(|(known, _)| *known == entity);
        if let (Some((_, state)), Some(snapshot)) = (state, snapshot) {
            *state = Some(kinds::decode(entity, &snapshot)?);
        }
    }
    Ok(known)
}

/// Each entity once, in the order of their ids.
fn entities_of(submissions: &[Submission]) -> impl Iterator<Item = EntityId> + use<> {
    let mut entities: Vec<EntityId> = submissions.iter().map(|submission| submission.command.entity()).collect();
    entities.sort_unstable();
    entities.dedup();
    entities.into_iter()
}

/// The batch that these commands on new jobs make, for a bare loop that has no engine around it, on a store with tables or
/// without.
pub fn batch_of(requests: Vec<Request>, now: Timestamp, has_tables: bool) -> Batch {
    let mut submissions: Vec<Submission> = requests.into_iter().map(Request::unanswered).collect();
    let states = entities_of(&submissions).map(|entity| (entity, None)).collect();
    plan(states, &mut submissions, now.into(), false, has_tables, OUTBOX_FLUSH_DELAY).batch
}

#[cfg(test)]
mod tests;
