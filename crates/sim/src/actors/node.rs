//! One generation of the node: the real core, the real rounds, the real store, as the shell would put them together.
//!
//! Invariant: a generation never touches the disk after its end, and nothing of it is left but what was written.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use ordo_engine::change::Change;
use ordo_engine::core::{Core, Effect, Input};
use ordo_engine::queries::Queries;
use ordo_engine::timekeeper::AlarmScan;
use ordo_engine::{Draws, Find, Request, queries, recovery, retention};
use ordo_model::job::{Definition, SlotReservation};
use ordo_model::{Incarnation, JobId, Kind};
use ordo_store::{Fault, Store};
use ordo_store_redb::{RedbOptions, RedbStore};
use uuid::Uuid;

use crate::actors::executor::SimExecutor;
use crate::actors::ready::ready;
use crate::closing;
use crate::commits::{Commits, SimSubmission, To};
use crate::happening::Happening;
use crate::record::history::{FactKind, FinalState};
use crate::world::{Crash, Simulation};

/// The shell asks the core at least this often. While the clock goes as it should, asking early changes nothing: the
/// world does it only after a jump.
const LONGEST_SLEEP_MS: i64 = 1_000;
/// A slow read is still fast enough for the horizon.
const SLOW_READ_MS: i64 = 1_000;
/// How often the maintenance passes run.
const MAINTENANCE_MS: i64 = 60_000;
/// So small that every world meets checkpoints.
const JOURNAL_BYTES: usize = 128 * 1024;
/// How long whoever supervises the process waits before it starts it again, at most.
const RESTART_MS: i64 = 15 * 60_000;

#[derive(Debug)]
pub(crate) struct SimNode {
    pub(crate) number: u32,
    pub(crate) generation: Uuid,
    pub(crate) store: Arc<RedbStore>,
    pub(crate) queries: Queries,
    pub(crate) core: Core,
    timer_epoch: u64,
    pub(crate) commits: Commits,
    pub(crate) executor: SimExecutor,
    /// What the last pass of maintenance still wants to have committed, one by one.
    pub(crate) maintaining: VecDeque<Request>,
    /// The process dies after this many more effects.
    pub(crate) crash_in: Option<u32>,
}

impl SimNode {
    pub(crate) fn is_idle(&self) -> bool {
        self.commits.is_idle() && self.maintaining.is_empty()
    }

    /// The last scan at the store, by its own checks.
    pub(crate) fn close(self, end: &mut FinalState) {
        end.slots_taken = self.core.running_len();
        end.executing = self.executor.len();
        let SimNode { store, commits, queries, core, .. } = self;
        drop((commits, queries, core));
        closing::look(&store, end);
    }
}

impl Simulation {
    pub(crate) fn node(&mut self) -> &mut SimNode {
        self.node.as_mut().expect("what needs a node is void without one")
    }

    pub(crate) fn generation(&self) -> u32 {
        self.node.as_ref().map_or(0, |node| node.number)
    }

    // --- boot and crash -------------------------------------------------------------------------

    pub(crate) fn boot(&mut self) -> Result<(), Crash> {
        if self.node.is_some() {
            return Ok(());
        }
        match self.start() {
            Ok(()) => Ok(()),
            // A process that cannot start ends; it is started again.
            Err(fault) if !self.plug.is_cut() => {
                self.note(format_args!("start failed: {fault}"));
                self.trouble(self.mono);
                self.soon(5_000, Happening::Boot);
                Ok(())
            }
            Err(_) => Err(Crash),
        }
    }

