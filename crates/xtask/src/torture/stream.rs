//! What the system says of each job at the end: its state and its stream of events.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::lab::clock::{now_ms, parse_rfc3339};
use crate::lab::socket::SocketClient;

#[derive(Debug, Clone)]
pub(super) struct StreamEvent {
    pub(super) version: u64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) data: Value,
}

#[derive(Debug)]
pub(super) struct JobRecord {
    pub(super) id: String,
    pub(super) label: String,
    /// Read before the events.
    pub(super) next_tick_at: Option<i64>,
    pub(super) read_at: i64,
    pub(super) events: Vec<StreamEvent>,
}

impl StreamEvent {
    pub(super) fn from_json(event: &Value) -> Result<StreamEvent> {
        let read = || {
            Some(StreamEvent {
                version: event["version"].as_u64()?,
                at: moment(&event["at"])?,
                kind: event["type"].as_str()?.to_owned(),
                data: event["data"].clone(),
            })
        };
        read().with_context(|| format!("not an event: {event}"))
    }

    pub(super) fn run(&self) -> Option<&str> {
        self.data["run_id"].as_str()
    }

    pub(super) fn attempt(&self) -> Option<u32> {
        self.data["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok())
    }

    /// The nominal time that a schedule brought about.
    pub(super) fn nominal(&self) -> Option<i64> {
        moment(&self.data["cause"]["occurrence"]["nominal"])
    }

    /// The first and the last occurrence of a record of several, and how many it speaks of.
    pub(super) fn gap(&self) -> Option<(i64, i64, u64)> {
        let gap = &self.data["gap"];
        Some((moment(&gap["from"])?, moment(&gap["to"])?, gap["count"].as_u64()?))
    }

    pub(super) fn reason(&self) -> &str {
        self.data["reason"].as_str().unwrap_or_default()
    }

    pub(super) fn retry_at(&self) -> Option<i64> {
        moment(&self.data["retry_at"])
    }

    /// Whether it ends its run for good.
    pub(super) fn is_terminal(&self) -> bool {
        match self.kind.as_str() {
            "JobExecuted" | "RunCancelled" | "RunExpired" | "JobSkipped" => true,
            "JobFailed" => self.retry_at().is_none(),
            _ => false,
        }
    }
}

pub(super) fn moment(value: &Value) -> Option<i64> {
    value.as_str().and_then(parse_rfc3339)
}

pub(super) fn read_all(client: &SocketClient) -> Result<Vec<JobRecord>> {
    client.items("/v1/jobs")?.iter().map(|job| read(client, job)).collect()
}

fn read(client: &SocketClient, job: &Value) -> Result<JobRecord> {
    let text = |name: &str| job[name].as_str().map(str::to_owned).with_context(|| format!("no {name} in {job}"));
    let (id, label, read_at) = (text("id")?, text("label")?, now_ms());
    let events = client.items(&format!("/v1/streams/ordo-job-{id}"))?;
    let events = events.iter().map(StreamEvent::from_json).collect::<Result<_>>()?;
    Ok(JobRecord { id, label, next_tick_at: moment(&job["next_tick_at"]), read_at, events })
}
