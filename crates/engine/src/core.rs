//! The engine's core: what happens (inputs) in, what is to be done (effects) out. No clock, no disk, no thread.
//!
//! Invariant: `step` is a pure function of the core and its input: the same inputs give the same effects, in a
//! server and in a simulation.

use ordo_model::job::{Command, Order, Report};
use ordo_model::{EntityId, Incarnation, JobId, Kind, Millis, RunId, Timestamp, Token};
use ordo_store::Ringing;

use crate::change::{Change, PoolName, Started, Waiting};
use crate::dispatcher::{Dispatcher, PoolSizes};
use crate::shards::Ownership;
use crate::timekeeper::{Look, Timekeeper};

#[derive(Debug)]
pub enum Input {
    /// Time has passed.
    Time,
    /// The answer to `Effect::Look`.
    Seen {
        look: Look,
        page: Vec<Ringing>,
    },
    LookFailed,
    /// The answer to `Effect::FindWaiting`.
    Waiting {
        found: Vec<Waiting>,
        complete: bool,
    },
    /// Commits changed these jobs.
    Changed(Vec<Change>),
    /// An attempt executed here is over.
    Finished(Finished),
    /// This node looks after these shards now.
    Own(Ownership),
    /// Other nodes wrote: into what this one looks after (`ours`), or anywhere.
    Hinted {
        ours: bool,
    },
    /// Whether this node is to leave new work to others.
    Resting(bool),
    /// Alarms that nobody served.
    Swept(Vec<Ringing>),
    /// No more firing, no more starting.
    Stop,
}

#[derive(Debug)]
pub struct Finished {
    pub job_id: JobId,
    pub run_id: RunId,
    pub token: Token,
    pub took: Millis,
    pub report: Report,
}

#[derive(Debug)]
pub enum Effect {
    /// Read this page of the alarm index.
    Look(Look),
    /// Read the waiting runs, at most so many.
    FindWaiting {
        limit: usize,
    },
    /// Put these orders through a commit.
    Submit(Vec<Ticketed>),
    Execute(Box<Started>),
    Kill(RunId),
    /// Do what this entity wants done; its alarm rang, or somebody knows that it has something to do.
    Attend(EntityId),
}

/// An order of the core, with the pool its seat was reserved in.
#[derive(Debug)]
pub struct Ticketed {
    pub job_id: JobId,
    pub order: Order,
    pub pool: Option<PoolName>,
}

#[derive(Debug)]
pub struct Core {
    timekeeper: Timekeeper,
    dispatcher: Dispatcher,
}

impl Core {
    pub fn new(me: Incarnation, tick_rate: Millis, pools: PoolSizes, now: Timestamp) -> Core {
        Core { timekeeper: Timekeeper::new(tick_rate, now), dispatcher: Dispatcher::new(me, pools) }
    }

