//! The queue in front of the store, as the shell's batcher keeps it: a round is decided while earlier ones are still
//! on their way to the disk; they reach it and come back in order; reports are never dropped.

use std::collections::VecDeque;

use ordo_engine::committer::{self, Answer, Prepared, SubmitError};
use ordo_engine::core::Input;
use ordo_engine::planner::Request;
use ordo_model::job::Command;
use ordo_model::{JobId, RunId};
use ordo_store::{Batch, Fault, Outcome};

use crate::happening::Happening;
use crate::history::What;
use crate::ready::ready;
use crate::world::{Crash, World};

const ROUND_MAX: usize = 1_024;
/// How many orders may be on their way to the disk.
const IN_FLIGHT_MAX: usize = 2_048;
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
    Keeper,
    /// A report that was sent a second time.
    Stale {
        run: RunId,
        token: u64,
    },
}

#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) request: Request,
    pub(crate) to: To,
}

#[derive(Debug, Default)]
pub(crate) struct Batcher {
    queue: VecDeque<Submission>,
    /// Rounds that are decided; the first `committed` of them have been to the disk.
    flights: VecDeque<Flight>,
    committed: usize,
    /// When the last of them reaches the disk, and when the last answer comes back: rounds keep their order.
    disk_busy_until: i64,
    lands_until: i64,
    /// A round is about to be decided.
    gathering: bool,
    rests_until: i64,
}

#[derive(Debug)]
struct Flight {
    prepared: Prepared,
    batch: Option<Batch>,
    waiting: Vec<(To, Option<Request>)>,
    decided_at: i64,
    outcomes: Option<Result<Vec<Outcome>, Fault>>,
}

impl Batcher {
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.flights.is_empty()
    }

    fn in_flight(&self) -> usize {
        self.flights.iter().map(|flight| flight.waiting.len().max(1)).sum()
    }
}

impl World {
    pub(crate) fn submit(&mut self, submission: Submission) {
        self.node().batcher.queue.push_back(submission);
        self.kick();
    }

    fn kick(&mut self) {
        let (generation, now) = (self.generation(), self.mono);
        let must_settle = self.node().committer.must_settle();
        let batcher = &mut self.node().batcher;
        let may_gather = !batcher.gathering && !must_settle && batcher.in_flight() < IN_FLIGHT_MAX;
        if may_gather && !batcher.queue.is_empty() {
            batcher.gathering = true;
            let at = batcher.rests_until.max(now);
            self.at(at, Happening::TakeOff { generation });
        }
    }

    /// Decides what has gathered and sends it to the disk; the next round need not wait for it.
    pub(crate) fn take_off(&mut self) -> Result<(), Crash> {
        let (now, decided_at) = (self.now(), self.wall_ms());
        let node = self.node();
        node.batcher.gathering = false;
        if node.committer.must_settle() {
            return Ok(());
        }
        let gathered = node.batcher.queue.len().min(ROUND_MAX);
        let (mut requests, mut waiting) = (Vec::new(), Vec::new());
        for Submission { request, to } in node.batcher.queue.drain(..gathered) {
            waiting.push((to, keepsake(&request)));
            requests.push(request);
        }
        let mut prepared = ready(node.committer.prepare(requests, Vec::new(), now));
        let batch = Some(prepared.take_batch());
        node.batcher.flights.push_back(Flight { prepared, batch, waiting, decided_at, outcomes: None });
        if self.plug.is_cut() {
            return Err(Crash);
        }
        let (generation, takes, now_mono) = (self.generation(), self.commit_takes(), self.mono);
        let batcher = &mut self.node().batcher;
        batcher.disk_busy_until = batcher.disk_busy_until.max(now_mono + takes);
        let at = batcher.disk_busy_until;
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
        let batcher = &mut self.node().batcher;
        let flight = &mut batcher.flights[batcher.committed];
        batcher.committed += 1;
        let batch = flight.batch.take().expect("a round goes to the disk once");
        let outcomes = ready(committer::commit(store.as_ref(), batch));
        let acked = outcomes.is_ok().then_some(flight.decided_at);
        flight.outcomes = Some(outcomes);
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
        let batcher = &mut self.node().batcher;
        batcher.lands_until = batcher.lands_until.max(back);
        let at = batcher.lands_until;
        self.at(at, Happening::Land { generation });
        Ok(())
    }

    /// The oldest round comes back: everybody hears what became of it.
    pub(crate) fn land(&mut self) -> Result<(), Crash> {
        let generation = self.generation();
        if self.mono < self.node().batcher.rests_until {
            let at = self.node().batcher.rests_until;
            self.at(at, Happening::Land { generation });
            return Ok(());
        }
        let node = self.node();
        let flight = node.batcher.flights.pop_front().expect("what lands took off");
        node.batcher.committed -= 1;
        let outcomes = flight.outcomes.expect("what lands was at the disk");
        let failed = outcomes.is_err();
        let round = node.committer.settle(flight.prepared, outcomes);
        for change in round.changes.iter().filter(|change| change.failed) {
            self.fact(What::Lost { job: JobId(change.entity.id), at: flight.decided_at });
        }
        if !round.changes.is_empty() {
            self.after(0, Happening::Input { generation, input: Box::new(Input::Changed(round.changes)) });
        }
        self.tell(flight.waiting, round.answers)?;
        if failed {
            self.node().batcher.rests_until = self.mono + FAULT_PAUSE_MS;
        }
        self.kick();
        Ok(())
    }

    fn tell(&mut self, waiting: Vec<(To, Option<Request>)>, answers: Vec<Answer>) -> Result<(), Crash> {
        let mut again = Vec::new();
        for ((to, kept), answer) in waiting.into_iter().zip(answers) {
            self.burn()?;
            match (kept, &answer) {
                (Some(request), Err(SubmitError::Store(_) | SubmitError::Contended)) => {
                    again.push(Submission { request, to });
                }
                (Some(_) | None, _) => self.answer(to, answer),
            }
        }
        for submission in again.into_iter().rev() {
            self.node().batcher.queue.push_front(submission);
        }
        Ok(())
    }

    fn answer(&mut self, to: To, answer: Answer) {
        match to {
            To::Nobody => {}
            To::Client(op) => self.answer_client(op, answer),
            To::Keeper => self.keep_next(),
            To::Stale { run, token } => self.stale_answered(run, token, answer.is_err()),
        }
    }
}

/// A report must reach the store however often that takes.
fn keepsake(request: &Request) -> Option<Request> {
    match &request.order.command {
        command @ Command::Report { .. } => Some(Request::new(request.job_id, command.clone())),
        _ => None,
    }
}
