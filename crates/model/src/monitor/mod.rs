//! A monitor: a dead man's switch. Something elsewhere pings it; its silence, or its word of failure, is an incident.
//!
//! Invariant: a monitor that is up has an alarm at the moment its silence would be too long; what follows from its
//! going down or coming back stands in its outbox until it was handed on.

mod badge;
mod ping;
mod settings;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{EntityId, Kind};
use crate::job::Invalid;
use crate::moment::ClockFrame;
use crate::object::{Misplaced, Object};
use crate::outbox::Outbox;
use crate::text::is_default;
use crate::time::Timestamp;

pub use badge::BadgeStatus;
pub use ping::{Ping, PingTarget, RunningPing, SentPing, Signal, read_ping_path};
pub use settings::MonitorSettings;

/// How many pings are kept, each with what it said. Part of what a stream means: it never changes.
pub const PINGS_KEPT: usize = 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    pub settings: MonitorSettings,
    /// Whoever knows it may ping.
    pub token: String,
    pub status: MonitorStatus,
    /// By when a ping must have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// Newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pings: Vec<Ping>,
    /// A run said that it started and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The runs of which each said by an id of its own that it started; oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<RunningPing>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub failures_in_row: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: u64,
    #[serde(default, skip_serializing_if = "Outbox::is_empty")]
    pub outbox: Outbox<MonitorNotice>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub removed: bool,
    /// How the clock stood when `due_at` was laid out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<ClockFrame>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MonitorStatus {
    /// Nobody has pinged it yet.
    New,
    Up,
    /// Silent for too long.
    Silent {
        since: Timestamp,
    },
    /// A ping reported a failure.
    Failing {
        since: Timestamp,
    },
}