    /// When `Input::Time` is wanted next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.timekeeper.next_wake()
    }

    pub fn running_len(&self) -> usize {
        self.dispatcher.running_len()
    }

    pub fn is_idle(&self) -> bool {
        self.dispatcher.is_idle()
    }

    pub fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    pub fn ours(&self) -> Option<Ownership> {
        self.timekeeper.ours()
    }

    pub fn ring_len(&self) -> usize {
        self.timekeeper.ring_len()
    }

    pub fn step(&mut self, input: Input, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut orders = Vec::new();
        match input {
            Input::Time => {}
            Input::Seen { look, page } => effects.extend(self.timekeeper.seen(look, &page).map(Effect::Look)),
            Input::LookFailed => self.timekeeper.look_failed(now),
            Input::Waiting { found, complete } => self.dispatcher.found_waiting(&found, complete, now),
            Input::Changed(changes) => {
                for change in changes {
                    self.changed(change, now, &mut effects);
                }
            }
            Input::Finished(finished) => orders.push(self.finished(finished, now)),
            Input::Own(ours) => self.timekeeper.own(ours, now),
            Input::Hinted { ours } => {
                if ours {
                    self.timekeeper.nudge(now);
                }
                self.dispatcher.look_again();
            }
            Input::Resting(resting) => self.dispatcher.rest(resting),
            Input::Swept(alarms) => {
                let due = self.timekeeper.take_over(&alarms);
                orders.extend(self.wake(due, now, &mut effects));
            }
            Input::Stop => {
                self.timekeeper.stop();
                self.dispatcher.stop();
            }
        }
        effects.extend(self.timekeeper.tick(now).map(Effect::Look));
        orders.extend(self.starts());
        orders.extend(self.fires(now, &mut effects));
        effects.extend(self.timekeeper.refill().map(Effect::Look));
        effects.extend(self.dispatcher.wants_waiting().map(|limit| Effect::FindWaiting { limit }));
        if !orders.is_empty() {
            effects.push(Effect::Submit(orders));
        }
        effects
    }

    /// The wakes of what is due, each with a place to run in as far as there are any.
    fn fires(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> Vec<Ticketed> {
        let due = self.timekeeper.take_due(now);
        self.wake(due, now, effects)
    }

    fn wake(&mut self, due: Vec<EntityId>, now: Timestamp, effects: &mut Vec<Effect>) -> Vec<Ticketed> {
        let mut orders = Vec::new();
        for entity in due {
            match entity.kind {
                Kind::Job => orders.push(self.order(JobId(entity.id), Command::Wake, now)),
                _ => effects.push(Effect::Attend(entity)),
            }
        }
        orders
    }

    fn order(&mut self, job_id: JobId, command: Command, now: Timestamp) -> Ticketed {
        let (seat, pool) = self.dispatcher.reserve(job_id, now).unzip();
        Ticketed { job_id, order: Order { command, seat }, pool }
    }

    fn starts(&mut self) -> Vec<Ticketed> {
        let starts = self.dispatcher.take_startable();
        let seat = self.dispatcher.seat();
        let order = |run_id| Order { command: Command::Start { run_id }, seat: Some(seat.clone()) };
        starts
            .into_iter()
            .map(|start| Ticketed {
                job_id: start.waiting.job_id,
                order: order(start.waiting.run_id),
                pool: Some(start.pool),
            })
            .collect()
    }

    fn finished(&mut self, finished: Finished, now: Timestamp) -> Ticketed {
        let Finished { job_id, run_id, token, took, report } = finished;
        self.dispatcher.finished((run_id, token), job_id, took, now);
        self.order(job_id, Command::Report { run_id, token, report }, now)
    }

    fn changed(&mut self, change: Change, now: Timestamp, effects: &mut Vec<Effect>) {
        let entity = change.entity;
        for pool in change.returned {
            self.dispatcher.give_back(pool);
        }
        for run_id in change.answered {
            self.dispatcher.answered(run_id);
        }
        // An attempt that was given up is ended before the next one of its run begins: the kill must not hit that one.
        for run_id in change.ended {
            self.kill(run_id, effects);
        }
        for started in change.started {
            self.dispatcher.began(&started);
            effects.push(Effect::Execute(Box::new(started)));
        }
        if change.failed {
            self.timekeeper.wake_failed(entity, change.rank, now);
            return;
        }
        for run_id in change.cancel {
            self.kill(run_id, effects);
        }
        effects.extend(change.attend.into_iter().map(Effect::Attend));
        let alarm = change.alarm.map(|at| Ringing { at, rank: change.rank, entity });
        self.timekeeper.alarm_changed(entity, alarm, now);
        for waiting in change.waiting {
            self.dispatcher.add_waiting(waiting, now);
        }
    }

    fn kill(&self, run_id: RunId, effects: &mut Vec<Effect>) {
        if self.dispatcher.is_running(run_id) {
            effects.push(Effect::Kill(run_id));
        }
    }
}
