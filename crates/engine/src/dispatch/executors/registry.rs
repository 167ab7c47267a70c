//! Who is there, what waits for them and what they have: all of it in memory.
//!
//! Invariant: an attempt is in one inbox, or in the leases of one executor, never in both. Losing the roll costs what
//! is known after a restart anyway: the store says what was assignment.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_model::api_token::TokenIdentity;
use ordo_model::executor::{Offer, Speaker};
use ordo_model::limits::LEASE;
use ordo_model::{FencingToken, JobId, Millis, RunId, Timestamp};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::commit::change::StartedAttempt;
use crate::dispatch::Overdue;
use crate::run::secrets::Mask;
use crate::time::clock::Stopwatch;

#[derive(Debug, Default)]
pub(crate) struct ExecutorRegistry {
    inner: Mutex<RegistryState>,
    registering: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct RegistryState {
    members: BTreeMap<Uuid, RegisteredExecutor>,
    /// Who has which run.
    holders: BTreeMap<RunId, Uuid>,
}

#[derive(Debug)]
struct RegisteredExecutor {
    offer: Offer,
    /// The token that it belongs to; None: the admins.
    owner: Option<TokenIdentity>,
    heard: Stopwatch,
    heard_at: Timestamp,
    /// When its last heartbeat came. A poll says that it is there, and not what it has.
    beaten: Stopwatch,
    /// When it was last written down that it is there.
    written: Stopwatch,
    inbox: VecDeque<StartedAttempt>,
    leases: BTreeMap<RunId, RunLease>,
    inbox_signal: Arc<Notify>,
    draining: bool,
    /// It was asked to go, and has not yet said that it does: it stays until then, so that it does not come back as new.
    asked: bool,
}

/// An attempt that an executor has.
#[derive(Debug, Clone)]
pub(crate) struct RunLease {
    pub(crate) job_id: JobId,
    pub(crate) token: FencingToken,
    pub(crate) attempt: u32,
    pub(crate) since: Timestamp,
    renewed: Stopwatch,
    cancelling: bool,
    /// It was reported as lost; the report is under way.
    lost: bool,
    /// The last chunk of log that came, and how much text has been kept.
    log_seq: Option<u64>,
    log_bytes: usize,
    /// Covers the values of secrets that it was given.
    pub(crate) mask: Mask,
}

impl RunLease {
    pub(crate) fn new(job_id: JobId, token: FencingToken, attempt: u32, since: Timestamp) -> RunLease {
        RunLease {
            job_id,
            token,
            attempt,
            since,
            renewed: Stopwatch::start(),
            cancelling: false,
            lost: false,
            log_seq: None,
            log_bytes: 0,
            mask: Mask::default(),
        }
    }
}

/// What an executor that goes leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Left {
    pub(crate) undelivered: Vec<StartedAttempt>,
    /// What it still has in its leases.
    pub(crate) running: usize,
}

/// What a heartbeat is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pulse {
    pub(crate) cancel: Vec<RunId>,
    pub(crate) lost: Vec<RunId>,
    /// It is asked to go.
    pub(crate) drain: bool,
    /// It is time to write down that the executor is there.
    pub(crate) write: bool,
}

/// A run whose executor no longer speaks of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Silent {
    pub(crate) executor: String,
    pub(crate) job_id: JobId,
    pub(crate) run_id: RunId,
    pub(crate) token: FencingToken,
}

/// How one executor is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doing {
    pub(crate) running: usize,
    pub(crate) offered: usize,
    pub(crate) heard_at: Timestamp,
}

impl ExecutorRegistry {
    /// A turn to register: they are taken one after the other.
    pub(crate) async fn registering(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.registering.lock().await
    }

    pub(crate) fn enroll(&self, id: Uuid, offer: Offer, owner: Option<TokenIdentity>, draining: bool, now: Timestamp) {
        let member = RegisteredExecutor {
            offer,
            owner,
            heard: Stopwatch::start(),
            heard_at: now,
            beaten: Stopwatch::start(),
            written: Stopwatch::start(),
            inbox: VecDeque::new(),
            leases: BTreeMap::new(),
            inbox_signal: Arc::default(),
            draining,
            asked: false,
        };
        self.lock().members.insert(id, member);
    }

    /// Whether the executor is there, and whoever asks may speak for it.
    pub(crate) fn is_spoken_for(&self, speaker: Speaker, id: Uuid) -> bool {
        self.lock().members.get(&id).is_some_and(|member| speaker.may_speak_for(member.owner))
    }

