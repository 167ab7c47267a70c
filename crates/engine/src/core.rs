//! The engine's core: what happens (inputs) in, what is to be done (effects) out. No clock, no disk, no thread.
//!
//! Invariant: `step` is a pure function of the core and its inputs: the same inputs give the same effects, in a
//! server and in a simulation.

use ordo_model::executor::Offer;
use ordo_model::job::{AttemptReport, Command, Pool, SlotReservation, SlottedCommand};
use ordo_model::limits::CLOCK_STEP_MIN;
use ordo_model::{EntityId, FencingToken, JobId, Kind, Millis, Moment, RunId, Timestamp};
use ordo_store::DueAlarm;
use uuid::Uuid;

use crate::cluster::{ElsewhereExecutor, NodeLoads};
use crate::commit::change::{Change, SlotLocation, StartedAttempt, WaitingRun};
use crate::dispatch::requirements::QueueName;
use crate::dispatch::{Dispatcher, Draws, Find, Overdue, PoolSizes, Restored};
use crate::time::partitions::{Ownership, PartitionSet};
use crate::time::timekeeper::{AlarmScan, Projection, Timekeeper};

#[derive(Debug)]
pub enum Input {
    /// Time has passed.
    Time,
    /// The answer to `Effect::ScanAlarms`.
    Scanned {
        scan: AlarmScan,
        page: Vec<DueAlarm>,
    },
    ScanFailed,
    /// The answer to `Effect::FindWaiting`.
    Waiting {
        queue: QueueName,
        found: Vec<WaitingRun>,
        complete: bool,
    },
    /// Commits changed these jobs.
    Changed(Vec<Change>),
    /// An attempt executed here is over.
    Finished(FinishedAttempt),
    /// Something was heard of a remote executor.
    Remote {
        executor: Uuid,
        news: News,
    },
    /// Attempts that remote executors run since before this process.
    Restored(Vec<Restored>),
    /// An executor came from another node, with what it has.
    TakenOver {
        executor: Uuid,
        offer: Offer,
        draining: bool,
        attempts: Vec<Restored>,
    },
    /// The executors of other nodes.
    Elsewhere(Vec<ElsewhereExecutor>),
    /// The same, as the answer to `Effect::RollCall`; None: it could not be found out.
    RollCalled(Option<Vec<ElsewhereExecutor>>),
    /// Other nodes have written about what runs here.
    Reviewed(Reviewed),
    /// This node serves these partitions now.
    Own(Ownership),
    /// Other nodes wrote: into what this one serves (`ours`), or anywhere, and where that was.
    Hinted {
        ours: bool,
        partitions: PartitionSet,
    },
    /// Whether this node is to leave new work to others.
    Resting(bool),
    /// Whether nodes are there that do not know concurrency keys of attempts.
    Keyless(bool),
    /// Alarms that nobody served.
    Swept(Vec<DueAlarm>),
    /// No more firing, no more starting.
    Stop,
}

/// What became of attempts of remote executors by the hand of another node.
#[derive(Debug, Default)]
pub struct Reviewed {
    /// Attempts that are over.
    pub over: Vec<(RunId, FencingToken)>,
    /// Runs whose end was asked for.
    pub cancel: Vec<RunId>,
}

/// What is heard of a remote executor.
#[derive(Debug)]
pub enum News {
    Enrolled(Offer),
    Heartbeat,
    /// It asks for work.
    Polling,
    /// It has fetched these attempts.
    Took(Vec<(RunId, FencingToken)>),
    Draining,
    Gone,
}

#[derive(Debug)]
pub struct FinishedAttempt {
    pub job_id: JobId,
    pub run_id: RunId,
    pub token: FencingToken,
    pub report: AttemptReport,
}

#[derive(Debug)]
pub enum Effect {
    /// Read this page of the alarm index.
    ScanAlarms(AlarmScan),
    /// Read waiting runs.
    FindWaiting(Find),
    /// Find out who is there on other nodes.
    RollCall,
    /// Let the other nodes know how the executors of this one are doing.
    Publish(NodeLoads),
    /// Commit these commands.
    Submit(Vec<CoreCommand>),
    Execute(Box<StartedAttempt>),
    Kill(RunId),
    /// Give the attempt to the remote executor it was started for.
    Deliver(Box<StartedAttempt>),
    /// A remote executor is to end this attempt.
    Recall {
        executor: Uuid,
        run_id: RunId,
    },
    /// An attempt of a remote executor is over, whatever the executor thinks.
    Forget {
        executor: Uuid,
        run_id: RunId,
        token: FencingToken,
    },
    /// An offer ran out: unless it was taken in the last moment, the run is given back.
    Withdraw(Overdue),
    /// The wall clock was set: whoever has an alarm between now and `until` is to be looked at.
    ClockStepped {
        by_ms: i64,
        until: Timestamp,
    },
    /// A job keeps more runs than its retention says.
    TrimHistory,
    /// Do what this entity wants done; its alarm rang, or somebody knows that it has something to do.
    Reconcile(EntityId),
}