    fn start(&mut self) -> Result<(), Fault> {
        let generation = Uuid::from_u64_pair(self.rng.draw(), self.rng.draw());
        let options = RedbOptions { journal_bytes: JOURNAL_BYTES, ..RedbOptions::default() };
        let store = Arc::new(self.plug.open_store(options)?);
        self.trouble(self.mono);
        self.tail(store.as_ref(), None);
        let found = ready(closing::versions(store.as_ref()))?;
        self.generations += 1;
        self.fact(FactKind::Booted { generation, found });
        let me = Incarnation { executor: "local".into(), generation };
        let shared: Arc<dyn Store> = store.clone();
        let (mut commits, queries) = (Commits::new(), Queries::new(shared));
        let running = ready(recovery::attempts(&queries))?;
        let whose = recovery::Whose::Everybodys(&me);
        let orders = recovery::orders(&running, whose, &BTreeSet::new(), self.tick_rate().saturating_mul(2));
        let round = commits.run_now(store.as_ref(), orders, self.now());
        let failed = round.fault.is_some();
        self.tail(store.as_ref(), (!failed).then(|| self.wall_ms()));
        if failed || self.plug.is_cut() {
            return Err(Fault::damaged("recovery stopped"));
        }
        let tools = Some(Arc::new(BTreeSet::from(["virtual".to_owned()])));
        let reservation = SlotReservation {
            executor: me,
            group: Definition::DEFAULT_GROUP.into(),
            tools,
            draw: 0,
            has_others: false,
            is_keyless: false,
        };
        let draws = Draws::of_seed(self.generations.into());
        let core = Core::new(reservation, draws, self.tick_rate(), self.scenario.pools, self.now());
        self.node = Some(SimNode {
            number: self.generations,
            generation,
            store,
            queries,
            core,
            timer_epoch: 0,
            commits,
            executor: SimExecutor::default(),
            maintaining: VecDeque::new(),
            crash_in: None,
        });
        let generation = self.generations;
        // Before all else: what is committed later comes by the same channel, behind it.
        self.after(0, Happening::Input { generation, input: Box::new(Input::Changed(round.changes)) });
        self.after(0, Happening::Timer { generation, timer_epoch: 0 });
        self.after(MAINTENANCE_MS, Happening::Maintenance { generation });
        Ok(())
    }

    /// The process is gone. Whoever waits for an answer never gets one.
    pub(crate) fn crash(&mut self) {
        self.plug.pull();
        if let Some(node) = self.node.take() {
            self.fact(FactKind::Crashed { generation: node.generation });
        }
        self.answers_are_lost();
        let seed = self.rng.draw();
        let power_lost = self.power_lost;
        self.plug = self.plug.replug(power_lost, seed);
        self.note(format_args!("the process is gone; power lost: {power_lost}"));
        if !self.calm {
            self.maybe_crash_again();
        }
        self.trouble(self.mono);
        let delay = if self.calm { 100 } else { self.rng.skewed(10, RESTART_MS) };
        self.after(delay, Happening::Boot);
    }

