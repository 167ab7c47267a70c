//! Monitors: what is expected, and the pings that say it happened. A new monitor is its settings.

use ordo_model::Timestamp;
use ordo_model::monitor::{Monitor, MonitorSettings, Ping};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Monitor)]
pub struct MonitorView {
    pub id: Uuid,
    #[serde(flatten)]
    pub settings: MonitorSettings,
    /// `new`, `up`, `silent` or `failing`.
    pub status: String,
    #[schema(required)]
    pub due_at: Option<Timestamp>,
    #[schema(required)]
    pub last_ping: Option<Ping>,
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    pub failures_in_row: u32,
    /// Whoever knows it may ping: `GET` or `POST`. Left out for those who may only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_path: Option<String>,
    /// Shows how it is to whoever knows the path; with `.json` or `.shields` in place of `.svg`, as JSON.
    pub badge_path: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: u64,
    /// Newest last; only when one monitor is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pings: Option<Vec<Ping>>,
    /// What the last ping with a body said, null when none did. Only when one monitor is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub last_said: Option<Option<String>>,
}

impl MonitorView {
    /// As somebody sees it who may ping it, or may not.
    pub fn of(id: Uuid, monitor: &Monitor, may_ping: bool) -> MonitorView {
        MonitorView {
            id,
            settings: monitor.settings.clone(),
            status: monitor.status.name().to_owned(),
            due_at: monitor.due_at,
            last_ping: monitor.pings.last().cloned(),
            started_at: monitor.oldest_start(),
            failures_in_row: monitor.failures_in_row,
            ping_path: may_ping.then(|| format!("/ping/{}", monitor.token)),
            badge_path: format!("/badge/{}/{}.svg", monitor.settings.name, monitor.badge_key()),
            created_at: monitor.created_at,
            updated_at: monitor.updated_at,
            version: monitor.version,
            pings: None,
            last_said: None,
        }
    }
}

/// The ping was heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PingHeard {
    pub status: String,
    #[schema(required)]
    pub due_at: Option<Timestamp>,
}

/// How a monitor is, as Healthchecks says it: one of a number of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BadgeJson {
    /// `up`, `late` or `down`.
    pub status: String,
    pub total: u32,
    /// How many are late.
    pub grace: u32,
    pub down: u32,
}
