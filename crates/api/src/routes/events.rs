//! The routes of events.

use serde_json::json;

use super::{ADMIN, Get, READ, READ_OR_HOLD, reference, text};
use crate::audit::AuditView;
use crate::code::Code;
use crate::events::EventView;
use crate::route::{Media, READS, Route, Shape};

pub(crate) fn stream() -> Route {
    Route::new(Get, "/v1/streams/{stream}", READ_OR_HOLD, "events")
        .summary("The events of one entity, oldest first")
        .saying("An executor reads the stream of a job that it has a run of, and no other.")
        .query("from", json!({ "type": "integer", "minimum": 0 }), "From this version on.")
        .paged::<EventView>("A page of events.")
        .refuses(&[Code::StreamNotFound, Code::StreamTrimmed])
        .refuses(READS)
}

pub(crate) fn all() -> Route {
    let sent = "Events without a name (data: an Event, id: its position). An event `error` (data: a Problem) comes \
                before an end that nobody asked for.";
    Route::new(Get, "/v1/events", READ, "events")
        .summary("All events, oldest first: a page, or all of them as they are written")
        .saying(
            "With `Accept: text/event-stream` the answer goes on for as long as the client listens. A client that \
             was cut off goes on with `Last-Event-ID` and misses nothing.",
        )
        .query("after", text(), "Behind this position; from the oldest when left out. Opaque.")
        .shared("LastEventId")
        .shared("Limit")
        .shared("Cursor")
        .answers_as(
            200,
            "A page of events, or a stream.",
            vec![Media::Page(Shape::of::<EventView>()), Media::Events(sent)],
        )
        .refuses(&[Code::InvalidHeader, Code::InvalidQuery, Code::InvalidCursor, Code::TooManyStreams])
        .refuses(READS)
}

pub(crate) fn audit() -> Route {
    Route::new(Get, "/v1/audit", ADMIN, "events")
        .summary("Who changed what, newest first")
        .saying(
            "Changes by people and programs, and logins to the dashboard with those that were refused. What Ordo does by \
             itself and what happens to runs is in the log of events. A page may hold fewer items than `limit`, even none, \
             while `next_cursor` says that there is more.",
        )
        .query("actor", text(), "Only changes by this name, or on behalf of it.")
        .query("source", text(), "Only changes that came this way: `api`, `cli`, `page`, `slack`.")
        .query("kind", text(), "Only changes of such things: `job`, `incident`, `hook`, `token`, `login`, ….")
        .query("type", text(), "Only events of this name: `JobUpdated`.")
        .query("stream", text(), "Only changes of this entity.")
        .query("since", reference("Time"), "Only changes at or after this time.")
        .query("until", reference("Time"), "Only changes before this time.")
        .paged::<AuditView>("A page of changes.")
        .refuses(READS)
}
