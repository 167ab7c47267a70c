//! What nodes say of their executors beside their heartbeats, so that others can choose among them.
//!
//! Invariant: ages and not moments, so that clocks do not matter. Word that is old or missing delays a run.

use ordo_model::Millis;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How one executor of a node is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorLoad {
    /// Its generation.
    pub id: Uuid,
    pub free: u32,
    /// How often its node chose it.
    #[serde(default)]
    pub chosen: u64,
    /// None: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_ago: Option<Millis>,
    #[serde(default)]
    pub heard_ago: Millis,
    /// Offers it let pass since it last asked for work.
    #[serde(default)]
    pub missed: u32,
}

/// The word of a node on all of its executors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeLoads {
    pub loads: Vec<ExecutorLoad>,
    /// The others should know before the next heartbeat: somebody is full, or no longer.
    pub is_urgent: bool,
}
