//! A job in the shape of the seed's action: what it does, when next, and how its last run stands.

use ordo_model::job::{Job, JobState, Run, RunStatus, Trigger};
use ordo_model::schedule::{Rule, Schedule};
use ordo_model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The media type of a job, or of a page of jobs, in this shape.
pub const ACTION_JSON: &str = "application/vnd.ordo.action+json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Action)]
pub struct ActionView {
    pub id: JobId,
    pub label: String,
    pub tool_name: String,
    #[schema(value_type = Object)]
    pub tool_input: Value,
    pub trigger: ActionTrigger,
    pub status: ActionStatus,
    /// In seconds; null: it does not recur by a fixed length.
    #[schema(required)]
    pub recurrence: Option<u64>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ActionTrigger {
    Scheduled {
        /// When it fires next; when it fired last, if it does not any more.
        next_tick_at: Timestamp,
    },
    Webhook {
        /// The bytes that came last, while they are kept.
        raw_payload: Vec<u8>,
        /// When they came; of a job that nothing came for, when it was made.
        received_at: Timestamp,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ActionStatus {
    Pending,
    Running,
    Completed { result: Value },
    Failed { reason: String },
}

/// What came through the job's hook last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedPayload {
    pub payload: Vec<u8>,
    pub at: Timestamp,
}

impl ActionView {
    /// `last`: the run of the job that ended last.
    pub fn of(job: &Job, last: Option<&Run>, received: Option<ReceivedPayload>) -> ActionView {
        let definition = &job.definition;
        ActionView {
            id: job.id,
            label: definition.label.clone(),
            tool_name: definition.tool_name.clone(),
            tool_input: definition.tool_input.clone(),
            trigger: trigger(job, last, received),
            status: status(job, last),
            recurrence: definition.trigger.schedule().and_then(seconds),
            created_at: job.created_at,
            updated_at: job.updated_at,
        }
    }
}

fn trigger(job: &Job, last: Option<&Run>, received: Option<ReceivedPayload>) -> ActionTrigger {
    match &job.definition.trigger {
        Trigger::Webhook { .. } => {
            let ReceivedPayload { payload, at } =
                received.unwrap_or(ReceivedPayload { payload: Vec::new(), at: job.created_at });
            ActionTrigger::Webhook { raw_payload: payload, received_at: at }
        }
        Trigger::Scheduled(schedule) => {
            let at = match schedule.rule {
                Rule::At { at } => Some(at),
                Rule::Every { .. } | Rule::Cron { .. } => last.and_then(|run| run.scheduled_for),
            };
            ActionTrigger::Scheduled { next_tick_at: job.next_tick_at().or(at).unwrap_or(job.created_at) }
        }
        // An action of the seed always has a time; that of a job which only people trigger is when they last did.
        Trigger::Manual => ActionTrigger::Scheduled { next_tick_at: last.map_or(job.created_at, |run| run.fired_at) },
    }
}

/// Whole seconds: the seed knows no shorter ones, and a calendar has no length.
fn seconds(schedule: &Schedule) -> Option<u64> {
    match schedule.rule {
        Rule::Every { every } => Some(every.ms().div_ceil(1_000)),
        Rule::At { .. } | Rule::Cron { .. } => None,
    }
}

/// One that will fire again is pending, whatever became of its last run: so the seed has it.
fn status(job: &Job, last: Option<&Run>) -> ActionStatus {
    if job.active.iter().any(|run| run.first_started_at.is_some()) {
        return ActionStatus::Running;
    }
    if !job.active.is_empty() || job.next_tick_at().is_some() {
        return ActionStatus::Pending;
    }
    let ended = last.map(|run| match &run.status {
        RunStatus::Completed { result, .. } => ActionStatus::Completed { result: result.clone() },
        RunStatus::Failed { reason } | RunStatus::Cancelled { reason } => {
            ActionStatus::Failed { reason: reason.clone() }
        }
        RunStatus::Skipped { reason, .. } => ActionStatus::Failed { reason: format!("skipped: {}", reason.name()) },
        RunStatus::Pending { .. } | RunStatus::Running { .. } => ActionStatus::Running,
    });
    match (job.state(), ended) {
        (JobState::Cancelled, Some(ActionStatus::Completed { result })) => ActionStatus::Completed { result },
        (JobState::Cancelled, _) => ActionStatus::Failed { reason: "the job was cancelled".to_owned() },
        (JobState::Active | JobState::Paused | JobState::Held | JobState::Finished, Some(ended)) => ended,
        (JobState::Active | JobState::Paused | JobState::Held | JobState::Finished, None) => ActionStatus::Pending,
    }
}
