//! A week in a moment: the real engine on a clock that is moved from one alarm to the next.
//!
//! Invariant: nothing is written past the engine. Every run, incident and delivery of the history came about as it would
//! have in a week, so whatever checks a store finds nothing wrong with this one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ordo_engine::change_hint::ChangeHint;
use ordo_engine::incidents::IncidentFilter;
use ordo_engine::run_list::RunFilter;
use ordo_engine::{Engine, EngineOptions, Senders, Tools};
use ordo_model::incident::Escalation;
use ordo_model::job::{Run, RunStatus};
use ordo_model::{JobId, Kind, Millis, Timestamp};
use ordo_store::DueAlarm;
use ordo_store_redb::RedbStore;
use tokio::sync::broadcast::Receiver;
use uuid::Uuid;

use super::agenda::{Agenda, AgendaEntry};
use super::fleet::Fleet;
use super::pretend::{DemoTime, Pretend};
use super::sender::PretendedChannel;
use super::set_time::SetTime;
use crate::error::{Error, Result};

/// How much of the past there is.
const LENGTH: Millis = Millis::from_days(7);
/// How long the work of one moment may take, by the clock on the wall.
const PATIENCE: Duration = Duration::from_secs(30);
/// An alarm of anything but a job that is due and that nobody has served in this time, by the clock on the wall, may wait
/// for something else: a delivery for its runs, a notification for the one before it. If it does not, it is served later.
const SERVED_WITHIN: Duration = Duration::from_millis(5);
/// More alarms than are ever due at once.
const DUE_MAX: usize = 100;
/// More runs than ever run at once.
const RUNNING_MAX: usize = 200;
/// More incidents than there ever are.
const INCIDENTS_MAX: usize = 50;

/// The history as it is being made.
pub(super) struct DemoHistory {
    pub(super) fleet: Arc<Fleet>,
    pub(super) engine: Engine,
    pub(super) time: Arc<SetTime>,
    /// When the demo was started, which is where the history ends.
    pub(super) end: Timestamp,
    /// The jobs by label.
    pub(super) jobs: BTreeMap<String, JobId>,
    store: Arc<RedbStore>,
    agenda: Agenda,
    hints: Receiver<ChangeHint>,
    known: Vec<Uuid>,
    /// Alarms that are due although there is nothing to do: their entities wait for others.
    waiting: Vec<DueAlarm>,
}

/// Makes the week that ends at `end`.
pub(super) async fn make(fleet: Arc<Fleet>, end: Timestamp) -> Result<Arc<RedbStore>> {
    let store = Arc::new(RedbStore::in_memory()?);
    let time = SetTime::between(end.minus(LENGTH), end);
    let engine = start(&fleet, &store, &time, end).await?;
    let agenda = Agenda::of(&fleet, end.minus(LENGTH), end);
    let hints = engine.watch();
    let (jobs, known, waiting) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut history =
        DemoHistory { fleet, engine, time, end, jobs, store: store.clone(), agenda, hints, known, waiting };
    history.play().await?;
    history.engine.shutdown(Duration::ZERO).await;
    Ok(store)
}

async fn start(fleet: &Arc<Fleet>, store: &Arc<RedbStore>, time: &Arc<SetTime>, end: Timestamp) -> Result<Engine> {
    let pretend = || Pretend { fleet: fleet.clone(), started: end, pace: DemoTime::Set(time.clone()), real: None };
    let tools: Tools = fleet.tools().map(|tool| (tool.to_owned(), Arc::new(pretend()) as _)).collect();
    let options = EngineOptions { senders: senders(), escalations: escalations(fleet), ..EngineOptions::default() };
    Ok(Engine::start(store.clone(), tools, time.clock.clone(), options).await?)
}

/// The senders of the demo, in its past and its present.
pub(super) fn senders() -> Senders {
    let senders = Senders::default();
    senders.register(Arc::new(PretendedChannel));
    senders
}

pub(super) fn escalations(fleet: &Fleet) -> BTreeMap<String, Escalation> {
    let chain = Escalation { steps: fleet.escalation.clone(), ack_timeout: None };
    BTreeMap::from([("default".to_owned(), chain)])
}

impl DemoHistory {
    /// From one moment at which something happens to the next, to the end.
    async fn play(&mut self) -> Result<()> {
        loop {
            self.settle_in_time().await?;
            self.respond().await?;
            let Some(next) = self.next().await? else { break };
            self.time.move_to(next);
            while let Some(beat) = self.agenda.due(next) {
                self.perform(beat).await?;
            }
        }
        self.time.move_to(self.end);
        self.settle_in_time().await
    }

