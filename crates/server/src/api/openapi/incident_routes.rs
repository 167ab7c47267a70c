//! The routes of incidents and of the notifications that tell people of them.

use ordo_model::incident::Status;
use ordo_model::notification::NotificationState;
use serde_json::{Value, json};

use super::operation::{Operation, READS, WRITES, component, shared};
use super::schemas::{list, object};
use crate::http::code::Code;

/// What can be done with an incident once it is there.
const TAKES_INCIDENT: &[&str] = &["readIncident", "setAssignee", "setSeverity", "setStatus", "acknowledgeIncident"];

pub(super) fn all() -> Vec<Operation> {
    vec![
        create(),
        read_all(),
        read(),
        assignee(),
        severity(),
        status(),
        acknowledge(),
        note(),
        link(),
        export(),
        notifications(),
        notification(),
        replay(),
    ]
}

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "incidents", summary)
}

fn create() -> Operation {
    operation("post", "/v1/incidents", "startIncident", "Start an incident")
        .saying("With an `identifier`, the incident of that identifier that has not ended is answered instead, if there is one.")
        .parameter(shared("IdempotencyKey"))
        .body(component("NewIncident"), true)
        .answers(200, "The incident of this identifier that is being worked on.", &component("Incident"))
        .answers(201, "The incident, durable.", &component("Incident"))
        .header(201, "Location", "The path of the incident.")
        .header(201, "Idempotency-Replayed", "`true` when an earlier request with the same key started it.")
        .leads_to(201, TAKES_INCIDENT, "id", "$response.body#/id")
        .refuses(&[Code::InvalidIncident, Code::InvalidHeader, Code::IdempotencyKeyReused, Code::IncidentNotFound])
        .refuses(WRITES)
}

fn read_all() -> Operation {
    let severities = json!({ "type": "string", "examples": ["sev1", "high"] });
    operation("get", "/v1/incidents", "listIncidents", "List incidents, newest first")
        .query("status", component("IncidentStatus"), "Only incidents with this status.")
        .query("severity", severities, "Only incidents with this severity.")
        .query("assignee", json!({ "type": "string" }), "Only incidents assigned to this name.")
        .query("since", component("Time"), "Only incidents started at or after this time.")
        .paged()
        .answers(200, "A page of incidents.", &list("Incident"))
        .refuses(READS)
}

fn read() -> Operation {
    operation("get", "/v1/incidents/{id}", "readIncident", "Read an incident with its timeline")
        .answers(200, "The incident.", &component("IncidentWithTimeline"))
        .refuses(&[Code::IncidentNotFound])
        .refuses(READS)
}

fn change(path: &'static str, id: &'static str, summary: &'static str, body: Value, required: bool) -> Operation {
    operation("post", path, id, summary)
        .body(body, required)
        .answers(200, "The incident after the change, durable.", &component("Incident"))
        .refuses(&[Code::IncidentNotFound, Code::InvalidIncident, Code::WrongState])
        .refuses(WRITES)
}

fn actor() -> Value {
    json!({ "type": "string", "minLength": 1, "description": "Who does it; the name of the token when left out." })
}

fn assignee() -> Operation {
    let body = object(&["assignee"], json!({ "assignee": { "type": ["string", "null"] }, "actor": actor() }));
    change("/v1/incidents/{id}/assignee", "setAssignee", "Assign it to somebody, or to nobody", body, true)
}

fn severity() -> Operation {
    let body = object(&["severity"], json!({ "severity": component("Severity"), "actor": actor() }));
    change("/v1/incidents/{id}/severity", "setSeverity", "Say how bad it is", body, true)
}

fn status() -> Operation {
    let message = json!({ "type": "string", "minLength": 1 });
    let form = json!({ "status": component("IncidentStatus"), "message": message, "actor": actor() });
    let body = object(&["status"], form);
    change("/v1/incidents/{id}/status", "setStatus", "Say how far it is", body, true).saying(
        "An open incident may become mitigating, resolved or declined; a mitigating one open, resolved or declined; \
         one that has ended only open.",
    )
}

fn acknowledge() -> Operation {
    let body = object(&[], json!({ "actor": actor() }));
    change("/v1/incidents/{id}/ack", "acknowledgeIncident", "Say that somebody looks at it", body, false)
        .saying("Stops the escalation.")
}

fn note() -> Operation {
    let body = object(&["text"], json!({ "text": { "type": "string", "minLength": 1 }, "actor": actor() }));
    change("/v1/incidents/{id}/notes", "addNote", "Add a note to the timeline", body, true)
}

fn link() -> Operation {
    let body = object(&["link"], json!({ "link": component("IncidentLink"), "actor": actor() }));
    change("/v1/incidents/{id}/links", "linkIncident", "Link it to a job or a run", body, true)
}

fn export() -> Operation {
    let markdown = json!({ "text/markdown": { "schema": { "type": "string" } } });
    operation("get", "/v1/incidents/{id}/export", "exportIncident", "The incident as a Markdown document")
        .query("timezone", json!({ "type": "string", "default": "UTC" }), "The zone in which times are shown.")
        .answers_as(200, "Summary, impact, timeline, responders, action items.", markdown)
        .refuses(&[Code::IncidentNotFound, Code::InvalidQuery])
        .refuses(READS)
}

fn notifications() -> Operation {
    let states = json!({ "type": "string", "enum": NotificationState::NAMES, "default": "dead_lettered" });
    operation("get", "/v1/notifications", "listLetters", "List notifications, newest first")
        .saying("One for each event and sender. Without a filter the dead-lettered ones: those that were given up.")
        .query("state", states, "Only notifications in this state.")
        .query(
            "stream",
            json!({ "type": "string" }),
            "Only notifications about this entity. Not together with `state`.",
        )
        .paged()
        .answers(200, "A page of notifications.", &list("Notification"))
        .refuses(READS)
}

fn notification() -> Operation {
    operation("get", "/v1/notifications/{id}", "readLetter", "Read a notification with its message")
        .answers(200, "The notification.", &component("Notification"))
        .refuses(&[Code::NotificationNotFound])
        .refuses(READS)
}

fn replay() -> Operation {
    operation("post", "/v1/notifications/{id}/replay", "replayLetter", "Send a settled notification once more")
        .answers(202, "It is tried again.", &component("Notification"))
        .refuses(&[Code::NotificationNotFound, Code::WrongState])
        .refuses(WRITES)
}

pub(super) fn statuses() -> Value {
    json!({ "type": "string", "enum": Status::ALL.map(Status::name) })
}