    /// Whether an executor that whoever asks may speak for has a run of this job.
    pub(crate) fn holds_run_of(&self, speaker: Speaker, job: JobId) -> bool {
        let inner = self.lock();
        let mut theirs = inner.members.values().filter(|member| speaker.may_speak_for(member.owner));
        theirs.any(|member| member.leases.values().any(|held| held.job_id == job))
    }

    /// What it has since before this process.
    pub(crate) fn restore_lease(&self, executor: Uuid, run_id: RunId, held: RunLease) {
        let mut inner = self.lock();
        if let Some(member) = inner.members.get_mut(&executor) {
            member.leases.insert(run_id, held);
            inner.holders.insert(run_id, executor);
        }
    }

    pub(crate) fn remove(&self, id: Uuid) -> Left {
        let mut inner = self.lock();
        let Some(member) = inner.members.remove(&id) else { return Left::default() };
        inner.holders.retain(|_, holder| *holder != id);
        member.inbox_signal.notify_waiters();
        Left { undelivered: member.inbox.into(), running: member.leases.len() }
    }

    /// Puts an attempt into a inbox; gives it back if there is none.
    pub(crate) fn deliver(&self, assignment: StartedAttempt) -> Result<(), Box<StartedAttempt>> {
        let mut inner = self.lock();
        let id = assignment.executor.generation;
        let Some(member) = inner.members.get_mut(&id).filter(|member| !member.draining) else {
            return Err(Box::new(assignment));
        };
        member.inbox.push_back(assignment);
        // Also whoever comes a moment later finds it.
        member.inbox_signal.notify_one();
        Ok(())
    }

