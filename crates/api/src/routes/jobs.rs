//! The routes of jobs.

use ordo_model::job::Trigger;
use ordo_model::limits::{LABEL_MAX_BYTES, PREVIEW_MAX};
use serde_json::json;

use super::{Delete, Get, OPERATE, Patch, Post, READ, REPLAYED, reference, text};
use crate::code::Code;
use crate::jobs::{
    ACTION_JSON, BackfillJob, BackfillView, BatchResults, JobDiff, JobPatch, JobPreview, JobView, NewJob, NewJobs,
    PauseJob, RevertJob, RevisionView, RunBegun, TriggerJob,
};
use crate::operation::Operation;
use crate::route::{Media, Method, Need, READS, Route, WRITES};

/// What is wrong with a job that a tool or the model does not take.
const UNFIT: &[Code] =
    &[Code::InvalidJob, Code::UnknownTool, Code::InvalidToolInput, Code::UnknownSecret, Code::SecretsUnavailable];

/// What can be done with a job once it is there.
const TAKES_JOB: &[Operation] = &[
    Operation::ReadJob,
    Operation::UpdateJob,
    Operation::CancelJob,
    Operation::TriggerJob,
    Operation::PauseJob,
    Operation::ResumeJob,
    Operation::BackfillJob,
    Operation::PreviewJob,
];

const SHAPE: &str = "`action`: as `application/vnd.ordo.action+json`, in the shape of an action (id, label, tool_name, tool_input, trigger with next_tick_at, \
    status, recurrence in seconds, created_at, updated_at), as ADR 0095 maps it.";

fn shape() -> serde_json::Value {
    json!({ "type": "string", "enum": ["job", "action"], "default": "job" })
}

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "jobs")
}

impl Route {
    fn answers_job(self, status: u16, description: &'static str) -> Route {
        self.answers::<JobView>(status, description).header(status, "ETag", "The job's revision, for `If-Match`.")
    }
}

