//! What is known of a world from outside: what was asked and answered, what the log showed, what was executed.
//!
//! Invariant: facts stand in the order in which they happened. The oracle judges by these alone, so a doctored
//! history must be found out.

use std::collections::BTreeMap;

use ordo_model::job::{AttemptReport, Definition, Event};
use ordo_model::{JobId, RunId};
use uuid::Uuid;

#[derive(Debug, Clone, Default)]
pub struct History {
    pub facts: Vec<Fact>,
    /// Between these wall-clock times everything happened, with room on both sides.
    pub within: (i64, i64),
    pub tick_ms: i64,
    pub end: FinalState,
}

#[derive(Debug, Clone)]
pub struct Fact {
    /// Milliseconds since the world began; never goes back.
    pub mono: i64,
    /// What the node's clock showed; may jump.
    pub wall: i64,
    pub what: FactKind,
}

#[derive(Debug, Clone)]
pub enum FactKind {
    Asked {
        op: u32,
        job: JobId,
        client_command: ClientCommand,
    },
    Answered {
        op: u32,
        reply: Reply,
    },
    /// An event was read from the log. `acked`: the store had just said that it is durable.
    Logged {
        job: JobId,
        version: u64,
        at: i64,
        acked: bool,
        event: Box<Event>,
    },
    /// The executor began an attempt.
    Executing {
        generation: Uuid,
        job: JobId,
        run: RunId,
        attempt: u32,
        token: u64,
    },
    /// The executor's attempt is over and says so.
    Reported {
        run: RunId,
        token: u64,
        report: AttemptReport,
    },
    /// A report of an attempt that was over already was sent once more.
    Stale {
        run: RunId,
        token: u64,
        refused: bool,
    },
    /// A new generation read the log anew: the versions it found.
    Booted {
        generation: Uuid,
        found: BTreeMap<JobId, u64>,
    },
    Crashed {
        generation: Uuid,
    },
    /// The node took what it decided for this job at that time for lost, whether or not it is in the log.
    Lost {
        job: JobId,
        at: i64,
    },
    /// Something that may delay everything until `until` (by `mono`).
    Trouble {
        until: i64,
    },
    /// From here on nothing goes wrong any more.
    Calm,
    /// From here on nothing is asked and every job is paused.
    Quiet,
}

/// What somebody asked for. The marker is found again in the log.
#[derive(Debug, Clone)]
pub enum ClientCommand {
    Create { marker: String, definition: Box<Definition>, held: bool },
    Update { marker: String },
    Pause { marker: String },
    Resume,
    Cancel { marker: String },
    Trigger { marker: String },
    Backfill { from: i64, to: i64 },
    CancelRun { run: RunId, marker: String },
    RetryRun { run: RunId },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Done,
    Refused(String),
    /// This was done before, by this job.
    Duplicate(JobId),
    /// The store failed, or the process died before it answered.
    Unknown,
}

/// The world when it stands still.
#[derive(Debug, Clone, Default)]
pub struct FinalState {
    pub mono: i64,
    pub wall: i64,
    /// The highest the wall clock ever showed.
    pub wall_max: i64,
    pub found: BTreeMap<JobId, u64>,
    /// Differences that the checks of the store and of the engine found.
    pub differences: Vec<String>,
    /// Places the dispatcher believes to be taken, and attempts that really run.
    pub slots_taken: usize,
    pub executing: usize,
}