/// A command of the core, with where its slot was reserved.
#[derive(Debug)]
pub struct CoreCommand {
    pub job_id: JobId,
    pub slotted: SlottedCommand,
    pub location: Option<SlotLocation>,
}

#[derive(Debug)]
pub struct Core {
    timekeeper: Timekeeper,
    /// Lives on steady time: offers and rates are lengths, and nobody may set them.
    dispatcher: Dispatcher,
    /// By how much the wall clock had gained on steady time when it was last set by enough to be followed.
    ahead_ms: i64,
    /// The same at the last step, to the millisecond: by this the dispatcher's time becomes the wall clock's.
    last_ahead_ms: i64,
}

impl Core {
    /// `me` is what a slot of the executor in this process offers.
    pub fn new(me: SlotReservation, draws: Draws, tick_rate: Millis, pools: PoolSizes, now: Timestamp) -> Core {
        Core {
            timekeeper: Timekeeper::new(tick_rate, now),
            dispatcher: Dispatcher::new(me, draws, pools),
            ahead_ms: 0,
            last_ahead_ms: 0,
        }
    }

    /// One of several on the same store: it serves no partition until it is given some. This is no step, because
    /// nobody performs effects yet, and what is asked of the store in vain is waited for for ever.
    pub fn sharing(mut self, now: Timestamp, is_keyless: bool) -> Core {
        self.timekeeper.own(Ownership::none(), now);
        self.dispatcher.share(is_keyless);
        self
    }

    /// When `Input::Time` is wanted next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let dispatcher = self.dispatcher.next_wake().map(|at| at.moved(self.last_ahead_ms));
        self.timekeeper.next_wake().into_iter().chain(dispatcher).min()
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

    /// What the timekeeper has in mind.
    pub fn projection(&self, now: Timestamp) -> Projection {
        self.timekeeper.projection(now)
    }

    pub fn ring_len(&self) -> usize {
        self.timekeeper.ring_len()
    }

    /// Takes in what happened, in order, and returns what is to be done. Inputs that came together cost one pass over
    /// what is due and what waits, and their commands reach the store together.
    #[must_use = "an effect that is not performed is waited for for ever"]
    pub fn step(&mut self, inputs: impl IntoIterator<Item = Input>, now: impl Into<Moment>) -> Vec<Effect> {
        let moment: Moment = now.into();
        let (now, steady) = (moment.now, moment.steady());
        self.last_ahead_ms = moment.frame.ahead_ms;
        let mut effects = self.follow_clock(moment);
        let mut commands = Vec::new();
        for input in inputs {
            self.take(input, moment, &mut effects, &mut commands);
        }
        effects.extend(self.timekeeper.tick(now).map(Effect::ScanAlarms));
        self.dispatcher.time_passed(steady);
        effects.extend(self.dispatcher.overdue_offers(steady).into_iter().map(Effect::Withdraw));
        commands.extend(self.starts(steady));
        commands.extend(self.fires(now, &mut effects));
        effects.extend(self.timekeeper.refill().map(Effect::ScanAlarms));
        effects.extend(self.dispatcher.wants_waiting().map(Effect::FindWaiting));
        effects.extend(self.dispatcher.takes_loads(steady).map(Effect::Publish));
        effects.extend(self.dispatcher.takes_roll_call().then_some(Effect::RollCall));
        if !commands.is_empty() {
            effects.push(Effect::Submit(commands));
        }
        effects
    }

