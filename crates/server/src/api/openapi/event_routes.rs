//! The routes of events.

use serde_json::json;

use super::operation::{Operation, READS, shared};
use super::schemas::{list, sent_event};
use crate::http::code::Code;

pub(super) fn all() -> Vec<Operation> {
    vec![stream(), events()]
}

fn operation(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new("get", path, id, "events", summary)
}

fn stream() -> Operation {
    operation("/v1/streams/{stream}", "readStream", "The events of one entity, oldest first")
        .query("from", json!({ "type": "integer", "minimum": 0 }), "From this version on.")
        .paged()
        .answers(200, "A page of events.", &list("Event"))
        .refuses(&[Code::StreamNotFound, Code::StreamTrimmed])
        .refuses(READS)
}

fn events() -> Operation {
    let told = "Events without a name (data: an Event, id: its position). An event `error` (data: a Problem) comes \
                before an end that nobody asked for.";
    let events = sent_event(&["message", "error"], told);
    operation("/v1/events", "readEvents", "All events, oldest first: a page, or all of them as they are written")
        .saying(
            "With `Accept: text/event-stream` the answer goes on for as long as the client listens. A client that \
                 was cut off goes on with `Last-Event-ID` and misses nothing.",
        )
        .query("after", json!({ "type": "string" }), "Behind this position; from the oldest when left out. Opaque.")
        .parameter(shared("LastEventId"))
        .paged()
        .answers_as(
            200,
            "A page of events, or a stream.",
            json!({
                "application/json": { "schema": list("Event") },
                "text/event-stream": { "schema": events },
            }),
        )
        .refuses(&[Code::InvalidHeader])
        .refuses(READS)
}