    /// One effect closer to the end, if it is near.
    pub(crate) fn burn(&mut self) -> Result<(), Crash> {
        match &mut self.node().crash_in {
            Some(0) => Err(Crash),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    // --- the core's loop ------------------------------------------------------------------------

    pub(crate) fn timer(&mut self, timer_epoch: u64) -> Result<(), Crash> {
        if self.node().timer_epoch == timer_epoch { self.step(Input::Time) } else { Ok(()) }
    }

    pub(crate) fn step(&mut self, input: Input) -> Result<(), Crash> {
        let now = self.now();
        self.burn()?;
        for effect in self.node().core.step([input], now) {
            self.burn()?;
            self.perform(effect);
        }
        self.set_timer();
        Ok(())
    }

    fn set_timer(&mut self) {
        let now = self.wall_ms();
        let node = self.node();
        node.timer_epoch += 1;
        let (generation, timer_epoch) = (node.number, node.timer_epoch);
        if let Some(at) = node.core.next_wake() {
            self.after((at.ms() - now).max(1), Happening::Timer { generation, timer_epoch });
        }
    }

    /// The clock was set: the core notices when its longest sleep is over.
    pub(crate) fn notice_jump(&mut self) {
        let Some(node) = &self.node else { return };
        let timer = Happening::Timer { generation: node.number, timer_epoch: node.timer_epoch };
        let sleeps = self.rng.between(1, LONGEST_SLEEP_MS);
        self.after(sleeps, timer);
    }

    fn perform(&mut self, effect: Effect) {
        let (generation, read_ms) = (self.generation(), self.read_takes());
        match effect {
            Effect::ScanAlarms(scan) => self.soon(read_ms, Happening::AlarmScan { generation, scan }),
            Effect::FindWaiting(find) => self.soon(read_ms, Happening::FindWaiting { generation, find }),
            Effect::Submit(orders) => {
                for slotted in orders {
                    let request = Request::new(slotted.job_id, ordo_model::job::Command::Wake);
                    let request = Request { slotted: slotted.slotted, location: slotted.location, ..request };
                    self.submit(SimSubmission { request, to: To::Nobody });
                }
            }
            Effect::Execute(started) => self.execute(&started),
            Effect::Kill(run) => self.kill(run),
            Effect::Deliver(_) | Effect::Recall { .. } | Effect::Forget { .. } | Effect::Withdraw(_) => {
                unreachable!("this world has no executors elsewhere")
            }
            // This world trims at its own times, and tells its clock by the moments alone.
            Effect::TrimHistory | Effect::ClockStepped { .. } | Effect::RollCall | Effect::Publish(_) => {}
            Effect::Reconcile(entity) => {
                assert_eq!(entity.kind, Kind::Job, "this world has jobs only");
                self.soon(read_ms, Happening::Reconcile { generation, job: JobId(entity.id) });
            }
        }
    }

    /// The page is read now and arrives a little later: much may happen in between.
    pub(crate) fn look(&mut self, scan: AlarmScan) -> Result<(), Crash> {
        let read = ready(self.node().store.due(scan.until, scan.after, scan.limit));
        let input = match read {
            Ok(page) => Input::Scanned { scan, page },
            Err(_) => Input::ScanFailed,
        };
        self.deliver_read(input)
    }

    pub(crate) fn find_waiting(&mut self, find: &Find) -> Result<(), Crash> {
        let read = ready(queries::waiting_runs(self.node().store.as_ref(), find));
        let (found, complete) = read.unwrap_or_default();
        let input = Input::Waiting { queue: find.queue.clone(), found, complete };
        self.deliver_read(input)
    }

    /// Nobody outside wants to hear of anything: what waits in the outbox is handed on by being read.
    pub(crate) fn reconcile(&mut self, job_id: JobId) -> Result<(), Crash> {
        let read = ready(self.node().queries.job(job_id));
        if self.plug.is_cut() {
            return Err(Crash);
        }
        match read {
            Ok(job) => {
                if let Some(through) = job.and_then(|job| job.outbox.last_version()) {
                    let request = Request::new(job_id, ordo_model::job::Command::Published { through });
                    self.submit(SimSubmission { request, to: To::Nobody });
                }
                Ok(())
            }
            Err(_) => {
                let failed = Change { failed: true, ..Change::of(job_id) };
                self.deliver_read(Input::Changed(vec![failed]))
            }
        }
    }

    /// The longest a read takes to be made, and again to come back.
    fn read_takes(&self) -> i64 {
        if self.mono < self.slow_until.max(self.slow_reads_until) { SLOW_READ_MS } else { self.scenario.read_ms }
    }

    fn deliver_read(&mut self, input: Input) -> Result<(), Crash> {
        if self.plug.is_cut() {
            return Err(Crash);
        }
        let (generation, read_ms) = (self.generation(), self.read_takes());
        self.soon(read_ms, Happening::Input { generation, input: Box::new(input) });
        Ok(())
    }

    // --- maintenance -----------------------------------------------------------------------------

    pub(crate) fn maintain(&mut self) -> Result<(), Crash> {
        let generation = self.generation();
        self.after(MAINTENANCE_MS, Happening::Maintenance { generation });
        let now = self.now();
        let wanted = ready(retention::pass(&self.node().queries, now)).unwrap_or_default();
        // Faults of this are the next pass's business.
        let _ = ready(self.node().store.forget_dedup(now, 10_000));
        if self.plug.is_cut() {
            return Err(Crash);
        }
        let resting = self.node().maintaining.is_empty();
        if resting {
            self.node().maintaining.extend(wanted);
            self.maintain_next();
        }
        Ok(())
    }

    /// Maintenance waits for each answer before it asks for more.
    pub(crate) fn maintain_next(&mut self) {
        if let Some(request) = self.node().maintaining.pop_front() {
            self.submit(SimSubmission { request, to: To::Maintenance });
        }
    }

    pub(crate) fn run_row(&mut self, run: ordo_model::RunId) -> Option<ordo_model::job::Run> {
        ready(self.node().queries.run(run)).ok().flatten()
    }

    pub(crate) fn job_row(&mut self, job: JobId) -> Option<ordo_model::job::Job> {
        ready(self.node().queries.job(job)).ok().flatten()
    }
}
