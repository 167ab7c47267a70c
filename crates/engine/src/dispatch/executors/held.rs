//! What an executor has, for whoever speaks for it and was started anew.

use ordo_model::{FencingToken, JobId, RunId, Timestamp};
use uuid::Uuid;

use crate::engine::Engine;

/// An attempt that an executor was handed and has not reported on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldAttempt {
    pub run_id: RunId,
    pub job_id: JobId,
    pub token: FencingToken,
    pub attempt: u32,
    pub since: Timestamp,
}

impl Engine {
    /// The attempts of an executor that is registered with this node.
    pub fn held_by(&self, id: Uuid) -> Vec<HeldAttempt> {
        self.registry().held_by(id)
    }
}
