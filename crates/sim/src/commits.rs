//! The way of commands to the disk and back in time: the engine's own rounds, driven as its shell drives them. A round is
//! decided while earlier ones are still on their way; they reach the disk and come back in order.

use std::collections::VecDeque;
use std::sync::Arc;

use ordo_engine::core::Input;
use ordo_engine::rounds::{self, Flight, Rounds, Settled};
use ordo_engine::{JobReply, Request, SubmitError};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{JobId, RunId};
use ordo_store::{Batch, CommitOutcome, Fault, Store};
use tokio::sync::oneshot;

use crate::actors::ready::ready;
use crate::happening::Happening;
use crate::record::history::FactKind;
use crate::world::{Crash, Simulation};

/// How long a store that failed is left alone.
const FAULT_PAUSE_MS: i64 = 500;
/// A slow commit takes at most this long.
const SLOWEST_MS: i64 = 1_200;
/// A commit that takes longer than this may make others late.
const SLOW_MS: i64 = 100;

/// Who gets the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum To {
    Nobody,
    Client(u32),
    Maintenance,
    /// A report that was sent a second time.
    Stale {
        run: RunId,
        token: u64,
    },
}

#[derive(Debug)]
pub(crate) struct SimSubmission {
    pub(crate) request: Request,
    pub(crate) to: To,
}

#[derive(Debug)]
pub(crate) struct Commits {
    rounds: Rounds,
    /// Those who wait for an answer, in the order they asked.
    waiting: Vec<(oneshot::Receiver<JobReply>, To)>,
    /// Rounds that are decided; the first `committed` of them have been to the disk.
    journeys: VecDeque<Journey>,
    committed: usize,
    /// When the last of them reaches the disk, and when the last answer comes back: rounds keep their order.
    disk_busy_until: i64,
    lands_until: i64,
    /// A round is about to be decided.
    gathering: bool,
    rests_until: i64,
}

#[derive(Debug)]
struct Journey {
    flight: Flight,
    batch: Option<Batch>,
    decided_at: i64,
    outcomes: Option<Result<Vec<CommitOutcome>, Fault>>,
}

impl Commits {
    pub(crate) fn new() -> Commits {
        Commits {
            // Small rounds overlap too: what can go wrong between them is what is looked for.
            rounds: Rounds::new(false, OUTBOX_FLUSH_DELAY, Arc::default()).deciding_ahead_from(1),
            waiting: Vec::new(),
            journeys: VecDeque::new(),
            committed: 0,
            disk_busy_until: 0,
            lands_until: 0,
            gathering: false,
            rests_until: 0,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.rounds.is_idle()
    }

    /// All of it at once, before the node is up.
    pub(crate) fn run_now(&mut self, store: &dyn Store, requests: Vec<Request>, now: ordo_model::Timestamp) -> Settled {
        requests.into_iter().for_each(|request| self.rounds.push(request.unanswered()));
        let mut all = Settled::default();
        while let Some(gathered) = self.rounds.gather() {
            let loaded = ready(rounds::load(store, &gathered, now));
            let mut flight = self.rounds.plan(gathered, loaded, now);
            let outcomes = ready(rounds::commit(store, flight.take_batch()));
            let settled = self.rounds.settle(flight, outcomes);
            all.changes.extend(settled.changes);
            all.fault = settled.fault;
            if all.fault.is_some() {
                break;
            }
        }
        all
    }
}

impl Simulation {
    pub(crate) fn submit(&mut self, submission: SimSubmission) {
        let SimSubmission { request, to } = submission;
        let commits = &mut self.node().commits;
        match to {
            To::Nobody => commits.rounds.push(request.unanswered()),
            To::Client(_) | To::Maintenance | To::Stale { .. } => {
                let (submission, answer) = request.answered();
                commits.rounds.push(submission);
                commits.waiting.push((answer, to));
            }
        }
        self.kick();
    }

    fn kick(&mut self) {
        let (generation, now) = (self.generation(), self.mono);
        let commits = &mut self.node().commits;
        if !commits.gathering && commits.rounds.has_waiting() {
            commits.gathering = true;
            let at = commits.rests_until.max(now);
            self.at(at, Happening::TakeOff { generation });
        }
    }

