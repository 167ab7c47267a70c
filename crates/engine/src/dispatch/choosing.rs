//! Which waiting run goes next, and where.
//!
//! Invariant: over all queues the run whose turn it is goes first; one that must wait for something special is put
//! aside and keeps nobody waiting.

use std::collections::BTreeSet;

use ordo_model::job::{Command, Routing, SlotReservation};
use ordo_model::limits::{LEASE, OFFER};
use ordo_model::routing::{Candidate, Choice, RoutingRequest, SharedRequest, choose, choose_shared};
use ordo_model::{Incarnation, JobId, Millis, Timestamp};
use uuid::Uuid;

use super::dispatcher::{Dispatcher, Starting};
use super::keys::KeyVerdict;
use super::nodes::{ElsewhereSlots, LeaveKind};
use super::parking::Blocker;
use super::requirements::{QueueName, Rate, Requirements};
use crate::commit::change::{SlotLocation, WaitingRun};

/// A run that is to begin.
#[derive(Debug, Clone)]
pub struct RunStart {
    pub job_id: JobId,
    pub command: Command,
    /// None for a run that goes to all.
    pub reservation: Option<(SlotReservation, SlotLocation)>,
}

/// Where a run goes.
enum Destination {
    /// Nobody of its queue has a free slot.
    Nobody,
    /// It is decided when it has been found out how the executors of other nodes are doing.
    KnownLater,
    /// To this executor, when it has a free slot.
    Awaited(Uuid),
    /// To this executor of another node, which starts it.
    Elsewhere(Uuid),
    /// To this executor of this node; so long it may take to accept it.
    Here { executor: Uuid, patience: Millis },
    /// To each of them, a share.
    Everybody(Vec<Incarnation>),
}

impl Dispatcher {
    /// Waiting runs for which there is a place now.
    pub fn take_startable(&mut self, now: Timestamp) -> Vec<RunStart> {
        let mut starts = Vec::new();
        let mut closed: BTreeSet<QueueName> = BTreeSet::new();
        if self.stopped || self.resting {
            return starts;
        }
        while let Some(name) = self.next_queue(&closed) {
            let Some(waiting) = self.queues.get_mut(&name).and_then(|queue| queue.runs.pop_first()) else { break };
            match self.dispatch(waiting, now) {
                Ok(start) => starts.extend(start),
                Err(waiting) => {
                    if let Some(queue) = self.queues.get_mut(&name) {
                        queue.runs.insert(waiting);
                    }
                    closed.insert(name);
                }
            }
        }
        starts
    }

    /// The queue with the run whose turn it is.
    fn next_queue(&self, closed: &BTreeSet<QueueName>) -> Option<QueueName> {
        let open = self.queues.iter().filter(|(name, queue)| !queue.runs.is_empty() && !closed.contains(*name));
        let heads = open.filter_map(|(name, queue)| Some((queue.runs.first()?, name)));
        heads.min_by_key(|(head, _)| *head).map(|(_, name)| name.clone())
    }

    /// Starts the run or puts it aside; gives it back if nobody of its queue has a free slot.
    fn dispatch(&mut self, waiting: WaitingRun, now: Timestamp) -> Result<Option<RunStart>, WaitingRun> {
        if let Some(blocker) = self.blocker(&waiting, now) {
            self.park(blocker, waiting);
            return Ok(None);
        }
        match self.destination(&waiting, now) {
            Destination::Nobody => return Err(waiting),
            Destination::KnownLater => {
                let next = self.roll_calls.want();
                self.park(next, waiting);
            }
            Destination::Awaited(executor) => self.park(Blocker::Executor(executor), waiting),
            Destination::Elsewhere(executor) => self.leave_to(executor, &waiting, now),
            Destination::Here { executor, patience } => {
                return Ok(Some(self.start_at(executor, &waiting, patience, now)));
            }
            Destination::Everybody(executors) => return Ok(Some(self.start_at_all(executors, &waiting))),
        }
        Ok(None)
    }

    /// What keeps the run from beginning, whoever would have it.
    fn blocker(&mut self, waiting: &WaitingRun, now: Timestamp) -> Option<Blocker> {
        match self.keys.judge(&waiting.requirements.terms, now) {
            KeyVerdict::Busy(key) => Some(Blocker::Key(key)),
            KeyVerdict::Until(key, at) => {
                self.parking.wake_at(Blocker::Rate(key.clone()), at);
                Some(Blocker::Rate(key))
            }
            KeyVerdict::Free if self.must_be_called(waiting) => Some(self.roll_calls.want()),
            KeyVerdict::Free => None,
        }
    }

    /// Every node finds out for itself which one of all executors gets a run. One that is elsewhere is given it there.
    fn destination(&mut self, waiting: &WaitingRun, now: Timestamp) -> Destination {
        let Requirements { queue, terms } = waiting.requirements.as_ref();
        if terms.meant_for.is_some() || !terms.routing.may_choose() {
            return self.for_one_of_all(waiting, now);
        }
        if self.is_for_any_node(waiting, now) {
            return self.for_any_of_all(waiting, now);
        }
        let candidates = self.candidates(queue, now);
        let choice = choose(terms.routing, &candidates, self.request(waiting));
        self.resolved(waiting, &candidates, choice)
    }

