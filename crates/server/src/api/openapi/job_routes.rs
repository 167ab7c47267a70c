//! The routes of jobs.

use ordo_model::job::Trigger;
use ordo_model::limits::{LABEL_MAX_BYTES, PREVIEW_MAX};
use serde_json::{Value, json};

use super::operation::{Operation, READS, REPLAYED, WRITES, component, shared};
use super::schemas::{list, object};
use crate::http::code::Code;

/// What is wrong with a job that a tool or the model does not take.
const UNFIT: &[Code] =
    &[Code::InvalidJob, Code::UnknownTool, Code::InvalidToolInput, Code::UnknownSecret, Code::SecretsUnavailable];

/// What can be done with a job once it is there.
const TAKES_JOB: &[&str] =
    &["readJob", "updateJob", "cancelJob", "triggerJob", "pauseJob", "resumeJob", "backfillJob", "previewJob"];

pub(super) fn all() -> Vec<Operation> {
    vec![create(), batch(), read_all(), read(), update(), cancel(), trigger(), pause(), resume(), backfill(), preview()]
}

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "jobs", summary)
}

fn answers_job(operation: Operation, status: u16, description: &str) -> Operation {
    let etag = "The job's revision, for `If-Match`.";
    operation.answers(status, description, &component("Job")).header(status, "ETag", etag)
}

