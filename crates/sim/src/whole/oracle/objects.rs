//! Incidents and monitors in account: one open incident for an identifier, a silent monitor noticed in time and not before,
//! every piece of news once in a timeline.

use std::collections::BTreeMap;

use ordo_model::incident::{IncidentEvent, IncidentSource};
use ordo_model::job::{Event, Timeliness};
use ordo_model::monitor::{MonitorEvent, Signal};
use ordo_model::{EntityId, JobId, Timestamp};
use uuid::Uuid;

use super::WholeEntry;
use crate::oracle::{Ruling, require};

/// Two who act within so long may not know of each other: a slow store takes that long.
const AT_ONCE_MS: i64 = 2_000;
/// How late a monitor's silence may be noticed when nothing is wrong.
const NOTICED_MS: i64 = 5_000;

#[derive(Default)]
pub(super) struct Objects {
    incidents: BTreeMap<EntityId, IncidentAccount>,
    monitors: BTreeMap<EntityId, MonitorAccount>,
    /// News by the identifier of the incident they concern: reported by whoever had them, found in timelines.
    reported: BTreeMap<String, u32>,
    found: BTreeMap<String, u32>,
    /// News that must show.
    must: BTreeMap<String, u32>,
}

struct IncidentAccount {
    identifier: Option<String>,
    generation: u32,
    is_ended: bool,
    /// When somebody opened it again, by `mono`.
    opened_again_at: Option<i64>,
    escalate_at: Option<i64>,
    expires_at: Option<i64>,
}

struct MonitorAccount {
    name: String,
    every_ms: i64,
    grace_ms: i64,
    due_at: Option<i64>,
    is_down: bool,
    pings: Vec<Uuid>,
}

fn ms(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::ms)
}

impl Objects {
    pub(super) fn incident(&mut self, entry: WholeEntry, event: &IncidentEvent) -> Ruling {
        self.count(entry, event);
        if let IncidentEvent::IncidentStarted { identifier, escalate_at, generation, .. } = event {
            // An older one that somebody opened again does not count: the newest is where news go.
            let same = |account: &&IncidentAccount| identifier.is_some() && account.identifier == *identifier;
            let newest = self.incidents.values().filter(same).max_by_key(|account| account.generation);
            // Whoever starts one and whoever opens the one before again do not wait for each other.
            let is_just_opened =
                |newest: &IncidentAccount| newest.opened_again_at.is_some_and(|at| entry.mono - at <= AT_ONCE_MS);
            let is_open = newest.is_some_and(|newest| !newest.is_ended && !is_just_opened(newest));
            let (identifier, escalate_at, generation) = (identifier.clone(), ms(*escalate_at), *generation);
            let account = IncidentAccount {
                identifier,
                generation,
                is_ended: false,
                opened_again_at: None,
                escalate_at,
                expires_at: None,
            };
            let before = self.incidents.insert(entry.entity, account);
            return require(!is_open && before.is_none(), || "started beside one that is open".into());
        }
        let account = self.incidents.get_mut(&entry.entity).ok_or("an incident that never started")?;
        let was_ended = account.is_ended;
        let ruling = account.moved(event, entry.at);
        if was_ended && !account.is_ended {
            account.opened_again_at = Some(entry.mono);
        }
        ruling
    }

    /// How often whoever has news of trouble wrote into timelines.
    fn count(&mut self, entry: WholeEntry, event: &IncidentEvent) {
        let identifier = match event {
            IncidentEvent::IncidentStarted { identifier, .. } => identifier.clone(),
            IncidentEvent::NoteAdded { .. } => {
                self.incidents.get(&entry.entity).and_then(|account| account.identifier.clone())
            }
            _ => None,
        };
        let by_itself = event.by().is_some_and(|by| matches!(by.source, IncidentSource::Monitor | IncidentSource::Job));
        if let Some(identifier) = identifier.filter(|_| by_itself) {
            *self.found.entry(identifier).or_default() += 1;
        }
    }

    /// News of a job that may open an incident, or add to one.
    pub(super) fn job(&mut self, job: JobId, event: &Event) -> Ruling {
        let news = match event {
            Event::JobFailed { retry_at: None, .. } | Event::JobSkipped { .. } | Event::RunExpired { .. } => true,
            // Well again, where that does not end the incident.
            Event::JobExecuted { .. } => true,
            Event::JobTriggered { timeliness, .. } => *timeliness == Timeliness::Misfire,
            _ => false,
        };
        if news {
            *self.reported.entry(format!("job:{job}")).or_default() += 1;
        }
        Ok(())
    }