    async fn settle_in_time(&mut self) -> Result<()> {
        match tokio::time::timeout(PATIENCE, self.settle()).await {
            Ok(settled) => settled,
            Err(_) => Err(stuck(self.state().await?)),
        }
    }

    /// For whoever wants to know what it waits for.
    async fn state(&self) -> Result<String> {
        let due: Vec<String> = self.due().await?.iter().map(|due| due.entity.to_string()).collect();
        let (running, asleep) = (self.runs("running").await?.len(), self.time.count());
        Ok(format!("{}: {running} run, {asleep} of them sleep, due: {}", self.time.now(), due.join(", ")))
    }

    async fn perform(&mut self, beat: AgendaEntry) -> Result<()> {
        match beat {
            AgendaEntry::Restart(away) => self.restart(away).await,
            beat => beat.perform(self).await,
        }
    }

    /// The next moment before the end at which anything is due.
    async fn next(&self) -> Result<Option<Timestamp>> {
        let due = self.store().due(self.end, None, DUE_MAX).await?;
        let alarm = due.iter().map(|due| due.at).find(|at| *at > self.time.now());
        let moments = [alarm, self.time.next(), self.agenda.next()];
        Ok(moments.into_iter().flatten().min().filter(|next| *next < self.end))
    }

    fn store(&self) -> &Arc<dyn ordo_store::Store> {
        self.engine.queries().store()
    }

    /// Until nothing is due, nothing is about to begin, and whatever runs is asleep.
    async fn settle(&mut self) -> Result<()> {
        loop {
            self.engine.look_at_the_clock();
            if !self.engine.is_answering().await {
                return Err(stuck("the engine is gone".to_owned()));
            }
            if self.is_quiet().await? {
                return Ok(());
            }
            self.look_again().await?;
        }
    }

    /// Whatever changed, and however much was missed: then it is time to look again. If nothing changes, what is due and is
    /// no job waits for something else; jobs never do.
    async fn look_again(&mut self) -> Result<()> {
        let changed = tokio::time::timeout(SERVED_WITHIN, async {
            tokio::select! {
                hint = self.hints.recv() => drop(hint),
                () = self.time.somebody_sleeps() => {}
            }
        });
        if changed.await.is_err() {
            self.waiting = self.due().await?;
            self.waiting.retain(|due| due.entity.kind != Kind::Job);
        }
        Ok(())
    }

    async fn due(&self) -> Result<Vec<DueAlarm>> {
        Ok(self.store().due(self.time.now(), None, DUE_MAX).await?)
    }

    async fn is_quiet(&self) -> Result<bool> {
        if !self.due().await?.iter().all(|due| self.waiting.contains(due)) {
            return Ok(false);
        }
        let running = self.runs("running").await?;
        if running.len() != self.time.count() {
            return Ok(false);
        }
        let begins = |run: &Run| {
            let is_retried = matches!(run.status, RunStatus::Pending { retry_at: Some(_), .. });
            !is_retried && running.iter().all(|other| other.job_id != run.job_id)
        };
        Ok(!self.runs("pending").await?.iter().any(begins))
    }

    async fn runs(&self, status: &str) -> Result<Vec<Run>> {
        let filter = RunFilter { status: RunStatus::code_of(status), ..RunFilter::default() };
        Ok(self.engine.queries().runs(&filter, None, RUNNING_MAX).await?.items)
    }

    /// People see new incidents, and what they will do about them is put on the agenda.
    async fn respond(&mut self) -> Result<()> {
        let incidents = self.engine.queries().incidents(&IncidentFilter::default(), None, INCIDENTS_MAX).await?.items;
        for incident in incidents.iter().filter(|incident| !self.known.contains(&incident.id)) {
            let about = &incident.started_by.actor;
            // The same trouble again has the same answer, and a story is told once.
            if let Some(at) = self.fleet.responses.iter().position(|response| response.to == *about) {
                self.agenda.respond(&self.fleet.responses[at], incident.id, incident.created_at);
            }
        }
        self.known = incidents.iter().map(|incident| incident.id).collect();
        Ok(())
    }

    /// The server is away for a while, and comes back.
    async fn restart(&mut self, away: Millis) -> Result<()> {
        self.engine.shutdown(Duration::ZERO).await;
        self.time.move_to(self.time.now().plus(away));
        self.engine = start(&self.fleet, &self.store, &self.time, self.end).await?;
        self.hints = self.engine.watch();
        self.waiting.clear();
        Ok(())
    }
}

fn stuck(state: String) -> Error {
    Error::failed("the history of the demo did not come to an end")
        .detail(state)
        .hint("this is a mistake in Ordo: please report it")
}
