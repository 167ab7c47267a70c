//! The server itself, its nodes, and the store as a whole.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ordo_model::schedule::PreviewedOccurrence;
use ordo_model::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub status: HealthStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    Ok,
    Ready,
}

/// How the server is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Status)]
pub struct StatusView {
    pub node: String,
    pub version: String,
    pub time_zones: TimeZones,
    pub ready: bool,
    pub now: Timestamp,
    pub tick_rate: Millis,
    pub uptime: Millis,
    pub uptime_ms: u64,
    /// Alarms of the near future held in memory.
    pub ring: usize,
    pub pools: Vec<PoolView>,
    pub tools: Vec<String>,
    pub counters: BTreeMap<String, u64>,
    /// Where all events are mirrored to, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<MirrorView>,
}

/// How the mirror of all events in another system is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Mirror)]
pub struct MirrorView {
    /// Where it writes to, without credentials.
    pub target: String,
    /// `standing_by` (another node mirrors), `catching_up`, `caught_up` or `failing`.
    #[schema(examples("caught_up"))]
    pub state: String,
    /// The age of the oldest event that is known not to be there yet.
    pub lag_ms: u64,
    /// Events appended since the node started.
    pub appended: u64,
    /// Tries that failed since the node started.
    pub failures: u64,
    /// Events that were trimmed or purged before they could be mirrored.
    pub missing: u64,
    /// The same, from before the mirror began.
    pub missing_before: u64,
    /// How many streams are not mirrored because something stands in their way.
    pub halted: usize,
    /// The first of them, at most 20.
    pub halted_streams: Vec<HaltedStream>,
    /// Why the last try failed; null when it did not.
    #[schema(required)]
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HaltedStream {
    pub stream: String,
    pub reason: String,
}

/// What the timekeeper of a node has in mind: a projection of the alarms in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Timekeeper)]
pub struct TimekeeperView {
    pub node: String,
    pub now: Timestamp,
    pub tick_rate: Millis,
    pub ticks: u64,
    pub next_tick_at: Timestamp,
    /// How far ahead a tick looks.
    pub horizon: Millis,
    pub horizon_ms: u64,
    /// Up to here every alarm is in the ring or in flight; null: nothing was looked at yet.
    #[schema(required)]
    pub covered_until: Option<Timestamp>,
    pub ring: RingView,
    /// Woken, and not yet settled.
    pub in_flight: usize,
    /// By how much the first in the ring is late; 0 when nothing is.
    pub lag_ms: u64,
    /// How many of the 256 partitions it looks after.
    pub partitions: usize,
    /// False once it is stopping, or the store was found to be damaged.
    pub firing: bool,
    /// By how much the wall clock was set since the process began, forward or back.
    pub clock_set_ms: i64,
}

/// The near future in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TimekeeperRing)]
pub struct RingView {
    pub entries: usize,
    pub capacity: usize,
    #[schema(required)]
    pub next_due_at: Option<Timestamp>,
    /// The first in it, at most 20.
    pub nearest: Vec<NearAlarm>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NearAlarm {
    pub due_at: Timestamp,
    /// Whose alarm it is.
    pub stream: String,
}

/// Which rules of time zones the server follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimeZones {
    /// The release of the IANA database: 2026a.
    #[schema(required)]
    pub version: Option<String>,
    /// `bundled` or `system`.
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolStatus)]
pub struct PoolView {
    pub name: String,
    pub running: usize,
    pub waiting: usize,
}

/// What a cron expression means, and its next occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CronExplained {
    pub expr: String,
    pub timezone: String,
    /// As a sentence.
    pub schedule: String,
    pub items: Vec<PreviewedOccurrence>,
    /// Always null: there is one page.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// One node of those that share the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Node)]
pub struct NodeDescription {
    pub name: String,
    /// New with every start.
    pub generation: Uuid,
    pub roles: Vec<String>,
    pub version: String,
    #[schema(required)]
    pub url: Option<String>,
    /// `alive`, `draining` or `silent`.
    pub state: String,
    pub joined_at: Timestamp,
    pub seen_at: Timestamp,
    /// How many of the 256 partitions it serves.
    pub partitions: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DrainNode {
    /// False takes it back.
    pub draining: bool,
}

impl Default for DrainNode {
    fn default() -> DrainNode {
        DrainNode { draining: true }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeDraining {
    pub name: String,
    pub draining: bool,
}

/// How much is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreStats {
    pub driver: String,
    pub format: u32,
    pub bytes_on_disk: u64,
    pub entities: u64,
    pub events: u64,
    pub alarms: u64,
    pub chunks: u64,
    /// By view.
    pub rows: BTreeMap<String, u64>,
    /// Of a store in a file. null: a database has its own.
    #[schema(required)]
    pub journal: Option<StoreJournal>,
}

/// What the journal of a store in a file holds, and what it did since the store was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreJournal {
    /// Records that a crash now would leave to be replayed.
    pub pending_bytes: u64,
    /// What its files take on the disk.
    pub allocated_bytes: u64,
    pub checkpoints: u64,
    /// The longest time commits waited for a checkpoint.
    pub checkpoint_micros_max: u64,
    /// What was replayed when the store was last opened.
    pub recovered_records: u64,
    pub recovered_bytes: u64,
    pub recovery_micros: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupStore {
    /// An absolute path on the server's machine, of a file that does not exist yet.
    #[schema(value_type = String, pattern = "^/")]
    pub to: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreCopy {
    #[schema(value_type = String)]
    pub to: PathBuf,
    pub bytes: u64,
}

/// Whether everything derived equals what the events say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreCheck {
    pub clean: bool,
    pub entities: u64,
    pub events: u64,
    pub rows: u64,
    pub differences: u64,
    /// The first differences, for people.
    pub shown: Vec<String>,
}