impl MonitorStatus {
    pub const fn name(self) -> &'static str {
        match self {
            MonitorStatus::New => "new",
            MonitorStatus::Up => "up",
            MonitorStatus::Silent { .. } => "silent",
            MonitorStatus::Failing { .. } => "failing",
        }
    }

    pub const fn is_down(self) -> bool {
        match self {
            MonitorStatus::New | MonitorStatus::Up => false,
            MonitorStatus::Silent { .. } | MonitorStatus::Failing { .. } => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MonitorNotice {
    Silent { due_at: Timestamp },
    Failed { failures_in_row: u32 },
    Recovered { since: Timestamp },
}

#[derive(Debug, Clone)]
pub enum MonitorCommand {
    /// Adds it, or gives one of the same name other settings; it keeps its token then.
    Add {
        settings: MonitorSettings,
        token: String,
    },
    /// Adds it unless there is one of the same name.
    AddIfMissing {
        settings: MonitorSettings,
        token: String,
    },
    Ping(SentPing),
    /// The alarm rang.
    Wake,
    Remove,
    Published {
        through: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum MonitorEvent {
    MonitorAdded {
        settings: MonitorSettings,
        token: String,
        due_at: Option<Timestamp>,
    },
    MonitorUpdated {
        settings: MonitorSettings,
        due_at: Option<Timestamp>,
    },
    MonitorPinged {
        signal: Signal,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Uuid>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "is_default")]
        exit_status: Option<u8>,
        #[serde(default, skip_serializing_if = "is_default")]
        rid: Option<Uuid>,
    },
    MonitorSilent {
        due_at: Timestamp,
    },
    MonitorRemoved {},
    Published {
        through: u64,
    },
    /// The wall clock was set.
    ClockStepped {
        by_ms: i64,
        frame: ClockFrame,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MonitorRefusal {
    #[error("there is no such monitor")]
    NoSuchMonitor,
    #[error("{0}")]
    Invalid(#[from] Invalid),
}

impl Monitor {
    /// The one monitor of this name.
    pub fn id(name: &str) -> Uuid {
        EntityId::named(Kind::Monitor, name).id
    }

    /// Whether it waits for so long, and not for a time of its calendar.
    fn waits_a_length(&self) -> bool {
        self.settings.every.is_some() || self.is_started()
    }

    /// When the oldest run started that has not ended.
    pub fn oldest_start(&self) -> Option<Timestamp> {
        self.started_at.into_iter().chain(self.running.iter().map(|run| run.at)).min()
    }

    fn is_started(&self) -> bool {
        self.oldest_start().is_some()
    }

    /// By when the next ping must have come, after this one.
    fn due_after_ping(&self, sent: SentPing, now: Timestamp) -> Option<Timestamp> {
        match sent.signal {
            Signal::Log => self.due_at,
            // Whatever started must end within the grace.
            Signal::Start => self.others_end_by(sent.rid, now).chain([now.plus(self.settings.grace)]).min(),
            // An end without an id is the end of all.
            Signal::Success | Signal::Fail if sent.rid.is_none() => self.settings.due_after(now),
            Signal::Success | Signal::Fail => {
                self.others_end_by(sent.rid, now).chain(self.settings.due_after(now)).min()
            }
        }
    }

    /// By when each of the runs that started must end, without this one and those whose time is over.
    fn others_end_by(&self, rid: Option<Uuid>, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        let unnamed = self.started_at.map(|at| (None, at));
        let named = self.running.iter().map(|run| (Some(run.rid), run.at));
        let others = unnamed.into_iter().chain(named).filter(move |(other, _)| *other != rid);
        others.map(|(_, at)| at.plus(self.settings.grace)).filter(move |end| *end > now)
    }
}

impl Object for Monitor {
    const KIND: Kind = Kind::Monitor;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = MonitorCommand;
    type Event = MonitorEvent;
    type Refusal = MonitorRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Monitor>,
        command: MonitorCommand,
        now: Timestamp,
    ) -> Result<Vec<MonitorEvent>, MonitorRefusal> {
        match (command, before) {
            (MonitorCommand::Add { settings, token }, before) => added(before, settings, token, now),
            (MonitorCommand::AddIfMissing { settings, token }, None) => added(None, settings, token, now),
            (MonitorCommand::AddIfMissing { .. }, Some(_)) => Ok(Vec::new()),
            (_, None) => Err(MonitorRefusal::NoSuchMonitor),
            (MonitorCommand::Ping(sent), Some(monitor)) => {
                let due_at = monitor.due_after_ping(sent, now);
                let due_at = if crate::is_planted!(MonitorPingForgotten) { monitor.due_at } else { due_at };
                let SentPing { signal, exit_status, rid, body } = sent;
                Ok(vec![MonitorEvent::MonitorPinged { signal, body, due_at, exit_status, rid }])
            }
            (MonitorCommand::Wake, Some(monitor)) => {
                let overdue = monitor.due_at.filter(|due_at| *due_at <= now);
                Ok(overdue.map(|due_at| MonitorEvent::MonitorSilent { due_at }).into_iter().collect())
            }
            (MonitorCommand::Remove, Some(_)) => Ok(vec![MonitorEvent::MonitorRemoved {}]),
            (MonitorCommand::Published { through }, Some(monitor)) => {
                let waits = monitor.outbox.entries().first().is_some_and(|entry| entry.version <= through);
                Ok(if waits { vec![MonitorEvent::Published { through }] } else { Vec::new() })
            }
        }
    }

    fn apply(_id: Uuid, before: Option<Monitor>, event: &MonitorEvent, at: Timestamp) -> Result<Monitor, Misplaced> {
        match (event, before) {
            (MonitorEvent::MonitorAdded { settings, token, due_at }, None) => Ok(Monitor {
                settings: settings.clone(),
                token: token.clone(),
                status: MonitorStatus::New,
                due_at: *due_at,
                pings: Vec::new(),
                started_at: None,
                running: Vec::new(),
                failures_in_row: 0,
                created_at: at,
                updated_at: at,
                version: 1,
                outbox: Outbox::default(),
                removed: false,
                frame: None,
            }),
            (MonitorEvent::MonitorAdded { .. }, Some(_)) => Err(Misplaced { event: "MonitorAdded" }),
            (_, None) => Err(Misplaced { event: "an event before MonitorAdded" }),
            (event, Some(mut monitor)) => {
                monitor.version += 1;
                moved(&mut monitor, event, at);
                Ok(monitor)
            }
        }
    }

    fn next_turn(&self) -> Option<Timestamp> {
        self.due_at
    }

    fn outbox_since(&self) -> Option<Timestamp> {
        self.outbox.since()
    }

    fn clock(&self) -> Option<ClockFrame> {
        self.frame
    }

    fn clock_stepped(by_ms: i64, frame: ClockFrame) -> Option<MonitorEvent> {
        Some(MonitorEvent::ClockStepped { by_ms, frame })
    }

    fn is_urgent(&self) -> bool {
        !self.outbox.is_empty()
    }

    fn chunk_owners(&self) -> Vec<Uuid> {
        self.pings.iter().filter_map(|ping| ping.body).collect()
    }

    fn is_over(&self) -> bool {
        self.removed
    }
}

fn added(
    before: Option<&Monitor>,
    settings: MonitorSettings,
    token: String,
    now: Timestamp,
) -> Result<Vec<MonitorEvent>, MonitorRefusal> {
    settings.validate()?;
    let due_at = settings.due_after(now);
    Ok(match before {
        None => vec![MonitorEvent::MonitorAdded { settings, token, due_at }],
        Some(monitor) if monitor.settings == settings => Vec::new(),
        Some(_) => vec![MonitorEvent::MonitorUpdated { settings, due_at }],
    })
}

fn moved(monitor: &mut Monitor, event: &MonitorEvent, at: Timestamp) {
    match event {
        MonitorEvent::MonitorAdded { .. } => {}
        MonitorEvent::MonitorUpdated { settings, due_at } => {
            monitor.settings = settings.clone();
            monitor.due_at = if monitor.status.is_down() { None } else { *due_at };
            monitor.updated_at = at;
        }
        MonitorEvent::MonitorPinged { signal, body, due_at, exit_status, rid } => {
            monitor.updated_at = at;
            monitor.due_at = *due_at;
            pinged(monitor, SentPing { signal: *signal, exit_status: *exit_status, rid: *rid, body: *body }, at);
        }
        MonitorEvent::MonitorSilent { due_at } => {
            monitor.due_at = None;
            monitor.updated_at = at;
            if !monitor.status.is_down() {
                monitor.status = MonitorStatus::Silent { since: *due_at };
                monitor.outbox.put(monitor.version, at, MonitorNotice::Silent { due_at: *due_at });
            }
        }
        MonitorEvent::MonitorRemoved {} => monitor.removed = true,
        MonitorEvent::Published { through } => monitor.outbox.publish(*through),
        MonitorEvent::ClockStepped { by_ms, frame } => {
            monitor.frame = Some(*frame);
            if monitor.waits_a_length() {
                monitor.due_at = monitor.due_at.map(|at| at.moved(*by_ms));
            }
            monitor.running.iter_mut().for_each(|run| run.at = run.at.moved(*by_ms));
        }
    }
}

fn pinged(monitor: &mut Monitor, sent: SentPing, at: Timestamp) {
    let SentPing { signal, exit_status, rid, body } = sent;
    let started = match signal {
        Signal::Start => {
            start(monitor, rid, at);
            None
        }
        Signal::Success | Signal::Fail => end(monitor, rid),
        Signal::Log => None,
    };
    let took_ms = started.map(|started| at.since(started).ms());
    if monitor.pings.len() == PINGS_KEPT {
        monitor.pings.remove(0);
    }
    monitor.pings.push(Ping { signal, at, took_ms, exit_status, rid, body });
    match (signal, monitor.status) {
        // A start says nothing about how it will end.
        (Signal::Start | Signal::Log, _) => {}
        (Signal::Fail, status) => {
            monitor.failures_in_row += 1;
            let since = match status {
                MonitorStatus::New | MonitorStatus::Up => at,
                MonitorStatus::Silent { since } | MonitorStatus::Failing { since } => since,
            };
            monitor.status = MonitorStatus::Failing { since };
            let failures_in_row = monitor.failures_in_row;
            monitor.outbox.put(monitor.version, at, MonitorNotice::Failed { failures_in_row });
        }
        (Signal::Success, MonitorStatus::Silent { since } | MonitorStatus::Failing { since }) => {
            monitor.failures_in_row = 0;
            monitor.status = MonitorStatus::Up;
            monitor.outbox.put(monitor.version, at, MonitorNotice::Recovered { since });
        }
        (Signal::Success, MonitorStatus::New | MonitorStatus::Up) => monitor.status = MonitorStatus::Up,
    }
}

fn start(monitor: &mut Monitor, rid: Option<Uuid>, at: Timestamp) {
    let Some(rid) = rid else {
        monitor.started_at = Some(at);
        return;
    };
    monitor.running.retain(|run| run.rid != rid);
    if monitor.running.len() == PINGS_KEPT {
        monitor.running.remove(0);
    }
    monitor.running.push(RunningPing { rid, at });
}

/// When the run started that ends. An end without an id is the end of all.
fn end(monitor: &mut Monitor, rid: Option<Uuid>) -> Option<Timestamp> {
    let Some(rid) = rid else {
        monitor.running.clear();
        return monitor.started_at.take();
    };
    let place = monitor.running.iter().position(|run| run.rid == rid)?;
    Some(monitor.running.remove(place).at)
}