    fn take(&mut self, input: Input, moment: Moment, effects: &mut Vec<Effect>, commands: &mut Vec<CoreCommand>) {
        let (now, steady) = (moment.now, moment.steady());
        match input {
            Input::Time => {}
            Input::Scanned { scan, page } => effects.extend(self.timekeeper.seen(scan, &page).map(Effect::ScanAlarms)),
            Input::ScanFailed => self.timekeeper.scan_failed(now),
            Input::Waiting { queue, found, complete } => {
                let more = self.dispatcher.found_waiting(&queue, found, complete, steady);
                effects.extend(more.map(Effect::FindWaiting));
            }
            Input::Changed(changes) => {
                for change in changes {
                    self.changed(change, moment, effects);
                }
            }
            Input::Finished(finished) => commands.push(self.finished(finished)),
            Input::Remote { executor, news } => self.heard(executor, news, steady),
            Input::Restored(attempts) => self.dispatcher.restored(attempts),
            Input::TakenOver { executor, offer, draining, attempts } => {
                self.dispatcher.enrolled(executor, &offer, steady);
                if draining {
                    self.dispatcher.draining(executor);
                }
                self.dispatcher.restored(attempts);
            }
            Input::Elsewhere(executors) => self.dispatcher.are_elsewhere(executors, steady),
            Input::RollCalled(executors) => self.dispatcher.roll_called(executors, steady),
            Input::Reviewed(Reviewed { over, cancel }) => {
                over.into_iter().for_each(|attempt| self.over(attempt, effects));
                cancel.into_iter().for_each(|run_id| self.cancel(run_id, effects));
            }
            Input::Own(ours) => self.timekeeper.own(ours, now),
            Input::Hinted { ours, partitions } => {
                if ours {
                    self.timekeeper.nudge(now);
                }
                self.dispatcher.may_be_free(&partitions);
                self.dispatcher.rescan();
            }
            Input::Resting(resting) => self.dispatcher.rest(resting),
            Input::Keyless(is_keyless) => self.dispatcher.is_keyless = is_keyless,
            Input::Swept(alarms) => {
                let due = self.timekeeper.take_over(&alarms);
                commands.extend(self.wake(due, effects));
            }
            Input::Stop => {
                self.timekeeper.stop();
                self.dispatcher.stop();
            }
        }
    }

    /// Somebody may have set the wall clock. What lies ahead by as much as it went back may be due already, if it is
    /// measured in elapsed time: it is looked at.
    fn follow_clock(&mut self, moment: Moment) -> Vec<Effect> {
        let by_ms = moment.frame.ahead_ms - self.ahead_ms;
        if by_ms.unsigned_abs() < CLOCK_STEP_MIN.ms() {
            return Vec::new();
        }
        self.ahead_ms = moment.frame.ahead_ms;
        let until = moment.now.plus(Millis::from_ms(by_ms.unsigned_abs())).plus(self.timekeeper.horizon());
        vec![Effect::ClockStepped { by_ms, until: if by_ms < 0 { until } else { moment.now } }]
    }