fn create() -> Operation {
    let operation = operation("post", "/v1/jobs", "createJob", "Create a job")
        .parameter(shared("IdempotencyKey"))
        .body(component("NewJob"), true);
    answers_job(operation, 201, "The job, durable.")
        .header(201, "Location", "The path of the job.")
        .leads_to(201, TAKES_JOB, "id", "$response.body#/id")
        .leads_to(201, &["readStream"], "stream", "ordo-job-{$response.body#/id}")
        .header(201, "Idempotency-Replayed", REPLAYED)
        .refuses(UNFIT)
        .refuses(&[Code::InvalidHeader, Code::IdempotencyKeyReused, Code::JobNotFound, Code::WrongState])
        .answers(200, "The job that has the same `unique_key`, where those are merged.", &component("Job"))
        .refuses(&[Code::UniqueKeyTaken, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

fn batch() -> Operation {
    operation("post", "/v1/jobs/batch", "createJobs", "Create up to 10,000 jobs")
        .saying("Each job is accepted or refused by itself; the results come in the order of the jobs. Up to 32 MiB.")
        .parameter(shared("IdempotencyKey"))
        .body(component("NewJobs"), true)
        .answers(200, "What became of each.", &component("BatchResults"))
        .refuses(&[Code::InvalidHeader, Code::BatchTooLarge, Code::IdempotencyKeyReused])
        .refuses(READS)
}

fn read_all() -> Operation {
    let states = component("JobState");
    let part = json!({ "type": "string", "maxLength": LABEL_MAX_BYTES });
    operation("get", "/v1/jobs", "listJobs", "List jobs")
        .saying(
            "By age, oldest first; with `search` or `label_prefix` by label. `label` and `state` have an index. \
             `search`, and `trigger` alone, look at every job that fits the rest, at most about 20,000 in one request: \
             a page may hold fewer items than `limit`, even none, while `next_cursor` says that there is more.",
        )
        .query("label", json!({ "type": "string" }), "Exactly this label. Not together with `search`, `label_prefix`.")
        .query("label_prefix", part.clone(), "The label begins with this.")
        .query("search", part, "The label contains this, in capitals or small notifications.")
        .query("state", states.clone(), "Where the job stands.")
        .query("status", states, "The same as `state`.")
        .query("trigger", json!({ "type": "string", "enum": Trigger::NAMES }), "What makes it run.")
        .paged()
        .answers(200, "A page of jobs.", &list("Job"))
        .refuses(READS)
}

fn read() -> Operation {
    let operation = operation("get", "/v1/jobs/{id}", "readJob", "Read a job");
    answers_job(operation, 200, "The job.").refuses(&[Code::JobNotFound]).refuses(READS)
}

fn update() -> Operation {
    let operation = operation("patch", "/v1/jobs/{id}", "updateJob", "Change a job")
        .saying(
            "A merge patch (RFC 7396): null means the default. `trigger`, `tool_input`, `misfire` and `block` are \
                 replaced whole.",
        )
        .parameter(shared("IfMatch"))
        .body(component("JobPatch"), true);
    answers_job(operation, 200, "The job as it is now.")
        .refuses(UNFIT)
        .refuses(&[Code::InvalidHeader, Code::JobNotFound, Code::WrongState, Code::RevisionMoved])
        .refuses(WRITES)
}

fn cancel() -> Operation {
    let operation = operation("delete", "/v1/jobs/{id}", "cancelJob", "End a job for good; what runs is cancelled too")
        .query("reason", json!({ "type": "string" }), "Kept with the job's events.");
    answers_job(operation, 200, "The job, cancelled.")
        .refuses(&[Code::InvalidQuery, Code::JobNotFound, Code::WrongState])
        .refuses(WRITES)
}

fn trigger() -> Operation {
    let input = json!({ "description": "Instead of the job's own input, for this run." });
    operation("post", "/v1/jobs/{id}/trigger", "triggerJob", "Run a job now")
        .parameter(shared("IdempotencyKey"))
        .body(object(&[], json!({ "tool_input": input })), false)
        .answers(202, "The run that was begun, or skipped by the block strategy.", &component("RunBegun"))
        .leads_to(202, &["readRun", "cancelRun", "retryRun"], "id", "$response.body#/run_id")
        .refuses(UNFIT)
        .header(202, "Idempotency-Replayed", REPLAYED)
        .refuses(&[Code::JobNotFound, Code::WrongState, Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(&[Code::UniqueKeyTaken, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

fn reason() -> Value {
    json!({ "type": ["string", "null"], "description": "Kept with the job's events." })
}

fn pause() -> Operation {
    let operation = operation("post", "/v1/jobs/{id}/pause", "pauseJob", "Stop firing until resumed")
        .body(object(&[], json!({ "reason": reason() })), false);
    answers_job(operation, 200, "The job, paused.").refuses(&[Code::JobNotFound, Code::WrongState]).refuses(WRITES)
}

fn resume() -> Operation {
    let operation = operation("post", "/v1/jobs/{id}/resume", "resumeJob", "Go on firing");
    answers_job(operation, 200, "The job, active.").refuses(&[Code::JobNotFound, Code::WrongState]).refuses(WRITES)
}

fn backfill() -> Operation {
    let form = json!({
        "from": component("Time"),
        "to": { "anyOf": [component("Time"), { "type": "null" }], "description": "Not included; now when left out." },
        "dry_run": { "type": "boolean", "default": false, "description": "Only say what would be run." },
    });
    operation(
        "post",
        "/v1/jobs/{id}/backfill",
        "backfillJob",
        "Run the occurrences of a time that has passed once more",
    )
    .parameter(shared("IdempotencyKey"))
    .body(object(&["from"], form), true)
    .answers(200, "What would be run (`dry_run`).", &component("Backfill"))
    .answers(202, "What will be run.", &component("Backfill"))
    .refuses(&[Code::JobNotFound, Code::WrongState, Code::TooManyBackfills])
    .header(202, "Idempotency-Replayed", REPLAYED)
    .refuses(&[Code::InvalidJob, Code::InvalidHeader, Code::IdempotencyKeyReused])
    .refuses(WRITES)
}

fn preview() -> Operation {
    let count = json!({ "type": "integer", "minimum": 1, "maximum": PREVIEW_MAX, "default": 10 });
    operation("get", "/v1/jobs/{id}/preview", "previewJob", "When a job fires next")
        .query("n", count, "How many occurrences.")
        .query("from", component("Time"), "Those after this moment; now when left out.")
        .answers(200, "The next occurrences.", &component("JobPreview"))
        .refuses(&[Code::JobNotFound, Code::InvalidQuery])
        .refuses(READS)
}