    /// Hands out what waits in the inbox. None: nobody of that name is there.
    pub(crate) fn take(&self, id: Uuid, max: usize, now: Timestamp) -> Option<Vec<StartedAttempt>> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&id)?;
        member.hear(now);
        let count = max.min(member.inbox.len());
        let taken: Vec<StartedAttempt> = member.inbox.drain(..count).collect();
        for assignment in &taken {
            let held = RunLease::new(assignment.job_id, assignment.token, assignment.attempt, now);
            member.leases.insert(assignment.run_id, held);
        }
        inner.holders.extend(taken.iter().map(|assignment| (assignment.run_id, id)));
        Some(taken)
    }

    /// What comes back of this attempt is covered by the mask.
    pub(crate) fn cover(&self, run_id: RunId, mask: Mask) {
        let mut inner = self.lock();
        let Some(holder) = inner.holders.get(&run_id).copied() else { return };
        if let Some(held) = inner.members.get_mut(&holder).and_then(|member| member.leases.get_mut(&run_id)) {
            held.mask = mask;
        }
    }

    /// What to wait on for the next inbox_signal.
    pub(crate) fn inbox_signal(&self, id: Uuid) -> Option<Arc<Notify>> {
        self.lock().members.get(&id).map(|member| member.inbox_signal.clone())
    }

    /// The executor is there and has these attempts.
    pub(crate) fn pulse(&self, id: Uuid, runs: &[(RunId, FencingToken)], now: Timestamp) -> Option<Pulse> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&id)?;
        member.hear(now);
        member.beaten = Stopwatch::start();
        let mut pulse = Pulse { drain: member.asked, ..Pulse::default() };
        for (run_id, token) in runs {
            match member.leases.get_mut(run_id).filter(|held| held.token == *token) {
                Some(held) => {
                    if !ordo_model::is_planted!(LeaseNotRenewed) {
                        held.renewed = Stopwatch::start();
                    }
                    if held.cancelling {
                        pulse.cancel.push(*run_id);
                    }
                }
                None => pulse.lost.push(*run_id),
            }
        }
        pulse.write = member.written.elapsed().ms() >= LEASE.ms() / 3;
        if pulse.write {
            member.written = Stopwatch::start();
        }
        Some(pulse)
    }

    /// The attempt is to end. One that nobody has fetched yet comes back: it need not begin.
    pub(crate) fn recall(&self, executor: Uuid, run_id: RunId) -> Option<StartedAttempt> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&executor)?;
        if let Some(held) = member.leases.get_mut(&run_id) {
            held.cancelling = true;
            return None;
        }
        member.take_from_inbox(|assignment| assignment.run_id == run_id)
    }

    /// Whether the offer was still there; it is not any more.
    pub(crate) fn withdraw(&self, overdue: &Overdue) -> Option<StartedAttempt> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&overdue.executor)?;
        member.take_from_inbox(|assignment| assignment.run_id == overdue.run_id && assignment.token == overdue.token)
    }

    /// The attempt is over.
    pub(crate) fn forget(&self, executor: Uuid, run_id: RunId, token: FencingToken) {
        let mut inner = self.lock();
        let Some(member) = inner.members.get_mut(&executor) else { return };
        member.inbox.retain(|assignment| assignment.run_id != run_id || assignment.token != token);
        if member.leases.get(&run_id).is_some_and(|held| held.token == token) {
            member.leases.remove(&run_id);
            inner.holders.remove(&run_id);
        }
    }

    /// The attempt as it is in the leases of somebody whom the speaker may speak for.
    pub(crate) fn lease_of(&self, speaker: Speaker, run_id: RunId) -> Option<RunLease> {
        let inner = self.lock();
        let holder = inner.members.get(inner.holders.get(&run_id)?)?;
        holder.leases.get(&run_id).filter(|_| speaker.may_speak_for(holder.owner)).cloned()
    }

    /// Counts a chunk of log. None: it came before; otherwise how many bytes of it are kept.
    pub(crate) fn count_log(&self, run_id: RunId, seq: u64, bytes: usize, max: usize) -> Option<usize> {
        let mut inner = self.lock();
        let holder = *inner.holders.get(&run_id)?;
        let held = inner.members.get_mut(&holder)?.leases.get_mut(&run_id)?;
        if held.log_seq.is_some_and(|last| seq <= last) {
            return None;
        }
        held.log_seq = Some(seq);
        let room = max.saturating_sub(held.log_bytes);
        held.log_bytes = held.log_bytes.saturating_add(bytes);
        Some(room)
    }

    /// From now on it gets nothing. None: it is not there.
    pub(crate) fn drain(&self, id: Uuid) -> Option<Left> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&id)?;
        member.asked = false;
        Some(member.close())
    }

    /// From now on the executor gets nothing, and its heartbeats ask it to leave. None: it is not there.
    pub(crate) fn ask_to_leave(&self, id: Uuid) -> Option<Left> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&id)?;
        member.asked = !member.draining || member.asked;
        Some(member.close())
    }

    /// Whether it was asked to go and has not yet said that it does.
    pub(crate) fn is_leaving(&self, id: Uuid) -> bool {
        self.lock().members.get(&id).is_some_and(|member| member.asked)
    }

    /// Whether nothing more will come for it.
    pub(crate) fn is_draining(&self, id: Uuid) -> bool {
        self.lock().members.get(&id).is_none_or(|member| member.draining)
    }

    /// How many attempts it has; None: it is not there.
    pub(crate) fn load(&self, id: Uuid) -> Option<Doing> {
        let inner = self.lock();
        let member = inner.members.get(&id)?;
        Some(Doing { running: member.leases.len(), offered: member.inbox.len(), heard_at: member.heard_at })
    }

    /// Whether it was heard of within its lease, by a clock that nobody sets.
    pub(crate) fn is_fresh(&self, id: Uuid) -> bool {
        self.lock().members.get(&id).is_some_and(|member| member.heard.elapsed() < LEASE)
    }

    /// Those whose lease is over, by a clock that nobody sets.
    pub(crate) fn overdue(&self) -> Vec<Uuid> {
        let inner = self.lock();
        inner.members.iter().filter(|(_, member)| member.is_overdue()).map(|(id, _)| *id).collect()
    }

    pub(crate) fn is_overdue(&self, id: Uuid) -> bool {
        self.lock().members.get(&id).is_some_and(RegisteredExecutor::is_overdue)
    }

    /// Attempts that their executor has not spoken of for the time of a lease. Each is returned once.
    pub(crate) fn silent(&self) -> Vec<Silent> {
        let mut inner = self.lock();
        let mut silent = Vec::new();
        for member in inner.members.values_mut().filter(|member| !member.is_overdue()) {
            let patience = member.patience();
            for (run_id, held) in member.leases.iter_mut().filter(|(_, held)| !held.lost) {
                if held.renewed.elapsed() >= patience {
                    held.lost = true;
                    silent.push(Silent {
                        executor: member.offer.name.clone(),
                        job_id: held.job_id,
                        run_id: *run_id,
                        token: held.token,
                    });
                }
            }
        }
        silent
    }

    /// Those who wanted to leave and have nothing left.
    pub(crate) fn drained(&self) -> Vec<Uuid> {
        let inner = self.lock();
        let idle = inner
            .members
            .iter()
            .filter(|(_, member)| member.draining && !member.asked)
            .filter(|(_, member)| member.leases.is_empty() && member.inbox.is_empty());
        idle.map(|(id, _)| *id).collect()
    }

    /// Whether anybody of the group offers the tool.
    pub(crate) fn offers(&self, group: &str, tool: &str) -> bool {
        let inner = self.lock();
        inner
            .members
            .values()
            .any(|member| !member.draining && member.offer.group == group && member.offer.tools.contains(tool))
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegisteredExecutor {
    fn is_overdue(&self) -> bool {
        self.heard.elapsed() >= LEASE
    }

    /// How long an attempt may go unspoken of. One whose heartbeats stay away may be frozen with its poll still open:
    /// until it is known whether it is lost, what it has is not tried again, least of all by itself.
    fn patience(&self) -> Millis {
        if self.beaten.elapsed() < LEASE { LEASE } else { LEASE.saturating_mul(2) }
    }

    fn hear(&mut self, now: Timestamp) {
        ordo_model::planted!(ExecutorNotHeard, return);
        self.heard = Stopwatch::start();
        self.heard_at = now;
    }

    /// Nothing more is put into the inbox, and what stood in it comes back.
    fn close(&mut self) -> Left {
        self.draining = true;
        self.inbox_signal.notify_waiters();
        self.inbox_signal.notify_one();
        Left { undelivered: std::mem::take(&mut self.inbox).into(), running: self.leases.len() }
    }

    fn take_from_inbox(&mut self, wanted: impl Fn(&StartedAttempt) -> bool) -> Option<StartedAttempt> {
        let place = self.inbox.iter().position(wanted)?;
        self.inbox.remove(place)
    }
}

#[cfg(test)]
mod tests {
    use ordo_model::executor::Speaker;

    use super::*;

    const RUN: RunId = RunId(Uuid::from_u128(7));
    const NOW: Timestamp = Timestamp::MIN;

    /// An executor with one attempt; what it did last was so many seconds ago: heartbeat, anything, renewal of the lease.
    fn with_one_run(beaten: u64, heard: u64, renewed: u64) -> (ExecutorRegistry, Uuid) {
        let (registry, id) = (ExecutorRegistry::default(), Uuid::from_u128(1));
        let offer =
            Offer { name: "a".into(), group: "g".into(), tools: ["t".to_owned()].into(), capacity: 1, version: None };
        registry.enroll(id, offer, None, false, NOW);
        let mut lease = RunLease::new(JobId(Uuid::from_u128(3)), FencingToken(1), 1, NOW);
        lease.renewed = Stopwatch::started_ago(Millis::from_secs(renewed));
        registry.restore_lease(id, RUN, lease);
        let mut inner = registry.lock();
        let member = inner.members.get_mut(&id).unwrap();
        member.heard = Stopwatch::started_ago(Millis::from_secs(heard));
        member.beaten = Stopwatch::started_ago(Millis::from_secs(beaten));
        drop(inner);
        (registry, id)
    }

    #[test]
    fn a_run_that_heartbeats_do_not_name_for_a_lease_is_silent_once() {
        let (registry, id) = with_one_run(1, 1, 15);
        assert_eq!(registry.silent().len(), 1);
        assert!(registry.silent().is_empty());
        assert!(!registry.is_overdue(id));
        assert!(registry.lease_of(Speaker::Admin, RUN).is_some(), "its report is still taken until it is settled");
    }

    #[test]
    fn the_runs_of_a_frozen_executor_wait_until_the_executor_is_lost() {
        let (registry, id) = with_one_run(15, 14, 15);
        assert!(registry.silent().is_empty(), "its last sign was a poll: it may be frozen");
        assert!(!registry.is_overdue(id));
        let (registry, id) = with_one_run(16, 15, 16);
        assert!(registry.silent().is_empty());
        assert!(registry.is_overdue(id), "now it is lost as a whole");
        assert_eq!(registry.overdue(), [id]);
    }

    #[test]
    fn an_executor_that_polls_and_never_beats_does_not_keep_its_runs() {
        let (registry, _) = with_one_run(40, 1, 30);
        assert_eq!(registry.silent().len(), 1);
    }
}
