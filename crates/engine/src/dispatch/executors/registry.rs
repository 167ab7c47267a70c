//! Who is there, what waits for them and what they have: all of it in memory.
//!
//! Invariant: an attempt is in one inbox, or in the leases of one executor, never in both. Losing the roll costs what
//! is known after a restart anyway: the store says what was assignment.

mod leaving;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ordo_model::api_token::TokenIdentity;
use ordo_model::executor::{Offer, Speaker};
use ordo_model::limits::{CONFIRM_AFTER, LEASE};
use ordo_model::{FencingToken, JobId, Millis, RunId, Timestamp};
use uuid::Uuid;

use super::held::HeldAttempt;
use super::run_lease::{LeaseStage, RunLease};
use crate::cluster::ElsewhereExecutor;
use crate::commit::change::StartedAttempt;
use crate::dispatch::Overdue;
use crate::run::secrets::Mask;
use crate::sync::{Mutex, MutexGuard, Notify, PoisonError};
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
    /// The executors of other nodes.
    elsewhere: Vec<ElsewhereExecutor>,
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
    /// A poll was answered since nothing more comes. The one that crossed the goodbye is not held.
    heard_that_it_drains: bool,
}

/// What a poll is answered.
#[derive(Debug, Default)]
pub(crate) struct HandOut {
    pub(crate) attempts: Vec<StartedAttempt>,
    /// Attempts to end.
    pub(crate) cancel: Vec<RunId>,
    /// The attempts are begun only after the executor has named them in a heartbeat.
    pub(crate) confirm: bool,
}

impl HandOut {
    pub(crate) fn is_empty(&self) -> bool {
        self.attempts.is_empty() && self.cancel.is_empty()
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
    /// Attempts that the executor is now known to have.
    pub(crate) confirmed: Vec<(RunId, FencingToken)>,
}

/// A run whose executor no longer speaks of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Silent {
    pub(crate) executor: String,
    pub(crate) job_id: JobId,
    pub(crate) run_id: RunId,
    pub(crate) token: FencingToken,
}