    /// The strategy names one, whether it has a free slot or not; or the share of a broadcast does.
    fn for_one_of_all(&self, waiting: &WaitingRun, now: Timestamp) -> Destination {
        let Requirements { queue, terms } = waiting.requirements.as_ref();
        let mut candidates = self.candidates(queue, now);
        candidates.extend(self.others(queue).map(ElsewhereSlots::as_full));
        self.put_in_order(&mut candidates);
        let meant_for = terms.meant_for.and_then(|id| candidates.iter().position(|one| one.id == id));
        if let Some(place) = meant_for {
            let choice = if candidates[place].free > 0 { Choice::Take(place) } else { Choice::WaitFor(place) };
            return match self.resolved(waiting, &candidates, choice) {
                // Nobody else may have the share, however long its executor takes.
                Destination::Here { executor, .. } => Destination::Here { executor, patience: LEASE },
                other => other,
            };
        }
        if terms.routing.may_choose() {
            // Whom the share was meant for is gone: anybody who is here may have it.
            candidates.retain(|one| !self.elsewhere.contains_key(&one.id));
        }
        let choice = choose(terms.routing, &candidates, self.request(waiting));
        self.resolved(waiting, &candidates, choice)
    }

    /// The strategy chooses among all that have a free slot, those of other nodes too.
    fn for_any_of_all(&self, waiting: &WaitingRun, now: Timestamp) -> Destination {
        let Requirements { queue, terms } = waiting.requirements.as_ref();
        let mut candidates = self.candidates(queue, now);
        candidates.extend(self.others(queue).map(ElsewhereSlots::candidate));
        self.put_in_order(&mut candidates);
        let number = terms.number.unwrap_or_else(|| waiting.run_id.0.as_u64_pair().1);
        let request = SharedRequest { job: waiting.job_id, run: waiting.run_id, number };
        let choice = choose_shared(terms.routing, &candidates, request);
        if self.goes_by_a_guess(waiting, &candidates, choice) {
            return Destination::KnownLater;
        }
        self.resolved(waiting, &candidates, choice)
    }

    fn request(&self, waiting: &WaitingRun) -> RoutingRequest {
        RoutingRequest { job: waiting.job_id, draw: ordo_model::id::mix(self.choices) }
    }

    /// What a choice among these candidates comes to.
    fn resolved(&self, waiting: &WaitingRun, candidates: &[Candidate<'_>], choice: Choice) -> Destination {
        let Requirements { queue, terms } = waiting.requirements.as_ref();
        match choice {
            Choice::Nobody => Destination::Nobody,
            // While this process is full, nothing of the queue begins here but what another executor could take.
            Choice::WaitFor(place) if self.is_here_alone(candidates[place].id, queue) => Destination::Nobody,
            Choice::WaitFor(place) => Destination::Awaited(candidates[place].id),
            Choice::Take(place) if self.elsewhere.contains_key(&candidates[place].id) => {
                Destination::Elsewhere(candidates[place].id)
            }
            Choice::Take(place) => {
                // Where somebody else could have it, nobody waits for one that does not take it.
                let has_others = candidates.len() > 1 && terms.routing.may_choose();
                let patience = if has_others { OFFER } else { LEASE };
                Destination::Here { executor: candidates[place].id, patience }
            }
            Choice::All => Destination::Everybody(candidates.iter().map(incarnation).collect()),
        }
    }

    /// Whether it is to be found out first who is there: for whom the run is must not be decided on a list from before it came,
    /// in which whoever has come meanwhile is missing.
    fn must_be_called(&self, waiting: &WaitingRun) -> bool {
        let terms = &waiting.requirements.terms;
        let is_for_one_of_all = match terms.meant_for {
            Some(id) => {
                let is_here = id == self.me.executor.generation || self.remotes.contains_key(&id);
                !is_here && !self.elsewhere.contains_key(&id)
            }
            None => !terms.routing.may_choose(),
        };
        self.is_member && is_for_one_of_all && !self.roll_calls.counts_for(waiting.run_id)
    }

    /// Whoever could run something of this queue: this process first, the others in the order of their names.
    fn candidates(&self, queue: &QueueName, now: Timestamp) -> Vec<Candidate<'_>> {
        let mut there: Vec<Candidate<'_>> =
            self.remotes.values().filter(|remote| remote.serves(queue)).map(|remote| remote.candidate()).collect();
        there.sort_by_key(|candidate| (candidate.name, candidate.id));
        if self.serves_here(queue) {
            let here = Candidate {
                id: self.me.executor.generation,
                name: &self.me.executor.executor,
                free: self.pools[&queue.pool].free(),
                heard_at: now,
                chosen: self.chosen_here.0,
                chosen_last: self.chosen_here.1,
                turn_last: self.turn_here,
                chosen_at: self.chosen_here.2,
                missed: 0,
            };
            there.insert(0, here);
        }
        there
    }

