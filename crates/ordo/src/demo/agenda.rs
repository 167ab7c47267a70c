//! What people and other systems do in the week of the demo, and when.
//!
//! Invariant: everything here is a command to the engine, signed by whoever gave it.

use std::collections::BTreeMap;

use ordo_engine::clock::new_id;
use ordo_engine::deliveries::Arrival;
use ordo_engine::{CommitExtras, Engine};
use ordo_model::hook::{Hook, HookCommand, HookTerms};
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentStatus};
use ordo_model::job::{Command, Definition};
use ordo_model::monitor::{Monitor, MonitorCommand, SentPing, Signal};
use ordo_model::{Actor, ActorSource, JobId, Millis, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::fleet::{Fleet, FleetHook, FleetJob, FleetMonitor, Response, ResponseAction, ResponseStep};
use super::history::DemoHistory;
use crate::error::{Error, Result};

/// Something that somebody does.
#[derive(Debug)]
pub(super) enum AgendaEntry {
    AddHook(usize),
    AddMonitor(usize),
    AddJob(usize),
    Deliver {
        hook: usize,
        number: u64,
    },
    Ping(usize),
    Pause(usize),
    /// The job goes to the executors of its group.
    Move(usize),
    Respond {
        incident: Uuid,
        step: ResponseStep,
    },
    /// The server is away for so long.
    Restart(Millis),
}

#[derive(Debug, Default)]
pub(super) struct Agenda(BTreeMap<(Timestamp, usize), AgendaEntry>);

/// When jobs go to their executors: shortly before the executors are there.
const MOVED_AGO: Millis = Millis::from_ms(500);

impl Agenda {
    pub(super) fn of(fleet: &Fleet, start: Timestamp, end: Timestamp) -> Agenda {
        let mut agenda = Agenda::default();
        let first = start.plus(Millis::from_ms(1));
        for hook in 0..fleet.hooks.len() {
            agenda.add(first, AgendaEntry::AddHook(hook));
            agenda.add_deliveries(hook, &fleet.hooks[hook], start, end);
        }
        for monitor in 0..fleet.monitors.len() {
            agenda.add(first, AgendaEntry::AddMonitor(monitor));
            agenda.add_pings(monitor, &fleet.monitors[monitor], start, end);
        }
        for (number, job) in fleet.jobs.iter().enumerate() {
            agenda.add(job.added.map_or(first, |ago| end.minus(ago)), AgendaEntry::AddJob(number));
            if let Some(paused) = &job.paused {
                agenda.add(end.minus(paused.ago), AgendaEntry::Pause(number));
            }
            if job.ends_in_group.is_some() {
                agenda.add(end.minus(MOVED_AGO), AgendaEntry::Move(number));
            }
        }
        agenda.add(end.minus(fleet.outage.ago), AgendaEntry::Restart(fleet.outage.lasts));
        agenda
    }

    fn add(&mut self, at: Timestamp, beat: AgendaEntry) {
        let number = self.0.len();
        // Beats that were performed are gone, so a number may come again: at the same moment it must not.
        let free = (number..).find(|number| !self.0.contains_key(&(at, *number))).unwrap_or(number);
        self.0.insert((at, free), beat);
    }

    fn add_deliveries(&mut self, hook: usize, fleet: &FleetHook, start: Timestamp, end: Timestamp) {
        // Not by the clock: people push when they have something to push.
        let wobble = |number: u64| Millis::from_ms((number * 7_919_003) % (fleet.every.ms() / 2));
        for number in 1.. {
            let at = start.plus(fleet.every.saturating_mul(number)).plus(wobble(number));
            if at >= end {
                return;
            }
            self.add(at, AgendaEntry::Deliver { hook, number });
        }
    }

    fn add_pings(&mut self, monitor: usize, fleet: &FleetMonitor, start: Timestamp, end: Timestamp) {
        let until = fleet.silent.as_ref().map_or(end, |silent| end.minus(silent.from));
        for number in 1.. {
            let at = start.plus(fleet.pings_every.saturating_mul(number));
            if at >= until {
                return;
            }
            self.add(at, AgendaEntry::Ping(monitor));
        }
    }

    pub(super) fn respond(&mut self, response: &Response, incident: Uuid, opened: Timestamp) {
        for step in &response.steps {
            self.add(opened.plus(step.after), AgendaEntry::Respond { incident, step: step.clone() });
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.0.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next one, if it is due.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<AgendaEntry> {
        self.next().filter(|next| *next <= now)?;
        self.0.pop_first().map(|(_, beat)| beat)
    }
}

impl AgendaEntry {
    pub(super) async fn perform(self, history: &mut DemoHistory) -> Result<()> {
        let fleet = history.fleet.clone();
        match self {
            AgendaEntry::AddHook(hook) => add_hook(history, &fleet.hooks[hook]).await,
            AgendaEntry::AddMonitor(monitor) => add_monitor(history, &fleet.monitors[monitor]).await,
            AgendaEntry::AddJob(job) => add_job(history, &fleet.jobs[job]).await,
            AgendaEntry::Deliver { hook, number } => deliver(history, &fleet.hooks[hook], number).await,
            AgendaEntry::Ping(monitor) => ping(history, &fleet.monitors[monitor]).await,
            AgendaEntry::Pause(job) => pause(history, &fleet.jobs[job]).await,
            AgendaEntry::Move(job) => move_job(history, &fleet.jobs[job]).await,
            AgendaEntry::Respond { incident, step } => respond(history, incident, step).await,
            // The history itself does it.
            AgendaEntry::Restart(_) => Ok(()),
        }
    }
}

/// The engine in the hands of somebody.
fn by(history: &DemoHistory, name: &str, source: ActorSource) -> Engine {
    history.engine.signed_by(&Actor::new(name, source))
}

fn refused(what: &str, why: impl std::fmt::Display) -> Error {
    Error::failed(format!("the history of the demo cannot be made: {what}")).detail(why.to_string())
}

fn job_id(history: &DemoHistory, label: &str) -> Result<JobId> {
    history.jobs.get(label).copied().ok_or_else(|| refused(label, "there is no such job yet"))
}

async fn add_job(history: &mut DemoHistory, job: &FleetJob) -> Result<()> {
    let mut form = job.definition.clone();
    if let Some(length) = form.get("trigger").and_then(|trigger| trigger.get("in")) {
        let length = Millis::deserialize(length).map_err(|error| refused(job.label(), error))?;
        let trigger = json!({ "type": "scheduled", "at": history.time.now().plus(length) });
        form.insert("trigger".to_owned(), trigger);
    }
    if let Some(upstream) = &job.after {
        form.insert("after".to_owned(), json!({ "jobs": [job_id(history, upstream)?] }));
    }
    let definition = Definition::deserialize(Value::Object(form)).map_err(|error| refused(job.label(), error))?;
    let added = by(history, &job.by, ActorSource::Cli).schedule(definition, false).await;
    let added = added.map_err(|error| refused(job.label(), error))?;
    history.jobs.insert(job.label().to_owned(), added.job.id);
    Ok(())
}

async fn pause(history: &DemoHistory, job: &FleetJob) -> Result<()> {
    let Some(paused) = &job.paused else { return Ok(()) };
    let pause = Command::Pause { reason: Some(paused.reason.clone()) };
    let done = by(history, &paused.by, ActorSource::Page).submit(job_id(history, job.label())?, pause).await;
    done.map(drop).map_err(|error| refused(job.label(), error))
}

async fn move_job(history: &DemoHistory, job: &FleetJob) -> Result<()> {
    let patch = Map::from_iter([("group".to_owned(), json!(job.ends_in_group))]);
    let update = Command::Update { patch, if_revision: None, if_followed: None };
    let done = by(history, "ada", ActorSource::Cli).submit(job_id(history, job.label())?, update).await;
    done.map(drop).map_err(|error| refused(job.label(), error))
}

async fn add_hook(history: &DemoHistory, hook: &FleetHook) -> Result<()> {
    let add = HookCommand::Add { slug: hook.slug.clone(), terms: HookTerms::default() };
    let added = by(history, "linus", ActorSource::Cli).command::<Hook>(Hook::id(&hook.slug).id, add).await;
    added.map(drop).map_err(|error| refused(&hook.slug, error))
}

async fn deliver(history: &DemoHistory, hook: &FleetHook, number: u64) -> Result<()> {
    let mut body = hook.body.clone();
    body["id"] = json!(number);
    let arrival = Arrival {
        hook: hook.slug.clone(),
        sender_id: Some(format!("{}-{number}", hook.slug)),
        replay_mark: None,
        headers: hook.headers.clone(),
        content_type: Some("application/json".to_owned()),
        body: body.to_string().into(),
        passes: true,
    };
    let received = by(history, &hook.slug, ActorSource::Hook).receive(arrival).await;
    received.map(drop).map_err(|error| refused(&hook.slug, error))
}

async fn add_monitor(history: &DemoHistory, monitor: &FleetMonitor) -> Result<()> {
    let settings = monitor.settings.clone();
    let (id, token) = (Monitor::id(&settings.name), new_id().simple().to_string());
    let add = MonitorCommand::Add { settings, token };
    let added = by(history, "mei", ActorSource::Page).command::<Monitor>(id, add).await;
    added.map(drop).map_err(|error| refused(&monitor.settings.name, error))
}

async fn ping(history: &DemoHistory, monitor: &FleetMonitor) -> Result<()> {
    let name = &monitor.settings.name;
    let ping = MonitorCommand::Ping(SentPing::of(Signal::Success));
    let pinged = by(history, name, ActorSource::Ping).command::<Monitor>(Monitor::id(name), ping).await;
    pinged.map(drop).map_err(|error| refused(name, error))
}

async fn respond(history: &DemoHistory, incident: Uuid, step: ResponseStep) -> Result<()> {
    let source = if matches!(step.does, ResponseAction::Acknowledge) { ActorSource::Slack } else { ActorSource::Page };
    let (actor, engine) = (Actor::new(&step.by, source), by(history, &step.by, source));
    let by = By::of(&actor);
    let command = match step.does {
        ResponseAction::Acknowledge => IncidentCommand::Acknowledge { by },
        ResponseAction::Assign(to) => IncidentCommand::SetAssignee { assignee: Some(to), by },
        ResponseAction::Note(text) => IncidentCommand::AddNote { text, by },
        ResponseAction::Mitigate(message) => {
            let status = IncidentStatus::Mitigating;
            IncidentCommand::UpdateStatus { status, message: Some(message), by }
        }
        ResponseAction::Trigger(label) => {
            let trigger = Command::Trigger { tool_input: None, traceparent: None };
            let done = engine.submit(job_id(history, &label)?, trigger).await;
            return done.map(drop).map_err(|error| refused(&label, error));
        }
    };
    let done = engine.command_with::<Incident>(incident, command, CommitExtras::default()).await;
    done.map(drop).map_err(|error| refused("an incident", error))
}
