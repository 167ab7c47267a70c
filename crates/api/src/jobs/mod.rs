//! Jobs: as they are asked for, changed and answered.

mod action;
mod new_job;
mod patch;
mod revisions;

use std::io::Write;
use std::sync::Arc;

use ordo_model::job::{After, Definition, Job, JobState, Last, Phase, Pool, Trigger};
use ordo_model::limits::{SLOW_AFTER, SLOW_RUNS};
use ordo_model::schedule::{Occurrence, PreviewedOccurrence};
use ordo_model::{JobId, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::ProblemDetails;

pub use action::{ACTION_JSON, ActionStatus, ActionTrigger, ActionView, ReceivedPayload};
pub use new_job::NewJob;
pub use patch::JobPatch;
pub use revisions::{JobDiff, RevertJob, RevisionView};

/// A job: its definition, where it stands, and what it did last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Job)]
pub struct JobView {
    pub id: JobId,
    #[serde(flatten)]
    #[schema(value_type = Definition)]
    pub definition: Arc<Definition>,
    pub state: JobState,
    #[schema(required)]
    pub next_tick_at: Option<Timestamp>,
    /// The trigger as a sentence.
    pub schedule: String,
    /// Moves with the definition; the ETag.
    pub revision: u64,
    /// Of its stream.
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The run that ended last.
    #[schema(required)]
    pub last: Option<Last>,
    pub failures_in_row: u32,
    /// How many runs are not over.
    pub active: usize,
    /// How many backfills are under way.
    pub backfills: usize,
    /// Of the server's own executor.
    pub pool: Pool,
    pub pool_reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_reason: Option<String>,
}

impl JobView {
    /// As it looks at `now`: a job that was slow and has rested since is fast again.
    pub fn of(job: &Job, now: Timestamp) -> JobView {
        let (paused_since, paused_reason) = match &job.phase {
            Phase::Paused { reason, since } => (Some(*since), reason.clone()),
            Phase::Active | Phase::Held | Phase::Cancelled => (None, None),
        };
        JobView {
            id: job.id,
            definition: job.definition.clone(),
            state: job.state(),
            next_tick_at: job.next_tick_at(),
            schedule: sentence(&job.definition),
            revision: job.revision,
            version: job.version,
            created_at: job.created_at,
            updated_at: job.updated_at,
            last: job.history.last.clone(),
            failures_in_row: job.history.failures_in_row,
            active: job.active.len(),
            backfills: job.backfills.len(),
            pool: job.pace.seen_at(now.max(job.updated_at)).pool(),
            pool_reason: pool_reason(job, now),
            paused_since,
            paused_reason,
        }
    }

    /// What serde writes, at a fraction of the cost: the definition is laid into it as it was written for the store.
    pub fn to_json(&self) -> Vec<u8> {
        let definition = self.definition.json();
        let mut json = Vec::with_capacity(definition.len() + STANDING_BYTES);
        // Writing into memory does not fail.
        write!(json, r#"{{"id":"{}","#, self.id).unwrap_or_default();
        json.extend_from_slice(&definition.as_bytes()[1..definition.len() - 1]);
        let standing = json.len();
        serde_json::to_writer(&mut json, &Standing::of(self)).expect("a job is plain data");
        json[standing] = b',';
        json
    }
}

/// About as much as a job takes besides its definition.
const STANDING_BYTES: usize = 512;

/// A [`JobView`] without its id and its definition, field by field in the same order.
#[derive(Serialize)]
struct Standing<'a> {
    state: JobState,
    next_tick_at: Option<Timestamp>,
    schedule: &'a str,
    revision: u64,
    version: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    last: &'a Option<Last>,
    failures_in_row: u32,
    active: usize,
    backfills: usize,
    pool: Pool,
    pool_reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_reason: &'a Option<String>,
}

impl Standing<'_> {
    fn of(job: &JobView) -> Standing<'_> {
        // Named one by one, so that a field that is added is not forgotten here.
        let JobView {
            id: _,
            definition: _,
            state,
            next_tick_at,
            schedule,
            revision,
            version,
            created_at,
            updated_at,
            last,
            failures_in_row,
            active,
            backfills,
            pool,
            pool_reason,
            paused_since,
            paused_reason,
        } = job;
        Standing {
            state: *state,
            next_tick_at: *next_tick_at,
            schedule,
            revision: *revision,
            version: *version,
            created_at: *created_at,
            updated_at: *updated_at,
            last,
            failures_in_row: *failures_in_row,
            active: *active,
            backfills: *backfills,
            pool: *pool,
            pool_reason,
            paused_since: *paused_since,
            paused_reason,
        }
    }
}

