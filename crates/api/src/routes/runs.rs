//! The routes of runs.

use ordo_model::job::{Run, RunStatus};
use serde_json::json;

use super::{Get, OPERATE, Post, READ, REPLAYED, reference};
use crate::code::Code;
use crate::jobs::RunBegun;
use crate::operation::Operation;
use crate::route::{Media, Method, Need, READS, Route, Shape, WRITES};
use crate::runs::{CancelRun, LogLineView};

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "runs")
}

pub(crate) fn list() -> Route {
    route(Get, "/v1/runs", READ)
        .summary("List runs, newest first")
        .saying(
            "`job_id`, every `status` but `completed`, and the times have an index. Completed runs, the runs of a job with \
             one status, and runs by `label`, `reason`, `executor` and duration are looked for in no more than 5,000 runs \
             in one request: a page may hold fewer items than `limit`, even none, while `next_cursor` says that there is \
             more.",
        )
        .query("job_id", reference("JobId"), "Runs of this job.")
        .query("status", json!({ "type": "string", "enum": RunStatus::NAMES }), "How they stand.")
        .query("since", json!({ "type": "string" }), "Fired since this time, or within this duration: `1h`.")
        .query("until", json!({ "type": "string" }), "Fired before this time, or longer ago than this duration: `1h`.")
        .query("label", json!({ "type": "string" }), "A part of the job's label, in any case.")
        .query("reason", json!({ "type": "string" }), "A part of the reason of its end or of an attempt's, in any case.")
        .query("executor", json!({ "type": "string" }), "The name of the executor that has or had it.")
        .query("longer_than", reference("Duration"), "It took at least this long, or has so far: `10s`.")
        .query("shorter_than", reference("Duration"), "It is over and took less than this: `1m`.")
        .paged::<Run>("A page of runs. Large results are left out: read the run.")
        .refuses(READS)
}

pub(crate) fn read() -> Route {
    route(Get, "/v1/runs/{id}", READ)
        .summary("Read a run, with its result")
        .answers::<Run>(200, "The run.")
        .refuses(&[Code::RunNotFound])
        .refuses(READS)
}

pub(crate) fn logs() -> Route {
    let sent = "Events `line` (data: a LogLine), then one event `end` (data: the status of the run). An event `error` \
                (data: a Problem) comes before an end that nobody asked for.";
    route(Get, "/v1/runs/{id}/logs", READ)
        .summary("The log of a run: a page, or all of it as it is written")
        .query("follow", json!({ "type": "boolean" }), "Stream, as with `Accept: text/event-stream`.")
        .shared("LastEventId")
        .shared("Limit")
        .shared("Cursor")
        .answers_as(
            200,
            "A page of lines, or a stream until the run is over.",
            vec![Media::Page(Shape::of::<LogLineView>()), Media::Events(sent)],
        )
        .refuses(&[Code::RunNotFound, Code::InvalidHeader, Code::InvalidQuery, Code::InvalidCursor])
        .refuses(&[Code::TooManyStreams])
        .refuses(READS)
}

pub(crate) fn cancel() -> Route {
    route(Post, "/v1/runs/{id}/cancel", OPERATE)
        .summary("Cancel a run")
        .body_or_none::<CancelRun>()
        .answers::<Run>(202, "The run; one that executes ends a moment later.")
        .refuses(&[Code::RunNotFound, Code::RunOver, Code::WrongState])
        .refuses(WRITES)
}

pub(crate) fn retry() -> Route {
    route(Post, "/v1/runs/{id}/retry", OPERATE)
        .summary("Run a finished run once more")
        .shared("IdempotencyKey")
        .answers::<RunBegun>(202, "The run that was begun.")
        .leads_to(202, &[Operation::ReadRun, Operation::CancelRun], "id", "$response.body#/run_id")
        .header(202, "Idempotency-Replayed", REPLAYED)
        .refuses(&[Code::RunNotFound, Code::WrongState, Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(WRITES)
}