    /// The executors of other nodes that could run something of this queue.
    fn others(&self, queue: &QueueName) -> impl Iterator<Item = &ElsewhereSlots> {
        self.elsewhere.values().filter(move |other| other.serves(queue))
    }

    /// An order that is the same on every node: the executors inside nodes first, then the others, by name.
    fn put_in_order(&self, candidates: &mut [Candidate<'_>]) {
        candidates.sort_by_key(|one| (!self.is_in_process(one.id), one.name, one.id));
    }

    /// Whether it is the executor in this process, and no other that this node gives work to serves the queue.
    fn is_here_alone(&self, id: Uuid, queue: &QueueName) -> bool {
        id == self.me.executor.generation && !self.remotes.values().any(|remote| remote.serves(queue))
    }

    fn is_in_process(&self, id: Uuid) -> bool {
        id == self.me.executor.generation || self.elsewhere.get(&id).is_some_and(|other| other.executor.is_in_process)
    }

    /// Whether executors of other nodes are asked too. What only the executors inside nodes could run begins where it came to be, if one
    /// is as good as another; and what was left to others in vain goes to one that is here.
    fn is_for_any_node(&mut self, waiting: &WaitingRun, now: Timestamp) -> bool {
        let Requirements { queue, terms } = waiting.requirements.as_ref();
        if self.others(queue).next().is_none() {
            return false;
        }
        let is_inside = self.others(queue).all(|other| other.executor.is_in_process)
            && !self.remotes.values().any(|remote| remote.serves(queue));
        if is_inside && terms.routing.is_indifferent() {
            return false;
        }
        let is_over = self.left.is_over(waiting.run_id, now);
        if is_over && let Some(other) = self.left.blame(waiting.run_id).and_then(|id| self.elsewhere.get_mut(&id)) {
            other.let_pass();
        }
        !is_over
    }

    /// Whether one comes before the chosen one in an order that matters, and is passed over only because of runs that may
    /// not have come to it: how it is doing is read first.
    fn goes_by_a_guess(&self, waiting: &WaitingRun, candidates: &[Candidate<'_>], choice: Choice) -> bool {
        let Choice::Take(place) = choice else { return false };
        let is_guess = |id: &Uuid| self.elsewhere.get(id).is_some_and(ElsewhereSlots::is_full_by_guess);
        !waiting.requirements.terms.routing.takes_turns()
            && candidates[..place].iter().any(|one| is_guess(&one.id))
            && !self.roll_calls.counts_for(waiting.run_id)
    }

    /// The run is for an executor of another node: that one reads of it in the store.
    fn leave_to(&mut self, executor: Uuid, waiting: &WaitingRun, now: Timestamp) {
        match self.left.leave(waiting.run_id, &waiting.requirements.queue, executor, now) {
            LeaveKind::Anew => {
                if let Some(other) = self.elsewhere.get_mut(&executor) {
                    other.was_left_a_run(now);
                }
            }
            LeaveKind::Again => {}
            LeaveKind::InVain => drop(self.roll_calls.want()),
        }
        self.forget(waiting.run_id);
    }

    fn start_at(&mut self, executor: Uuid, waiting: &WaitingRun, patience: Millis, now: Timestamp) -> RunStart {
        self.choices += 1;
        let choices = self.choices;
        let is_turn = waiting.requirements.terms.routing == Routing::Round;
        let (reservation, place) = match self.remotes.get_mut(&executor) {
            Some(remote) => {
                remote.chosen += 1;
                remote.chosen_last = choices;
                if is_turn {
                    remote.turn_last = choices;
                }
                remote.chosen_at = now;
                remote.reserved += 1;
                if remote.free() == 0 {
                    self.load_report.is_urgent = true;
                }
                (remote.reservation(), SlotLocation::Remote(executor))
            }
            None => {
                let pool = waiting.requirements.queue.pool;
                self.chosen_here = (self.chosen_here.0 + 1, choices, now);
                if is_turn {
                    self.turn_here = choices;
                }
                self.slots(pool).reserved += 1;
                (self.me.clone(), SlotLocation::Local(pool))
            }
        };
        let reservation = SlotReservation { draw: self.draws.next(), is_keyless: self.is_keyless, ..reservation };
        let terms = &waiting.requirements.terms;
        self.keys.take(terms, now);
        let key = terms.concurrency.as_ref().map(|limit| limit.key.clone());
        let rate = terms.rate.as_ref().map(Rate::counted_by);
        self.starting.insert(waiting.run_id, Starting { key, rate, patience });
        RunStart {
            job_id: waiting.job_id,
            command: Command::Start { run_id: waiting.run_id },
            reservation: Some((reservation, place)),
        }
    }

    fn start_at_all(&mut self, executors: Vec<Incarnation>, waiting: &WaitingRun) -> RunStart {
        self.choices += 1;
        self.starting.insert(waiting.run_id, Starting { key: None, rate: None, patience: LEASE });
        let command = Command::Broadcast { run_id: waiting.run_id, executors };
        RunStart { job_id: waiting.job_id, command, reservation: None }
    }
}

fn incarnation(candidate: &Candidate<'_>) -> Incarnation {
    Incarnation { executor: candidate.name.to_owned(), generation: candidate.id }
}