    pub(super) fn monitor(&mut self, entry: WholeEntry, event: &MonitorEvent) -> Ruling {
        if let MonitorEvent::MonitorAdded { settings, due_at, .. } = event {
            let account = MonitorAccount {
                name: settings.name.clone(),
                every_ms: settings.every.map_or(0, |every| every.ms() as i64),
                grace_ms: settings.grace.ms() as i64,
                due_at: ms(*due_at),
                is_down: false,
                pings: Vec::new(),
            };
            let wanted = entry.at + account.every_ms + account.grace_ms;
            self.monitors.insert(entry.entity, account);
            return require(ms(*due_at) == Some(wanted), || format!("expected by {due_at:?}, not {wanted}"));
        }
        let account = self.monitors.get_mut(&entry.entity).ok_or("a monitor that was never added")?;
        let reported = self.reported.entry(format!("monitor:{}", account.name)).or_default();
        let must = self.must.entry(format!("monitor:{}", account.name)).or_default();
        account.moved(event, entry.at, reported, must)
    }

    pub(super) fn nothing_overdue(&self, wall: i64) -> Vec<String> {
        let late = self.monitors.values().filter(|monitor| monitor.due_at.is_some_and(|due| due < wall - NOTICED_MS));
        let late =
            late.map(|monitor| format!("nobody noticed that {} is silent since {:?}", monitor.name, monitor.due_at));
        let is_due = |at: Option<i64>| at.is_some_and(|at| at < wall - NOTICED_MS);
        let open = self.incidents.iter().filter(|(_, incident)| !incident.is_ended);
        let stuck = open.filter(|(_, incident)| is_due(incident.escalate_at));
        late.chain(stuck.map(|(entity, _)| format!("{entity} should have been escalated"))).collect()
    }

    pub(super) fn close(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (identifier, found) in &self.found {
            let reported = self.reported.get(identifier).copied().unwrap_or(0);
            if *found > reported {
                wrong.push(format!("{identifier}: {found} entries in timelines for {reported} pieces of news"));
            }
        }
        for (identifier, must) in &self.must {
            let found = self.found.get(identifier).copied().unwrap_or(0);
            if found < *must {
                wrong.push(format!("{identifier}: {must} times of trouble, {found} entries in timelines"));
            }
        }
        wrong
    }
}

impl IncidentAccount {
    fn moved(&mut self, event: &IncidentEvent, at: i64) -> Ruling {
        match event {
            IncidentEvent::StatusUpdated { status, escalate_at, .. } => {
                let was_ended = std::mem::replace(&mut self.is_ended, status.is_ended());
                if was_ended && !self.is_ended {
                    self.escalate_at = ms(*escalate_at);
                }
                Ok(())
            }
            IncidentEvent::Acknowledged { expires_at, .. } => {
                (self.escalate_at, self.expires_at) = (None, ms(*expires_at));
                Ok(())
            }
            IncidentEvent::AcknowledgementExpired { escalate_at, .. } => {
                let due = std::mem::take(&mut self.expires_at);
                self.escalate_at = ms(*escalate_at);
                require(due.is_some_and(|due| due <= at), || format!("an acknowledgement expired at {at}, not {due:?}"))
            }
            IncidentEvent::Escalated { escalate_at, .. } => {
                let due = std::mem::replace(&mut self.escalate_at, ms(*escalate_at));
                require(due.is_some_and(|due| due <= at), || format!("escalated at {at}, not at {due:?}"))
            }
            IncidentEvent::ClockStepped { by_ms, .. } => {
                self.escalate_at.iter_mut().chain(&mut self.expires_at).for_each(|at| *at += by_ms);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl MonitorAccount {
    fn moved(&mut self, event: &MonitorEvent, at: i64, reported: &mut u32, must: &mut u32) -> Ruling {
        match event {
            MonitorEvent::MonitorPinged { signal, body, due_at, .. } => {
                self.pings.extend(*body);
                let wanted = match signal {
                    Signal::Success | Signal::Fail => Some(at + self.every_ms + self.grace_ms),
                    Signal::Start => Some(at + self.grace_ms),
                    Signal::Log => self.due_at,
                };
                self.due_at = ms(*due_at);
                match signal {
                    // Well again: a note, where somebody else ended the incident.
                    Signal::Success => *reported += u32::from(std::mem::take(&mut self.is_down)),
                    Signal::Fail => {
                        self.is_down = true;
                        *reported += 1;
                    }
                    Signal::Start | Signal::Log => {}
                }
                require(self.due_at == wanted, || format!("expected by {due_at:?}, not {wanted:?}"))
            }
            MonitorEvent::MonitorSilent { due_at } => {
                let due = std::mem::take(&mut self.due_at);
                if !std::mem::replace(&mut self.is_down, true) {
                    *reported += 1;
                    *must += 1;
                }
                require(due == Some(due_at.ms()) && due_at.ms() <= at, || {
                    format!("silent at {at} since {due_at:?}, it was expected by {due:?}")
                })
            }
            MonitorEvent::ClockStepped { by_ms, .. } => {
                self.due_at.iter_mut().for_each(|due| *due += by_ms);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
