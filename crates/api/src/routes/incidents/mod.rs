//! The routes of incidents and of the notifications about them.

pub(crate) mod silences;

use ordo_model::limits::INCIDENT_TITLE_MAX_BYTES;
use ordo_model::notification::NotificationState;
use serde::de::DeserializeOwned;
use serde_json::json;
use utoipa::ToSchema;

use super::{Delete, Get, OPERATE, Post, Put, READ, REPLAYED, reference, text};
use crate::alerting::incidents::{
    Acknowledge, AddAction, AddLink, AddNote, DescribeImpact, IncidentView, NewIncident, SetAction, SetAssignee,
    SetRole, SetSeverity, SetStatus, SnoozeIncident, WritePostmortem,
};
use crate::alerting::notifications::NotificationView;
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{Media, Method, Need, READS, Route, WRITES};

/// What can be done with an incident once it is there.
const TAKES_INCIDENT: &[Operation] = &[
    Operation::ReadIncident,
    Operation::SetAssignee,
    Operation::SetSeverity,
    Operation::SetStatus,
    Operation::AcknowledgeIncident,
];

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "incidents")
}

pub(crate) fn start() -> Route {
    route(Post, "/v1/incidents", OPERATE)
        .summary("Start an incident")
        .saying(
            "With an `identifier`, the incident of that identifier that has not ended is answered instead, if there \
             is one.",
        )
        .shared("IdempotencyKey")
        .body::<NewIncident>()
        .answers::<IncidentView>(200, "The incident of this identifier that is being worked on.")
        .answers::<IncidentView>(201, "The incident, durable.")
        .header(201, "Location", "The path of the incident.")
        .header(201, "Idempotency-Replayed", REPLAYED)
        .leads_to(201, TAKES_INCIDENT, "id", "$response.body#/id")
        .refuses(&[Code::InvalidIncident, Code::InvalidHeader, Code::IdempotencyKeyReused, Code::IncidentNotFound])
        .refuses(WRITES)
}

pub(crate) fn list() -> Route {
    let severity = json!({ "type": "string", "examples": ["sev1", "high"] });
    route(Get, "/v1/incidents", READ)
        .summary("List incidents, newest first")
        .query("status", reference("IncidentStatus"), "Only incidents with this status.")
        .query("severity", severity, "Only incidents with this severity.")
        .query("assignee", text(), "Only incidents assigned to this name.")
        .query(
            "search",
            json!({ "type": "string", "maxLength": INCIDENT_TITLE_MAX_BYTES }),
            "The title, the description or the identifier contains this, in capitals or small letters. A page may hold \
             fewer items than `limit`, even none, while `next_cursor` says that there is more.",
        )
        .query("since", reference("Time"), "Only incidents started at or after this time.")
        .paged::<IncidentView>("A page of incidents.")
        .refuses(READS)
}

pub(crate) fn read() -> Route {
    route(Get, "/v1/incidents/{id}", READ)
        .summary("Read an incident with its timeline")
        .answers::<IncidentView>(200, "The incident.")
        .refuses(&[Code::IncidentNotFound])
        .refuses(READS)
}

fn change(path: &'static str) -> Route {
    route(Post, path, OPERATE)
        .answers::<IncidentView>(200, "The incident after the change, durable.")
        .refuses(&[Code::IncidentNotFound, Code::InvalidIncident, Code::WrongState])
        .refuses(WRITES)
}

fn sets<T: ToSchema + DeserializeOwned>(path: &'static str) -> Route {
    change(path).body::<T>()
}

pub(crate) fn assignee() -> Route {
    sets::<SetAssignee>("/v1/incidents/{id}/assignee").summary("Assign it to somebody, or to nobody")
}

pub(crate) fn severity() -> Route {
    sets::<SetSeverity>("/v1/incidents/{id}/severity").summary("Say how bad it is")
}

pub(crate) fn status() -> Route {
    sets::<SetStatus>("/v1/incidents/{id}/status").summary("Say how far it is").saying(
        "An open incident may become mitigating, resolved or declined; a mitigating one open, resolved or declined; \
         one that has ended only open.",
    )
}