pub(crate) fn create() -> Route {
    route(Post, "/v1/jobs", OPERATE)
        .summary("Create a job")
        .shared("IdempotencyKey")
        .body::<NewJob>()
        .answers_job(201, "The job, durable.")
        .header(201, "Location", "The path of the job.")
        .header(201, "Idempotency-Replayed", REPLAYED)
        .leads_to(201, TAKES_JOB, "id", "$response.body#/id")
        .leads_to(201, &[Operation::ReadStream], "stream", "ordo-job-{$response.body#/id}")
        .answers::<JobView>(200, "The job that has the same `unique_key`, where those are merged.")
        .refuses(UNFIT)
        .refuses(&[Code::InvalidHeader, Code::IdempotencyKeyReused, Code::JobNotFound, Code::WrongState])
        .refuses(&[Code::UniqueKeyTaken, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

pub(crate) fn batch() -> Route {
    route(Post, "/v1/jobs/batch", OPERATE)
        .summary("Create up to 10,000 jobs")
        .saying("Each job is accepted or refused by itself; the results come in the order of the jobs. Up to 32 MiB.")
        .shared("IdempotencyKey")
        .body::<NewJobs>()
        .answers::<BatchResults>(200, "What became of each.")
        .refuses(&[Code::InvalidHeader, Code::BatchTooLarge, Code::IdempotencyKeyReused])
        .refuses(READS)
}

pub(crate) fn list() -> Route {
    let part = json!({ "type": "string", "maxLength": LABEL_MAX_BYTES });
    route(Get, "/v1/jobs", READ)
        .summary("List jobs")
        .saying(
            "By age, newest first; with `search`, `label_prefix` or `tag` by label. `label`, `tag`, `state` and `trigger` \
             have an index. `search`, and two filters of which each fits many jobs, look at no more than 20,000 jobs in one \
             request: a page may hold fewer items than `limit`, even none, while `next_cursor` says that there is more.",
        )
        .query("label", text(), "Exactly this label. Not together with `search`, `label_prefix`.")
        .query("label_prefix", part.clone(), "The label begins with this.")
        .query("search", part, "The label contains this, ignoring case.")
        .query("tag", json!({ "type": "string" }), "The job has this tag; of several, separated by commas, all of them.")
        .query("state", reference("JobState"), "Where the job stands.")
        .query("status", reference("JobState"), "The same as `state`.")
        .query("trigger", json!({ "type": "string", "enum": Trigger::NAMES }), "What makes it run.")
        .query(
            "order",
            json!({ "type": "string", "enum": ["newest", "oldest", "next"], "default": "newest" }),
            "Which come first; `next`: those with which something happens next, and only these.",
        )
        .query("shape", shape(), SHAPE)
        .paged::<JobView>("A page of jobs.")
        .also(200, Media::ObjectAs(ACTION_JSON))
        .refuses(READS)
}

pub(crate) fn read() -> Route {
    route(Get, "/v1/jobs/{id}", READ)
        .summary("Read a job")
        .query("shape", shape(), SHAPE)
        .answers_job(200, "The job.")
        .also(200, Media::ObjectAs(ACTION_JSON))
        .refuses(&[Code::InvalidQuery, Code::JobNotFound])
        .refuses(READS)
}

pub(crate) fn update() -> Route {
    route(Patch, "/v1/jobs/{id}", OPERATE)
        .summary("Change a job")
        .saying(
            "A merge patch (RFC 7396): null means the default. `trigger`, `tool_input`, `misfire`, `block` and `after` \
             are replaced whole.",
        )
        .shared("IfMatch")
        .body::<JobPatch>()
        .answers_job(200, "The job as it is now.")
        .refuses(UNFIT)
        .refuses(&[Code::InvalidHeader, Code::JobNotFound, Code::WrongState, Code::RevisionMoved])
        .refuses(WRITES)
}

pub(crate) fn cancel() -> Route {
    route(Delete, "/v1/jobs/{id}", OPERATE)
        .summary("End a job for good; what runs is cancelled too")
        .query("reason", text(), "Kept with the job's events.")
        .answers_job(200, "The job, cancelled.")
        .refuses(&[Code::InvalidQuery, Code::JobNotFound, Code::WrongState])
        .refuses(WRITES)
}

pub(crate) fn trigger() -> Route {
    route(Post, "/v1/jobs/{id}/trigger", OPERATE)
        .summary("Run a job now")
        .shared("IdempotencyKey")
        .body_or_none::<TriggerJob>()
        .answers::<RunBegun>(202, "The run that was begun, or skipped by the block strategy.")
        .leads_to(202, &[Operation::ReadRun, Operation::CancelRun, Operation::RetryRun], "id", "$response.body#/run_id")
        .header(202, "Idempotency-Replayed", REPLAYED)
        .refuses(UNFIT)
        .refuses(&[Code::JobNotFound, Code::WrongState, Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(&[Code::UniqueKeyTaken, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

pub(crate) fn pause() -> Route {
    route(Post, "/v1/jobs/{id}/pause", OPERATE)
        .summary("Stop firing until resumed")
        .body_or_none::<PauseJob>()
        .answers_job(200, "The job, paused.")
        .refuses(&[Code::JobNotFound, Code::WrongState])
        .refuses(WRITES)
}

pub(crate) fn resume() -> Route {
    route(Post, "/v1/jobs/{id}/resume", OPERATE)
        .summary("Go on firing")
        .answers_job(200, "The job, active.")
        .refuses(&[Code::JobNotFound, Code::WrongState])
        .refuses(WRITES)
}

pub(crate) fn backfill() -> Route {
    route(Post, "/v1/jobs/{id}/backfill", OPERATE)
        .summary("Run the occurrences of a time that has passed once more")
        .shared("IdempotencyKey")
        .body::<BackfillJob>()
        .answers::<BackfillView>(200, "What would be run (`dry_run`).")
        .answers::<BackfillView>(202, "What will be run.")
        .header(202, "Idempotency-Replayed", REPLAYED)
        .refuses(&[Code::JobNotFound, Code::WrongState, Code::TooManyBackfills])
        .refuses(&[Code::InvalidJob, Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(WRITES)
}

pub(crate) fn preview() -> Route {
    let count = json!({ "type": "integer", "minimum": 1, "maximum": PREVIEW_MAX, "default": 10 });
    route(Get, "/v1/jobs/{id}/preview", READ)
        .summary("When a job fires next")
        .query("n", count, "How many occurrences.")
        .query("from", reference("Time"), "Those after this moment; now when left out.")
        .answers::<JobPreview>(200, "The next occurrences.")
        .refuses(&[Code::JobNotFound, Code::InvalidQuery])
        .refuses(READS)
}

pub(crate) fn revisions() -> Route {
    route(Get, "/v1/jobs/{id}/revisions", READ)
        .summary("The definitions that a job has had, newest first")
        .saying("As far as its events are kept: retention folds old ones into one, with the definition of that time.")
        .answers_page::<RevisionView>("All revisions that are kept.")
        .refuses(&[Code::JobNotFound])
        .refuses(READS)
}

pub(crate) fn diff() -> Route {
    let number = || json!({ "type": "integer", "minimum": 1 });
    route(Get, "/v1/jobs/{id}/diff", READ)
        .summary("What two revisions of a job differ in")
        .query("from", number(), "The older one; the one before `to` when left out.")
        .query("to", number(), "The newer one; that of today when left out.")
        .answers::<JobDiff>(200, "The fields that differ.")
        .refuses(&[Code::JobNotFound, Code::RevisionNotFound, Code::RevisionGone, Code::InvalidQuery])
        .refuses(READS)
}

pub(crate) fn revert() -> Route {
    route(Post, "/v1/jobs/{id}/revert", OPERATE)
        .summary("Give a job an earlier definition back")
        .saying(
            "An ordinary change: it makes a new revision, is checked as any change, and is guarded by `If-Match`. Runs, \
             state and history stay as they are.",
        )
        .shared("IfMatch")
        .body::<RevertJob>()
        .answers_job(200, "The job as it is now.")
        .refuses(UNFIT)
        .refuses(&[Code::InvalidHeader, Code::JobNotFound, Code::WrongState, Code::RevisionMoved])
        .refuses(&[Code::RevisionNotFound, Code::RevisionGone])
        .refuses(WRITES)
}
