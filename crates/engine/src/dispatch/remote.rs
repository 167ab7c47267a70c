//! Executors elsewhere, as far as choosing among them goes.

use ordo_model::executor::Offer;
use ordo_model::job::SlotReservation;
use ordo_model::routing::Candidate;
use ordo_model::{FencingToken, Incarnation, JobId, RunId, Timestamp};
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

use super::requirements::QueueName;

#[derive(Debug)]
pub(super) struct RemoteSlots {
    pub(super) id: Uuid,
    pub(super) name: String,
    pub(super) group: String,
    pub(super) tools: Arc<BTreeSet<String>>,
    capacity: usize,
    pub(super) reserved: usize,
    pub(super) running: usize,
    pub(super) heard_at: Timestamp,
    pub(super) chosen: u64,
    pub(super) chosen_last: u64,
    pub(super) turn_last: u64,
    pub(super) chosen_at: Timestamp,
    pub(super) missed: u32,
    pub(super) draining: bool,
}

/// An attempt that runs elsewhere since before this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub job_id: JobId,
    pub run_id: RunId,
    pub token: FencingToken,
    pub executor: Uuid,
    /// The concurrency key it holds.
    pub key: Option<String>,
}

impl RemoteSlots {
    pub(super) fn new(id: Uuid, offer: &Offer, now: Timestamp) -> RemoteSlots {
        RemoteSlots {
            id,
            name: offer.name.clone(),
            group: offer.group.clone(),
            tools: Arc::new(offer.tools.clone()),
            capacity: offer.capacity as usize,
            reserved: 0,
            running: 0,
            heard_at: now,
            chosen: 0,
            chosen_last: 0,
            turn_last: 0,
            chosen_at: Timestamp::MIN,
            missed: 0,
            draining: false,
        }
    }

    pub(super) fn serves(&self, queue: &QueueName) -> bool {
        !self.draining && self.group == queue.group && self.tools.contains(&queue.tool)
    }

    pub(super) fn free(&self) -> usize {
        self.capacity.saturating_sub(self.reserved + self.running)
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        Incarnation { executor: self.name.clone(), generation: self.id }
    }

    pub(super) fn reservation(&self) -> SlotReservation {
        let tools = Some(self.tools.clone());
        SlotReservation {
            executor: self.incarnation(),
            group: self.group.clone(),
            tools,
            draw: 0,
            has_others: false,
            is_keyless: false,
        }
    }

    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            id: self.id,
            name: &self.name,
            free: self.free(),
            heard_at: self.heard_at,
            chosen: self.chosen,
            chosen_last: self.chosen_last,
            turn_last: self.turn_last,
            chosen_at: self.chosen_at,
            missed: self.missed,
        }
    }
}
