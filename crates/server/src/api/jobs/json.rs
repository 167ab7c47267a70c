//! A job as it is answered: its definition, where it stands, and what it did last.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_model::job::{Definition, Job, JobState, Last, Phase, Pool, Trigger};
use ordo_model::limits::{SLOW_AFTER, SLOW_RUNS};
use ordo_model::{JobId, Timestamp};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct JobJson<'a> {
    id: JobId,
    #[serde(flatten)]
    definition: &'a Definition,
    state: JobState,
    next_tick_at: Option<Timestamp>,
    /// The trigger as a sentence.
    schedule: String,
    revision: u64,
    version: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The run that ended last.
    last: Option<&'a Last>,
    failures_in_row: u32,
    /// How many runs are not over.
    active: usize,
    /// How many backfills are under way.
    backfills: usize,
    /// Which pool of the server's own executor runs it, and why.
    pool: Pool,
    pool_reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_reason: Option<&'a str>,
}

impl JobJson<'_> {
    pub(crate) fn of(job: &Job) -> JobJson<'_> {
        let (paused_since, paused_reason) = match &job.phase {
            Phase::Paused { reason, since } => (Some(*since), reason.as_deref()),
            Phase::Active | Phase::Held | Phase::Cancelled => (None, None),
        };
        JobJson {
            id: job.id,
            definition: &job.definition,
            state: job.state(),
            next_tick_at: job.next_tick_at(),
            schedule: sentence(&job.definition.trigger),
            revision: job.revision,
            version: job.version,
            created_at: job.created_at,
            updated_at: job.updated_at,
            last: job.history.last.as_ref(),
            failures_in_row: job.history.failures_in_row,
            active: job.active.len(),
            backfills: job.backfills.len(),
            pool: job.pool(),
            pool_reason: pool_reason(job),
            paused_since,
            paused_reason,
        }
    }
}

/// Why the job is in its pool, for people.
pub(crate) fn pool_reason(job: &Job) -> String {
    let pace = job.pace.seen_at(job.updated_at);
    let slow = pace.slow.max(pace.slow_before);
    match job.pool() {
        Pool::Fast if slow == 0 => format!("no run of the last minutes took longer than {SLOW_AFTER}"),
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
pub(crate) fn sentence(trigger: &Trigger) -> String {
    match trigger {
        Trigger::Scheduled(schedule) => schedule.describe(),
        Trigger::Webhook { hook } => format!("on webhook {hook}"),
        Trigger::Manual => "only when triggered".to_owned(),
    }
}

/// The job with its revision as ETag.
pub(crate) fn answer(status: StatusCode, job: &Job) -> Response {
    let mut answer = (status, Json(JobJson::of(job))).into_response();
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", job.revision)) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}

pub(crate) fn created(job: &Job) -> Response {
    let mut answer = answer(StatusCode::CREATED, job);
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/jobs/{}", job.id)) {
        answer.headers_mut().insert(header::LOCATION, place);
    }
    answer
}