/// Why the job is in its pool, for people.
pub fn pool_reason(job: &Job, now: Timestamp) -> String {
    let pace = job.pace.seen_at(now.max(job.updated_at));
    let slow = pace.slow.max(pace.slow_before);
    match pace.pool() {
        Pool::Fast if slow == 0 => format!("no run in this minute or the one before took longer than {SLOW_AFTER}"),
        Pool::Fast => {
            let runs = if slow == 1 { "run" } else { "runs" };
            format!("{slow} {runs} within a minute took longer than {SLOW_AFTER}; more than {SLOW_RUNS} are slow")
        }
        Pool::Slow => {
            format!("{slow} runs within a minute took longer than {SLOW_AFTER}, which is more than {SLOW_RUNS}")
        }
    }
}

/// When the job runs, for people.
pub fn sentence(definition: &Definition) -> String {
    let own = match &definition.trigger {
        Trigger::Scheduled(schedule) => Some(schedule.describe()),
        Trigger::Webhook { hook } => Some(format!("on webhook {hook}")),
        Trigger::Manual => None,
    };
    match (own, definition.after.as_ref().map(After::describe)) {
        (Some(own), Some(after)) => format!("{own}, and {after}"),
        (Some(own), None) => own,
        (None, Some(after)) => after,
        (None, None) => "only when triggered".to_owned(),
    }
}

/// Many jobs at once. Each is accepted or refused by itself.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJobs {
    pub jobs: Vec<NewJob>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchResults {
    /// In the order of the jobs.
    pub results: Vec<BatchResult>,
}

/// What became of one job of a batch: it has an id, or there is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<JobId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemDetails>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TriggerJob {
    /// Instead of the job's own input, for this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<Value>,
}

/// The run that was begun, or skipped by the block strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunBegun {
    pub run_id: RunId,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PauseJob {
    /// Kept with the job's events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackfillJob {
    pub from: Timestamp,
    /// Not included; now when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Only say what would be run.
    #[serde(default)]
    pub dry_run: bool,
}

/// What is run once more, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Backfill)]
pub struct BackfillView {
    pub from: Timestamp,
    pub to: Timestamp,
    pub dry_run: bool,
    pub count: usize,
    /// At most the first 100.
    pub items: Vec<Occurrence>,
}

/// When a job fires next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobPreview {
    /// The trigger as a sentence.
    pub schedule: String,
    pub items: Vec<PreviewedOccurrence>,
    /// Always null: a preview has one page.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::job::{Command, SlottedCommand, decide};
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn a_job_is_answered_with_the_bytes_that_serde_writes() {
        let now = Timestamp::from_ms(1_700_000_000_000).unwrap();
        for more in [json!({}), json!({ "description": "\"quoted\" \u{1F600}\n", "tool_input": { "a": [1, null] } })] {
            let mut fields = json!({ "label": "nightly", "tool_name": "noop", "trigger": { "type": "manual" } });
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let definition: Definition = serde_json::from_value(fields).unwrap();
            let command = Command::Schedule { definition: Box::new(definition), held: false };
            let schedule = SlottedCommand { command, reservation: None };
            let decided = decide(JobId(Uuid::from_u128(7)), None, schedule, now).unwrap();
            let mut job = JobView::of(&decided.job, now);
            assert_eq!(String::from_utf8(job.to_json()).unwrap(), serde_json::to_string(&job).unwrap());
            job.paused_since = Some(now);
            job.paused_reason = Some("\\".to_owned());
            assert_eq!(String::from_utf8(job.to_json()).unwrap(), serde_json::to_string(&job).unwrap());
        }
    }
}