/// An attempt that an executor of this node has or is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeasedAttempt {
    pub(crate) job_id: JobId,
    pub(crate) run_id: RunId,
    pub(crate) token: FencingToken,
    pub(crate) is_ending: bool,
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
        self.enroll_with(id, offer, owner, draining, Vec::new(), now);
    }

    /// The same, with what it has since before.
    pub(crate) fn enroll_with(
        &self,
        id: Uuid,
        offer: Offer,
        owner: Option<TokenIdentity>,
        draining: bool,
        leases: Vec<(RunId, RunLease)>,
        now: Timestamp,
    ) {
        let member = RegisteredExecutor {
            offer,
            owner,
            heard: Stopwatch::start(),
            heard_at: now,
            beaten: Stopwatch::start(),
            written: Stopwatch::start(),
            inbox: VecDeque::new(),
            leases: leases.into_iter().collect(),
            inbox_signal: Arc::default(),
            draining,
            asked: false,
            heard_that_it_drains: false,
        };
        let mut inner = self.lock();
        inner.holders.extend(member.leases.keys().map(|run_id| (*run_id, id)));
        inner.members.insert(id, member);
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
        member.wake_polls();
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

    /// The executor asks for work. None: nobody of that name is there.
    pub(crate) fn hear(&self, id: Uuid, now: Timestamp) -> Option<()> {
        self.lock().members.get_mut(&id).map(|member| member.hear(now))
    }

    /// Hands out what waits in the inbox, and says what is to end. An executor that `confirms` and has not been heard of
    /// just now may be frozen: what it is sent is its own only when it says so. None: nobody of that name is there.
    pub(crate) fn take(&self, id: Uuid, max: usize, confirms: bool, now: Timestamp) -> Option<HandOut> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&id)?;
        let confirm = confirms && member.heard.elapsed() >= CONFIRM_AFTER;
        let stage = if confirm { LeaseStage::Sent } else { LeaseStage::Taken };
        let count = max.min(member.inbox.len());
        let attempts: Vec<StartedAttempt> = member.inbox.drain(..count).collect();
        for attempt in &attempts {
            let held = RunLease::new(attempt.job_id, attempt.token, attempt.attempt, now);
            member.leases.insert(attempt.run_id, RunLease { stage, ..held });
        }
        let cancel = member.unsent_cancels();
        inner.holders.extend(attempts.iter().map(|attempt| (attempt.run_id, id)));
        Some(HandOut { attempts, cancel, confirm })
    }

    /// What comes back of this attempt is covered by the mask.
    pub(crate) fn cover(&self, run_id: RunId, mask: Mask) {
        let mut inner = self.lock();
        let Some(holder) = inner.holders.get(&run_id).copied() else { return };
        if let Some(held) = inner.members.get_mut(&holder).and_then(|member| member.leases.get_mut(&run_id)) {
            held.mask = mask;
        }
    }

    /// The same as soon as there is something, or the executor is to hear that nothing more comes. May be given up at any time:
    /// what was taken is returned at once.
    pub(crate) async fn take_next(
        &self,
        id: Uuid,
        max: usize,
        confirms: bool,
        now: impl Fn() -> Timestamp,
    ) -> Option<HandOut> {
        let inbox_signal = self.lock().members.get(&id)?.inbox_signal.clone();
        // Whoever leaves hears by its next poll only of what is to end.
        let knows_that_it_drains = self.knows_that_it_drains(id);
        loop {
            let taken = self.take(id, max, confirms, now())?;
            if !taken.is_empty() || (self.is_draining(id) && !knows_that_it_drains) {
                return Some(taken);
            }
            inbox_signal.notified().await;
        }
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
                    if held.stage == LeaseStage::Sent {
                        held.stage = LeaseStage::Taken;
                        pulse.confirmed.push((*run_id, *token));
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
            // The open poll brings it.
            member.inbox_signal.notify_one();
            return None;
        }
        member.take_from_inbox(|assignment| assignment.run_id == run_id)
    }

    /// Takes an offer back, unless the executor is known to have it. Returns the name of the executor if it was there.
    pub(crate) fn withdraw(&self, overdue: &Overdue) -> Option<String> {
        let Overdue { executor, run_id, token, .. } = overdue;
        let mut inner = self.lock();
        let member = inner.members.get_mut(executor)?;
        let is_sent = |held: &RunLease| held.token == *token && held.stage == LeaseStage::Sent;
        if member.leases.get(run_id).is_some_and(is_sent) {
            member.leases.remove(run_id);
            let name = member.offer.name.clone();
            inner.holders.remove(run_id);
            return Some(name);
        }
        let offered = member.take_from_inbox(|offered| offered.run_id == *run_id && offered.token == *token);
        offered.map(|_| member.offer.name.clone())
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

    /// The same for whoever has it: its report is durable.
    pub(crate) fn reported(&self, run_id: RunId, token: FencingToken) {
        let holder = self.lock().holders.get(&run_id).copied();
        if let Some(holder) = holder {
            self.forget(holder, run_id, token);
        }
    }

    /// The attempt as it is in the leases of somebody whom the speaker may speak for.
    pub(crate) fn lease_of(&self, speaker: Speaker, run_id: RunId) -> Option<RunLease> {
        let inner = self.lock();
        let holder = inner.members.get(inner.holders.get(&run_id)?)?;
        holder.leases.get(&run_id).filter(|_| speaker.may_speak_for(holder.owner)).cloned()
    }

    /// What an executor has.
    pub(crate) fn held_by(&self, id: Uuid) -> Vec<HeldAttempt> {
        let inner = self.lock();
        let leases = inner.members.get(&id).into_iter().flat_map(|member| &member.leases);
        let held = leases.map(|(run_id, lease)| HeldAttempt {
            run_id: *run_id,
            job_id: lease.job_id,
            token: lease.token,
            attempt: lease.attempt,
            since: lease.since,
        });
        held.collect()
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

    /// All that are with this node.
    pub(crate) fn ids(&self) -> BTreeSet<Uuid> {
        self.lock().members.keys().copied().collect()
    }

    /// How many attempts it has; None: it is not there.
    pub(crate) fn load(&self, id: Uuid) -> Option<Doing> {
        let inner = self.lock();
        let member = inner.members.get(&id)?;
        Some(Doing { running: member.leases.len(), offered: member.inbox.len(), heard_at: member.heard_at })
    }

    /// How long ago it was heard of, by a clock that nobody sets, if that is within its lease.
    pub(crate) fn silence(&self, id: Uuid) -> Option<Millis> {
        self.lock().members.get(&id).map(|member| member.heard.elapsed()).filter(|silence| *silence < LEASE)
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

    /// Whether anybody of the group offers the tool, here or with another node.
    pub(crate) fn offers(&self, group: &str, tool: &str) -> bool {
        let inner = self.lock();
        let mut here = inner.members.values().filter(|member| !member.draining).map(|member| &member.offer);
        here.any(|offer| offer.group == group && offer.tools.contains(tool))
            || inner.elsewhere.iter().any(|other| other.group == group && other.tools.contains(tool))
    }

    pub(crate) fn set_elsewhere(&self, elsewhere: Vec<ElsewhereExecutor>) {
        self.lock().elsewhere = elsewhere;
    }

    /// All attempts that executors of this node have or are offered, and whether they know that it is to end.
    pub(crate) fn attempts(&self) -> Vec<LeasedAttempt> {
        let inner = self.lock();
        let leased = |member: &RegisteredExecutor| {
            let held = member.leases.iter().map(|(run_id, held)| LeasedAttempt {
                job_id: held.job_id,
                run_id: *run_id,
                token: held.token,
                is_ending: held.cancelling,
            });
            let offered = member.inbox.iter().map(|offered| LeasedAttempt {
                job_id: offered.job_id,
                run_id: offered.run_id,
                token: offered.token,
                is_ending: false,
            });
            held.chain(offered).collect::<Vec<_>>()
        };
        inner.members.values().flat_map(leased).collect()
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

    /// What is to end and was not yet said by a poll.
    fn unsent_cancels(&mut self) -> Vec<RunId> {
        let unsent = self.leases.iter_mut().filter(|(_, held)| held.cancelling && !held.cancel_sent);
        unsent
            .map(|(run_id, held)| {
                held.cancel_sent = true;
                *run_id
            })
            .collect()
    }

    fn hear(&mut self, now: Timestamp) {
        ordo_model::planted!(ExecutorNotHeard, return);
        self.heard = Stopwatch::start();
        self.heard_at = now;
    }

    fn take_from_inbox(&mut self, wanted: impl Fn(&StartedAttempt) -> bool) -> Option<StartedAttempt> {
        let place = self.inbox.iter().position(wanted)?;
        self.inbox.remove(place)
    }
}

#[cfg(all(test, shuttle))]
mod races;
#[cfg(test)]
mod tests;
