//! The shapes of the protocol.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::work::Cancel;
use crate::Error;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Registered {
    pub(super) id: String,
    pub(super) heartbeat_ms: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Beat {
    pub(super) cancel: Vec<String>,
    pub(super) lost: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Polled {
    pub(super) runs: Vec<Assigned>,
}

/// A run that was handed to this executor. It must be done, failed or given back.
#[derive(Debug, Clone, Deserialize)]
pub struct Assigned {
    /// The run.
    pub run_id: String,
    /// Its job.
    pub job_id: String,
    /// The label of its job.
    pub label: String,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// The fencing token: grows with every attempt of a job.
    pub token: u64,
    /// The nominal time; None when a person or a program asked for the run.
    pub scheduled_for: Option<String>,
    /// How long it may take, as the server writes it.
    pub timeout: String,
    /// The tool that is asked for.
    pub tool_name: String,
    /// What the tool is given.
    pub tool_input: Value,
    /// What a webhook brought.
    #[serde(default)]
    pub payload: Value,
    /// Its share, where the run goes to all executors.
    pub shard: Option<Shard>,
    /// Says when to stop.
    #[serde(skip)]
    pub cancel: Cancel,
}

/// One share of a run that goes to all executors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub total: u32,
}

pub(super) fn read<T: DeserializeOwned>(told: Value) -> Result<T, Error> {
    serde_json::from_value(told).map_err(|e| Error::protocol("the answer has another shape", e))
}
