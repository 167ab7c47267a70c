//! What is known of a whole world from outside: what was asked and answered, what the log showed, what was really executed
//! and sent.
//!
//! Invariant: facts stand in the order in which they happened. The oracle judges by these alone.

use std::collections::BTreeMap;

use ordo_model::hook::DeliveryEvent;
use ordo_model::incident::IncidentEvent;
use ordo_model::job::{Definition, Event};
use ordo_model::monitor::{MonitorEvent, Signal};
use ordo_model::notification::NotificationEvent;
use ordo_model::{EntityId, JobId, RunId};
use uuid::Uuid;

#[derive(Debug, Clone, Default)]
pub struct WholeHistory {
    pub facts: Vec<WholeFact>,
    /// Between these times of the calendar everything happened, with room on both sides.
    pub within: (i64, i64),
    pub tick_ms: i64,
    /// Nodes share the store, and go by its clock.
    pub is_shared: bool,
    /// Somebody may set the clock of the node back.
    pub is_set_back: bool,
    /// Which senders there are, and how long they wait between tries.
    pub senders: BTreeMap<String, Vec<i64>>,
    pub end: WholeEnd,
}

/// The world when it stands still.
#[derive(Debug, Clone, Default)]
pub struct WholeEnd {
    pub mono: i64,
    pub found: BTreeMap<EntityId, u64>,
    /// What the checks of the store and of the engine found.
    pub differences: Vec<String>,
    /// What should have come to its end long ago.
    pub unsettled: Vec<String>,
    /// How many runs of each job are kept.
    pub kept: BTreeMap<JobId, usize>,
    /// Places the node believes to be taken.
    pub slots_taken: usize,
}

#[derive(Debug, Clone)]
pub struct WholeFact {
    /// Milliseconds since the world began.
    pub mono: i64,
    /// What the clock shows that decides what is due: the store's where it is shared, otherwise the node's.
    pub wall: i64,
    pub what: Deed,
}

#[derive(Debug, Clone)]
pub enum Deed {
    Asked {
        op: u32,
        wish: Wish,
    },
    Answered {
        op: u32,
        answer: WholeAnswer,
    },
    /// An event was read from the log.
    Logged {
        entity: EntityId,
        version: u64,
        at: i64,
        event: AnyEvent,
    },
    /// A commit took the entity out of the store.
    Purged {
        entity: EntityId,
    },
    /// A node, or an executor elsewhere, began an attempt.
    Executing {
        by: Uuid,
        run: RunId,
        token: u64,
    },
    /// A node acknowledged a heartbeat that said that the executor has these attempts.
    Heartbeat {
        by: Uuid,
        /// When it was sent, by `mono`; the node heard it then or later.
        sent: i64,
        attempts: Vec<(RunId, u64)>,
    },
    /// It came to its end, whoever hears of it.
    Executed {
        run: RunId,
        token: u64,
        end: WorkResult,
    },
    /// Something was sent to somebody outside.
    Sent {
        sender: String,
        key: String,
        entity: EntityId,
        version: u64,
        attempt: u32,
        arrived: bool,
        reply: SenderReply,
    },
    /// A new generation of a node found these versions.
    NodeUp {
        node: usize,
        generation: u32,
        found: BTreeMap<EntityId, u64>,
    },
    NodeDown {
        node: usize,
    },
    /// Somebody set the clock of a node.
    ClockSet {
        node: usize,
        by_ms: i64,
    },
    /// Something that may delay everything until `until` (by `mono`).
    Trouble {
        until: i64,
    },
    Calm,
    /// From here on nothing is asked and every job is paused.
    Quiet,
}

/// What somebody asked for. Markers are found again in the log.
#[derive(Debug, Clone)]
pub enum Wish {
    CreateJob { job: JobId, marker: String, definition: Box<Definition> },
    Pause { job: JobId, marker: String },
    Resume { job: JobId },
    Update { job: JobId, marker: String },
    Trigger { job: JobId, marker: String },
    Cancel { job: JobId, marker: String },
    CancelRun { job: JobId, run: RunId, marker: String },
    StartIncident { marker: String, identifier: Option<String> },
    Note { incident: Uuid, marker: String },
    Status { incident: Uuid, marker: String },
    Acknowledge { incident: Uuid, marker: String },
    AddMonitor { name: String },
    Ping { monitor: Uuid, signal: Signal, body: Uuid },
    Deliver { hook: String, sender_id: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeAnswer {
    /// Done; names what came to be, where something did.
    Done(Option<Uuid>),
    Refused(String),
    /// It was done before.
    Before(Uuid),
    /// The store failed, the process died, or the answer was lost.
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AnyEvent {
    Job(Box<Event>),
    Incident(Box<IncidentEvent>),
    Monitor(Box<MonitorEvent>),
    Notification(Box<NotificationEvent>),
    Delivery(Box<DeliveryEvent>),
    /// Of a kind that is judged by its versions only.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkResult {
    Well,
    Badly(String),
    /// It was stopped, or nobody waits for it any more.
    Stopped,
}

/// What a sender said came of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderReply {
    Done,
    Passing {
        retry_after_ms: i64,
    },
    Permanent,
    /// It never answered in time.
    Nothing,
}