pub(crate) fn acknowledge() -> Route {
    change("/v1/incidents/{id}/ack")
        .body_or_none::<Acknowledge>()
        .summary("Say that somebody looks at it")
        .saying("Stops the escalation.")
}

pub(crate) fn note() -> Route {
    sets::<AddNote>("/v1/incidents/{id}/notes").summary("Add a note to the timeline")
}

pub(crate) fn link() -> Route {
    sets::<AddLink>("/v1/incidents/{id}/links").summary("Link it to a job or a run")
}

pub(crate) fn role() -> Route {
    sets::<SetRole>("/v1/incidents/{id}/roles").summary("Make somebody the lead or responsible for communications")
}

pub(crate) fn impact() -> Route {
    sets::<DescribeImpact>("/v1/incidents/{id}/impact").summary("Say who is affected, and how")
}

pub(crate) fn add_action() -> Route {
    sets::<AddAction>("/v1/incidents/{id}/actions").summary("Add an action item")
}

pub(crate) fn set_action() -> Route {
    sets::<SetAction>("/v1/incidents/{id}/actions/{number}").summary("Complete an action item, or reopen it")
}

pub(crate) fn write_postmortem() -> Route {
    route(Put, "/v1/incidents/{id}/postmortem", OPERATE)
        .summary("Write the postmortem")
        .saying("Replaces the text. The versions before stay in the stream of the incident.")
        .body::<WritePostmortem>()
        .answers::<IncidentView>(200, "The incident after the change, durable.")
        .refuses(&[Code::IncidentNotFound, Code::InvalidIncident, Code::WrongState])
        .refuses(WRITES)
}

pub(crate) fn snooze() -> Route {
    sets::<SnoozeIncident>("/v1/incidents/{id}/snooze").summary("Snooze an incident").saying(
        "Until then it does not escalate, and repetitions are recorded without anybody hearing of them. What people do \
         is still sent. Afterwards it escalates from the first step, unless somebody has acknowledged it.",
    )
}

pub(crate) fn end_snooze() -> Route {
    route(Delete, "/v1/incidents/{id}/snooze", OPERATE)
        .summary("End the snooze of an incident")
        .answers::<IncidentView>(200, "The incident after the change, durable.")
        .refuses(&[Code::IncidentNotFound])
        .refuses(WRITES)
}

pub(crate) fn similar() -> Route {
    route(Get, "/v1/incidents/{id}/similar", READ)
        .summary("Incidents that were like this one")
        .saying("Those of the same identifier first, then those of the newest with a similar title.")
        .answers_page::<IncidentView>("At most ten incidents, the most alike first.")
        .refuses(&[Code::IncidentNotFound])
        .refuses(READS)
}

pub(crate) fn export() -> Route {
    let zone = json!({ "type": "string", "default": "UTC" });
    route(Get, "/v1/incidents/{id}/export", READ)
        .summary("The incident as a Markdown document")
        .query("timezone", zone, "The zone in which times are shown.")
        .answers_as(200, "Summary, impact, timeline, responders, action items.", vec![Media::Text("text/markdown")])
        .refuses(&[Code::IncidentNotFound, Code::InvalidQuery])
        .refuses(READS)
}

pub(crate) fn notifications() -> Route {
    let states = json!({ "type": "string", "enum": NotificationState::NAMES, "default": "dead_lettered" });
    route(Get, "/v1/notifications", READ)
        .summary("List notifications, newest first")
        .saying("One for each event and sender. Without a filter the dead-lettered ones: those that were given up.")
        .query("state", states, "Only notifications in this state.")
        .query("stream", text(), "Only notifications about this entity. Not together with `state`.")
        .paged::<NotificationView>("A page of notifications.")
        .refuses(READS)
}

pub(crate) fn notification() -> Route {
    route(Get, "/v1/notifications/{id}", READ)
        .summary("Read a notification with its message")
        .answers::<NotificationView>(200, "The notification.")
        .refuses(&[Code::NotificationNotFound])
        .refuses(READS)
}

pub(crate) fn replay() -> Route {
    route(Post, "/v1/notifications/{id}/replay", OPERATE)
        .summary("Send a settled notification once more")
        .answers::<NotificationView>(202, "It is tried again.")
        .refuses(&[Code::NotificationNotFound, Code::WrongState])
        .refuses(WRITES)
}
