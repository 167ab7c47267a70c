//! Parameters: those that many routes share, and those of one.

use ordo_model::limits::{HOOK_MAX_BYTES, PAGE_DEFAULT, PAGE_MAX};
use serde_json::{Value, json};

use crate::route::{Parameter, Route};

/// Those of the path first, then the others in the order of the row.
pub(super) fn of(route: &Route) -> Vec<Value> {
    let own = route.parameters.iter().map(|parameter| match parameter {
        Parameter::Shared(name) => shared_one(name),
        Parameter::Query { name, schema, description, required } => {
            json!({ "name": name, "in": "query", "required": required, "schema": schema, "description": description })
        }
    });
    in_path(route.path).into_iter().map(shared_one).chain(own).collect()
}

fn shared_one(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

/// What stands in braces in a path: what an id names follows from where it stands.
fn in_path(path: &str) -> Vec<&'static str> {
    let resource = path.trim_start_matches("/v1").split('/').nth(1).unwrap_or_default();
    let named = |braces: &str| match (braces, resource) {
        ("slug", _) => "Slug",
        ("number", _) => "ActionNumber",
        ("stream", _) => "Stream",
        ("token", _) => "PingToken",
        ("status", "ping") => "PingStatus",
        ("signal", "ping") => "PingWord",
        ("file", "badge") => "BadgeFile",
        ("name", "secrets") => "SecretName",
        ("name", "nodes") => "NodeName",
        ("name", _) => "MonitorName",
        (_, "hooks") => "DeliveryId",
        (_, "executors") => "ExecutorId",
        (_, "tokens") => "TokenId",
        (_, "incidents") => "IncidentId",
        (_, "notifications") => "NotificationId",
        (_, "runs") => "RunId",
        (_, "silences") => "SilenceId",
        (_, "subscriptions") => "SubscriptionId",
        (_, _) => "JobId",
    };
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).map(named).collect()
}

pub(super) fn shared() -> Value {
    let path = |name: &str, schema: Value, description: &str| json!({ "name": name, "in": "path", "required": true, "schema": schema, "description": description });
    let id = |description: &str| path("id", json!({ "type": "string", "format": "uuid" }), description);
    let header = |name: &str, schema: Value, description: &str| json!({ "name": name, "in": "header", "schema": schema, "description": description });
    let query = |name: &str, schema: Value, description: &str| json!({ "name": name, "in": "query", "schema": schema, "description": description });
    let text = || json!({ "type": "string" });
    let slug = format!("^[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{}}}$", HOOK_MAX_BYTES - 1);
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT });
    let key = json!({ "type": "string", "minLength": 1, "maxLength": 255 });
    json!({
        "JobId": id("The job."),
        "RunId": id("The run."),
        "ExecutorId": id("The executor, in its present generation."),
        "DeliveryId": id("The delivery."),
        "TokenId": id("The token."),
        "SubscriptionId": id("The subscription."),
        "SilenceId": id("The silence."),
        "IncidentId": id("The incident."),
        "NotificationId": id("The notification."),
        "ActionNumber": path("number", json!({ "type": "integer", "minimum": 1 }), "The number of the action item."),
        "Slug": path("slug", json!({ "type": "string", "pattern": slug }), "The hook."),
        "SecretName": path("name", json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$" }), "The secret."),
        "MonitorName": path("name", text(), "The monitor."),
        "NodeName": path("name", text(), "The node."),
        "PingToken": path("token", text(), "The token of a monitor, or a ping key: a token of the role `pinger`."),
        "PingStatus": path("status", text(), "An exit status from 0 to 255; after a ping key, the name of a monitor."),
        "PingWord": path("signal", text(), "`start`, `fail`, `log` or an exit status from 0 to 255."),
        "BadgeFile": path("file", text(), "The key of the badge and `.svg`, `.json` or `.shields`."),
        "Stream": path(
            "stream",
            json!({ "type": "string", "pattern": "^ordo-[a-z]+-[0-9a-fA-F-]{36}$" }),
            "The stream of one entity: `ordo-job-<uuid>`.",
        ),
        "Limit": query("limit", limit, "At most so many items."),
        "Cursor": query("cursor", text(), "Where to go on: the `next_cursor` of the page before. Opaque."),
        "IdempotencyKey": header(
            "Idempotency-Key",
            key,
            "The same key with the same body within 24 hours is the same request: it happens once.",
        ),
        "IfMatch": header(
            "If-Match",
            text(),
            "The job's ETag: the change is made only if the job is still at that revision.",
        ),
        "LastEventId": header(
            "Last-Event-ID",
            text(),
            "For `text/event-stream`: the id of the last event seen; the stream goes on behind it.",
        ),
    })
}
