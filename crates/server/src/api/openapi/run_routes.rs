//! The routes of runs.

use ordo_model::job::RunStatus;
use serde_json::json;

use super::operation::{Operation, READS, REPLAYED, WRITES, component, shared};
use super::schemas::{list, object, sent_event};
use crate::http::code::Code;

pub(super) fn all() -> Vec<Operation> {
    vec![read_all(), read(), logs(), cancel(), retry()]
}

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "runs", summary)
}

fn read_all() -> Operation {
    operation("get", "/v1/runs", "listRuns", "List runs, newest first")
        .query("job_id", component("Id"), "Runs of this job.")
        .query("status", json!({ "type": "string", "enum": RunStatus::NAMES }), "How they stand.")
        .query("since", json!({ "type": "string" }), "Fired since this time, or within this duration: `1h`.")
        .paged()
        .answers(200, "A page of runs. Large results are left out: read the run.", &list("Run"))
        .refuses(READS)
}

fn read() -> Operation {
    operation("get", "/v1/runs/{id}", "readRun", "Read a run, with its result")
        .answers(200, "The run.", &component("Run"))
        .refuses(&[Code::RunNotFound])
        .refuses(READS)
}

fn logs() -> Operation {
    let told = "Events `line` (data: a LogLine), then one event `end` (data: the status of the run). An event `error` \
                (data: a Problem) comes before an end that nobody asked for.";
    let events = sent_event(&["line", "end", "error"], told);
    operation("get", "/v1/runs/{id}/logs", "readLogs", "The log of a run: a page, or all of it as it is written")
        .query("follow", json!({ "type": "boolean" }), "Stream, as with `Accept: text/event-stream`.")
        .parameter(shared("LastEventId"))
        .paged()
        .answers_as(
            200,
            "A page of lines, or a stream until the run is over.",
            json!({
                "application/json": { "schema": list("LogLine") },
                "text/event-stream": { "schema": events },
            }),
        )
        .refuses(&[Code::RunNotFound, Code::InvalidHeader])
        .refuses(READS)
}

fn cancel() -> Operation {
    let reason = json!({ "type": ["string", "null"], "description": "Kept with the run." });
    operation("post", "/v1/runs/{id}/cancel", "cancelRun", "Cancel a run")
        .body(object(&[], json!({ "reason": reason })), false)
        .answers(202, "The run; one that executes ends a moment later.", &component("Run"))
        .refuses(&[Code::RunNotFound, Code::RunOver, Code::WrongState])
        .refuses(WRITES)
}

fn retry() -> Operation {
    operation("post", "/v1/runs/{id}/retry", "retryRun", "Run a finished run once more")
        .parameter(shared("IdempotencyKey"))
        .answers(202, "The run that was begun.", &component("RunBegun"))
        .leads_to(202, &["readRun", "cancelRun"], "id", "$response.body#/run_id")
        .header(202, "Idempotency-Replayed", REPLAYED)
        .refuses(&[Code::RunNotFound, Code::WrongState, Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(WRITES)
}