    /// The wakes of what is due, each with a place to run in as far as there are any.
    fn fires(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> Vec<CoreCommand> {
        let due = self.timekeeper.take_due(now, self.dispatcher.room());
        self.wake(due, effects)
    }

    fn wake(&mut self, due: Vec<EntityId>, effects: &mut Vec<Effect>) -> Vec<CoreCommand> {
        let mut commands = Vec::with_capacity(due.len());
        for entity in due {
            match entity.kind {
                Kind::Job => {
                    let job_id = JobId(entity.id);
                    let command = self.slotted(job_id, Command::Wake);
                    // Slow jobs give way to all others anyway.
                    if command.location.is_none() && self.dispatcher.pool_of(job_id) == Pool::Fast {
                        self.timekeeper.went_without_slot(entity);
                    }
                    commands.push(command);
                }
                _ => effects.push(Effect::Reconcile(entity)),
            }
        }
        commands
    }

    fn slotted(&mut self, job_id: JobId, command: Command) -> CoreCommand {
        let (reservation, location) = self.dispatcher.reserve(job_id).unzip();
        CoreCommand { job_id, slotted: SlottedCommand { command, reservation }, location }
    }

    fn starts(&mut self, now: Timestamp) -> Vec<CoreCommand> {
        let starts = self.dispatcher.take_startable(now).into_iter();
        let ordered = starts.map(|start| {
            let (reservation, location) = start.reservation.unzip();
            CoreCommand {
                job_id: start.job_id,
                slotted: SlottedCommand { command: start.command, reservation },
                location,
            }
        });
        ordered.collect()
    }

    fn finished(&mut self, finished: FinishedAttempt) -> CoreCommand {
        let FinishedAttempt { job_id, run_id, token, report } = finished;
        self.dispatcher.finished((run_id, token));
        self.slotted(job_id, Command::Report { run_id, token, report })
    }

    fn heard(&mut self, executor: Uuid, news: News, now: Timestamp) {
        match news {
            News::Enrolled(offer) => self.dispatcher.enrolled(executor, &offer, now),
            News::Heartbeat => self.dispatcher.heard(executor, now),
            News::Polling => self.dispatcher.asks_for_work(executor, now),
            News::Took(attempts) => self.dispatcher.taken(&attempts),
            News::Draining => self.dispatcher.draining(executor),
            News::Gone => self.dispatcher.gone(executor),
        }
    }

    fn changed(&mut self, change: Change, moment: Moment, effects: &mut Vec<Effect>) {
        let (now, steady) = (moment.now, moment.steady());
        let entity = change.entity;
        if let Some((limit, until)) = change.exhausted {
            self.dispatcher.exhausted(limit, until.map(|until| until.moved(-self.ahead_ms)), steady);
        }
        for key in change.freed {
            self.dispatcher.freed(&key);
        }
        for location in change.returned {
            self.dispatcher.give_back(location);
        }
        // An attempt that was given up is ended before the next one of its run begins: the kill must not hit that one.
        for run_id in change.ended {
            self.ended(run_id, effects);
        }
        for assignment in change.assignments {
            effects.push(self.began(assignment, steady));
        }
        for run_id in change.answered {
            self.dispatcher.answered(run_id);
        }
        if change.failed {
            self.timekeeper.wake_failed(entity, change.rank, now);
            return;
        }
        for run_id in change.cancel {
            self.cancel(run_id, effects);
        }
        effects.extend(change.reconcile.into_iter().map(Effect::Reconcile));
        if change.is_overfull {
            effects.push(Effect::TrimHistory);
        }
        let alarm = change.alarm.map(|at| DueAlarm { at, rank: change.rank, entity });
        self.timekeeper.alarm_changed(entity, alarm, now);
        if entity.kind == Kind::Job {
            self.dispatcher.note_pool(JobId(entity.id), change.pool);
        }
        for waiting in change.waiting {
            self.dispatcher.add_waiting(waiting, steady);
        }
    }

    fn began(&mut self, assignment: StartedAttempt, now: Timestamp) -> Effect {
        let is_there = self.dispatcher.began(&assignment, now);
        match assignment.location {
            SlotLocation::Local(_) => Effect::Execute(Box::new(assignment)),
            SlotLocation::Remote(_) if is_there => Effect::Deliver(Box::new(assignment)),
            // It left while its attempt was being written down: nobody has seen it.
            SlotLocation::Remote(_) => Effect::Submit(vec![given_back(&assignment)]),
        }
    }

    /// The attempt of a run is over. What executes here is stopped; what is elsewhere is no longer counted.
    fn ended(&mut self, run_id: RunId, effects: &mut Vec<Effect>) {
        for (token, location) in self.dispatcher.locations_of(run_id) {
            match location {
                SlotLocation::Local(_) => effects.push(Effect::Kill(run_id)),
                SlotLocation::Remote(executor) => {
                    self.dispatcher.finished((run_id, token));
                    effects.push(Effect::Forget { executor, run_id, token });
                }
            }
        }
    }

    /// An attempt that a remote executor had is over; its run may have another one by now.
    fn over(&mut self, (run_id, token): (RunId, FencingToken), effects: &mut Vec<Effect>) {
        let location = self.dispatcher.locations_of(run_id).into_iter().find(|(known, _)| *known == token);
        if let Some((_, SlotLocation::Remote(executor))) = location {
            self.dispatcher.finished((run_id, token));
            effects.push(Effect::Forget { executor, run_id, token });
        }
    }

    fn cancel(&self, run_id: RunId, effects: &mut Vec<Effect>) {
        for (_, location) in self.dispatcher.locations_of(run_id) {
            effects.push(match location {
                SlotLocation::Local(_) => Effect::Kill(run_id),
                SlotLocation::Remote(executor) => Effect::Recall { executor, run_id },
            });
        }
    }
}

fn given_back(assignment: &StartedAttempt) -> CoreCommand {
    let report = AttemptReport::Unclaimed { reason: format!("{} left", assignment.executor.executor) };
    let command = Command::Report { run_id: assignment.run_id, token: assignment.token, report };
    CoreCommand { job_id: assignment.job_id, slotted: SlottedCommand { command, reservation: None }, location: None }
}
