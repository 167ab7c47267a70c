//! A run that goes to every executor: its shards, and how they become one end.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::run::RunStatus;
use crate::id::RunId;

/// What makes a run one share of a broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    pub parent: RunId,
    pub index: u32,
    pub total: u32,
    /// The generation of the executor it is meant for; when that is gone, any other may have it.
    pub executor: Uuid,
}

/// Which share of how many, as people and programs see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Shard))]
pub struct ShardPosition {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub total: u32,
}

/// How one share ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEnd {
    pub index: u32,
    pub run_id: RunId,
    pub status: String,
}

impl ShardEnd {
    fn is_completed(&self) -> bool {
        self.status == RunStatus::NAMES[2]
    }
}

/// What becomes of the whole when all shares are over: its result, or why it failed.
pub(super) fn whole(ends: &[ShardEnd]) -> Result<Value, String> {
    let mut ends: Vec<&ShardEnd> = ends.iter().collect();
    ends.sort_by_key(|end| end.index);
    let bad: Vec<String> = ends.iter().filter(|end| !end.is_completed()).map(|end| end.index.to_string()).collect();
    if bad.is_empty() {
        return Ok(json!({ "shards": ends }));
    }
    Err(format!("{} of {} shards did not complete: {}", bad.len(), ends.len(), bad.join(", ")))
}
