//! Incidents, notifications and monitors as they are asked for and answered.

use ordo_model::incident::Severity;
use ordo_model::limits::{
    ACTOR_MAX_BYTES, IDENTIFIER_MAX_BYTES, INCIDENT_AFTER_MAX, INCIDENT_LINKS_MAX, INCIDENT_TEXT_MAX_BYTES,
    INCIDENT_TITLE_MAX_BYTES, MONITOR_NAME_MAX_BYTES,
};
use ordo_model::notification::NotificationState;
use serde_json::{Value, json};

use super::incident_routes::statuses;
use super::operation::component;
use super::schemas::{answer, fields, integer, object, or_null, text};

pub(super) fn all() -> Value {
    let severities: Vec<&str> =
        Severity::ALL.map(Severity::name).into_iter().chain(["high", "medium", "low"]).collect();
    json!({
        "Severity": { "type": "string", "enum": severities, "default": "sev3",
            "description": "sev1 is the worst. `high`, `medium` and `low` are read as sev2, sev3 and sev4." },
        "IncidentStatus": statuses(),
        "IncidentLink": link(),
        "By": answer(json!({ "actor": text(), "source": { "type": "string",
            "enum": ["api", "slack", "job", "monitor", "escalation"] } }), &[]),
        "NewIncident": new_incident(),
        "Incident": answer(incident(), &[]),
        "IncidentWithTimeline": with_timeline(),
        "Notification": notification(),
        "Reaction": reaction(),
        "NewMonitor": object(&["name"], settings()),
        "Monitor": monitor(),
        "Ping": answer(json!({
            "signal": { "type": "string", "enum": ["success", "start", "fail"] },
            "at": component("Time"),
            "took_ms": integer(),
            "body": component("Id"),
        }), &["took_ms", "body"]),
    })
}

fn line(max: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max })
}

fn link() -> Value {
    let of = |kind: &str| object(&["type", "id"], json!({ "type": { "const": kind }, "id": component("Id") }));
    json!({ "oneOf": [of("job"), of("run")] })
}

fn new_incident() -> Value {
    object(
        &["title"],
        json!({
            "title": line(INCIDENT_TITLE_MAX_BYTES),
            "description": { "type": "string", "maxLength": INCIDENT_TEXT_MAX_BYTES, "default": "" },
            "severity": component("Severity"),
            "identifier": or_null(line(IDENTIFIER_MAX_BYTES)),
            "links": { "type": "array", "items": component("IncidentLink"), "maxItems": INCIDENT_LINKS_MAX },
            "escalation": { "type": ["string", "null"], "description": "A chain of the configuration, by name." },
            "actor": or_null(line(ACTOR_MAX_BYTES)),
        }),
    )
}

fn incident() -> Value {
    let acknowledged = answer(
        json!({ "by": component("By"), "at": component("Time"), "expires_at": component("Time") }),
        &["expires_at"],
    );
    let escalation = answer(
        json!({
            "step": { "type": "integer", "minimum": 0, "description": "The step that comes next; the first is 0." },
            "due_at": or_null(component("Time")),
            "policy": { "type": "object" },
        }),
        &[],
    );
    json!({
        "id": component("Id"),
        "stream": text(),
        "title": text(),
        "description": text(),
        "identifier": or_null(text()),
        "severity": component("Severity"),
        "status": component("IncidentStatus"),
        "assignee": or_null(text()),
        "acknowledged": or_null(acknowledged),
        "links": { "type": "array", "items": component("IncidentLink") },
        "started_by": component("By"),
        "created_at": component("Time"),
        "updated_at": component("Time"),
        "ended_at": or_null(component("Time")),
        "escalation": or_null(escalation),
        "published": or_null(answer(json!({ "through": integer(), "at": component("Time") }), &[])),
        "version": integer(),
    })
}

fn with_timeline() -> Value {
    let event = answer(
        json!({ "version": integer(), "at": component("Time"), "type": text(), "data": { "type": "object" } }),
        &[],
    );
    let timeline = json!({ "timeline": { "type": "array", "items": event } });
    let properties = fields(incident()).into_iter().chain(fields(timeline)).flatten().collect();
    answer(Value::Object(properties), &[])
}

fn notification() -> Value {
    let form = json!({
        "id": component("Id"),
        "sender": text(),
        "state": { "type": "string", "enum": NotificationState::NAMES },
        "attempts": integer(),
        "last_error": or_null(text()),
        "next_try": or_null(component("Time")),
        "settled_at": or_null(component("Time")),
        "note": { "type": ["string", "null"], "description": "What the receiver answered, in a word." },
        "written_at": component("Time"),
        "replayed": { "type": "boolean" },
        "key": { "type": "string", "description": "The idempotency key: the same for every try and every sender." },
        "stream": text(),
        "version": integer(),
        "event": text(),
        "label": or_null(text()),
        "message": { "type": "object", "description": "All that the sender gets; only when one notification is read." },
    });
    answer(form, &["message"])
}

/// `on_failure` and `on_missed` of a job.
fn reaction() -> Value {
    let incident = object(
        &[],
        json!({
            "severity": component("Severity"),
            "after": { "type": "integer", "minimum": 1, "maximum": INCIDENT_AFTER_MAX, "default": 1,
                "description": "How many times in a row it must have happened." },
            "resolve_on_recovery": { "type": "boolean", "default": false,
                "description": "The next completed run resolves the incident; otherwise it leaves a note." },
            "escalation": { "type": "string", "minLength": 1 },
        }),
    );
    object(&["incident"], json!({ "incident": incident }))
}

fn settings() -> Value {
    json!({
        "name": { "type": "string", "pattern": "^[A-Za-z0-9._-]+$", "maxLength": MONITOR_NAME_MAX_BYTES },
        "description": or_null(line(INCIDENT_TEXT_MAX_BYTES)),
        "every": or_null(component("Duration")),
        "cron": or_null(text()),
        "timezone": or_null(text()),
        "grace": component("Duration"),
        "severity": component("Severity"),
        "escalation": or_null(line(200)),
    })
}

fn monitor() -> Value {
    let standing = json!({
        "id": component("Id"),
        "status": { "type": "string", "enum": ["new", "up", "silent", "failing"] },
        "due_at": or_null(component("Time")),
        "last_ping": or_null(component("Ping")),
        "started_at": or_null(component("Time")),
        "failures_in_row": integer(),
        "ping_path": { "type": "string", "description": "Whoever knows it may ping: `GET` or `POST`." },
        "created_at": component("Time"),
        "updated_at": component("Time"),
        "version": integer(),
        "pings": { "type": "array", "items": component("Ping") },
        "last_said": { "type": ["string", "null"], "description": "What the last ping with a body said." },
    });
    let optional = ["description", "every", "cron", "timezone", "escalation", "pings", "last_said"];
    let properties = fields(settings()).into_iter().chain(fields(standing)).flatten().collect();
    answer(Value::Object(properties), &optional)
}