    /// Decides what has gathered and sends it to the disk; the next round need not wait for it.
    pub(crate) fn take_off(&mut self) -> Result<(), Crash> {
        let (now, decided_at) = (self.now(), self.wall_ms());
        let node = self.node();
        node.commits.gathering = false;
        let Some(gathered) = node.commits.rounds.gather() else { return Ok(()) };
        let loaded = ready(rounds::load(node.store.as_ref(), &gathered, now));
        let mut flight = node.commits.rounds.plan(gathered, loaded, now);
        let batch = Some(flight.take_batch());
        node.commits.journeys.push_back(Journey { flight, batch, decided_at, outcomes: None });
        if self.plug.is_cut() {
            return Err(Crash);
        }
        let (generation, takes, now_mono) = (self.generation(), self.commit_takes(), self.mono);
        let commits = &mut self.node().commits;
        commits.disk_busy_until = commits.disk_busy_until.max(now_mono + takes);
        let at = commits.disk_busy_until;
        if at - self.mono > SLOW_MS {
            self.trouble(at + SLOW_MS);
        }
        self.at(at, Happening::Commit { generation });
        self.kick();
        Ok(())
    }

    fn commit_takes(&mut self) -> i64 {
        if self.mono < self.slow_until {
            return self.rng.between(50, SLOWEST_MS);
        }
        self.rng.skewed(1, self.scenario.commit_ms)
    }

    /// The oldest round that has not been there reaches the disk. Whoever asked hears of it a little later.
    pub(crate) fn commit(&mut self) -> Result<(), Crash> {
        let store = self.node().store.clone();
        self.catch_up(store.as_ref());
        let commits = &mut self.node().commits;
        let journey = &mut commits.journeys[commits.committed];
        commits.committed += 1;
        let batch = journey.batch.take().expect("a round goes to the disk once");
        let outcomes = ready(rounds::commit(store.as_ref(), batch));
        let acked = outcomes.is_ok().then_some(journey.decided_at);
        journey.outcomes = Some(outcomes);
        if self.plug.is_cut() {
            return Err(Crash);
        }
        self.tail(store.as_ref(), acked);
        if acked.is_none() {
            self.note(format_args!("a commit failed"));
            self.trouble(self.mono + 2 * FAULT_PAUSE_MS);
        }
        let generation = self.generation();
        let back = self.mono + self.rng.between(0, 5);
        let commits = &mut self.node().commits;
        commits.lands_until = commits.lands_until.max(back);
        let at = commits.lands_until;
        self.at(at, Happening::Land { generation });
        Ok(())
    }

    /// The oldest round comes back: everybody hears what became of it.
    pub(crate) fn land(&mut self) -> Result<(), Crash> {
        let generation = self.generation();
        if self.mono < self.node().commits.rests_until {
            let at = self.node().commits.rests_until;
            self.at(at, Happening::Land { generation });
            return Ok(());
        }
        let commits = &mut self.node().commits;
        let journey = commits.journeys.pop_front().expect("what lands took off");
        commits.committed -= 1;
        let outcomes = journey.outcomes.expect("what lands was at the disk");
        let Settled { changes, fault, .. } = commits.rounds.settle(journey.flight, outcomes);
        for change in changes.iter().filter(|change| change.failed) {
            self.fact(FactKind::Lost { job: JobId(change.entity.id), at: journey.decided_at });
        }
        if !changes.is_empty() {
            self.after(0, Happening::Input { generation, input: Box::new(Input::Changed(changes)) });
        }
        self.hand_out_answers()?;
        if fault.is_some() {
            self.node().commits.rests_until = self.mono + FAULT_PAUSE_MS;
        }
        self.kick();
        Ok(())
    }

    fn hand_out_answers(&mut self) -> Result<(), Crash> {
        for (mut receiver, to) in std::mem::take(&mut self.node().commits.waiting) {
            match receiver.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => self.node().commits.waiting.push((receiver, to)),
                answered => {
                    self.burn()?;
                    self.answer(to, answered.unwrap_or(Err(SubmitError::Stopped)));
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, to: To, answer: JobReply) {
        match to {
            To::Nobody => {}
            To::Client(op) => self.answer_client(op, answer),
            To::Maintenance => self.maintain_next(),
            To::Stale { run, token } => self.stale_answered(run, token, answer.is_err()),
        }
    }
}
