//! One operation: how it is asked for, what it answers, with which codes it refuses.

use std::collections::BTreeMap;

use ordo_model::limits::{PAGE_DEFAULT, PAGE_MAX};
use serde_json::{Map, Value, json};

use crate::http::code::Code;

/// What whoever looks into the store may be told.
pub(super) const READS: &[Code] = &[Code::Internal, Code::StoreDamaged, Code::StoreUnavailable];
/// What whoever changes something may be told besides.
pub(super) const WRITES: &[Code] = &[
    Code::Contended,
    Code::Internal,
    Code::StoreDamaged,
    Code::StoreUnavailable,
    Code::Overloaded,
    Code::ShuttingDown,
];
/// What the header `Idempotency-Replayed` says.
pub(super) const REPLAYED: &str = "`true` when an earlier request with the same key did it.";
/// What whoever needs the key for secrets may be told.
pub(super) const SEALS: &[Code] = &[Code::SecretsUnavailable];
/// What whoever sends a body may be told.
const BODY: &[Code] =
    &[Code::InvalidJson, Code::RequestTimeout, Code::BodyTooLarge, Code::UnsupportedMediaType, Code::InvalidBody];

#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    description: &'static str,
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: BTreeMap<u16, Value>,
    codes: Vec<Code>,
    is_open: bool,
}

impl Operation {
    pub(super) fn new(
        method: &'static str,
        path: &'static str,
        id: &'static str,
        tag: &'static str,
        summary: &'static str,
    ) -> Operation {
        Operation {
            method,
            path,
            id,
            tag,
            summary,
            description: "",
            parameters: Vec::new(),
            body: None,
            answers: BTreeMap::new(),
            codes: vec![Code::HostRefused, Code::OriginRefused],
            is_open: false,
        }
    }

    pub(super) fn saying(mut self, description: &'static str) -> Operation {
        self.description = description;
        self
    }

    /// A body of any type.
    pub(super) fn raw_body(mut self) -> Operation {
        self.body = Some(json!({ "required": false, "content": { "*/*": { "schema": {} } } }));
        self
    }

    /// Needs no token.
    pub(super) fn open(mut self) -> Operation {
        self.is_open = true;
        self
    }

    pub(super) fn parameter(mut self, parameter: Value) -> Operation {
        self.parameters.push(parameter);
        self
    }

    pub(super) fn query(self, name: &str, schema: Value, description: &str) -> Operation {
        self.parameter(json!({ "name": name, "in": "query", "schema": schema, "description": description }))
    }

    /// `limit` and `cursor`.
    pub(super) fn paged(self) -> Operation {
        let refused = &[Code::InvalidQuery, Code::InvalidCursor];
        self.parameter(shared("Limit")).parameter(shared("Cursor")).refuses(refused)
    }

    pub(super) fn body(mut self, schema: Value, required: bool) -> Operation {
        self.body = Some(json!({ "required": required, "content": { "application/json": { "schema": schema } } }));
        self.refuses(BODY)
    }

    /// A body that a form of a page sends.
    pub(super) fn form(mut self, schema: Value) -> Operation {
        let kind = "application/x-www-form-urlencoded";
        self.body = Some(json!({ "required": true, "content": { kind: { "schema": schema } } }));
        self.refuses(BODY)
    }

    /// An answer that leads elsewhere and says nothing itself.
    pub(super) fn redirects(mut self, description: &str) -> Operation {
        let location = json!({ "description": "Where to go.", "schema": { "type": "string" } });
        let cookie = json!({ "description": "The session.", "schema": { "type": "string" } });
        self.answers.insert(
            303,
            json!({ "description": description, "headers": { "Location": location, "Set-Cookie": cookie } }),
        );
        self
    }

    pub(super) fn answers(self, status: u16, description: &str, schema: &Value) -> Operation {
        self.answers_as(status, description, json!({ "application/json": { "schema": schema } }))
    }

    pub(super) fn answers_as(mut self, status: u16, description: &str, content: Value) -> Operation {
        self.answers.insert(status, json!({ "description": description, "content": content }));
        self
    }

    /// A header of the answer with this status.
    pub(super) fn header(mut self, status: u16, name: &str, description: &str) -> Operation {
        if let Some(answer) = self.answers.get_mut(&status) {
            answer["headers"][name] = json!({ "description": description, "schema": { "type": "string" } });
        }
        self
    }

    /// What can be done next with what the answer with this status holds: operations and their one parameter.
    pub(super) fn leads_to(mut self, status: u16, operations: &[&str], parameter: &str, value: &str) -> Operation {
        if let Some(answer) = self.answers.get_mut(&status) {
            for name in operations {
                answer["links"][*name] = json!({ "operationId": name, "parameters": { parameter: value } });
            }
        }
        self
    }

    pub(super) fn refuses(mut self, codes: &[Code]) -> Operation {
        self.codes.extend_from_slice(codes);
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let mut form = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "responses": self.responses(),
        });
        if !self.description.is_empty() {
            form["description"] = json!(self.description);
        }
        let parameters = [path_parameters(self.path), self.parameters.clone()].concat();
        if !parameters.is_empty() {
            form["parameters"] = json!(parameters);
        }
        if let Some(body) = &self.body {
            form["requestBody"] = body.clone();
        }
        if self.is_open {
            form["security"] = json!([]);
        }
        form
    }

    fn responses(&self) -> Map<String, Value> {
        let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
        let guarded = [Code::Unauthorized, Code::Forbidden, Code::RateLimited, Code::SecretsUnavailable];
        let guarded = guarded.into_iter().filter(|_| !self.is_open);
        for code in self.codes.iter().copied().chain(guarded) {
            let codes = by_status.entry(code.status().as_u16()).or_default();
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
        let answers = self.answers.iter().map(|(status, answer)| (status.to_string(), answer.clone()));
        answers.chain(by_status.iter().map(|(status, codes)| (status.to_string(), refusal(*status, codes)))).collect()
    }
}

fn refusal(status: u16, codes: &[Code]) -> Value {
    let titles: Vec<String> = codes.iter().map(|code| format!("`{}`: {}.", code.text(), code.title())).collect();
    let names: Vec<&str> = codes.iter().map(|code| code.text()).collect();
    let schema = json!({
        "allOf": [component("Problem")],
        "properties": { "status": { "const": status }, "code": { "enum": names } },
    });
    let mut form =
        json!({ "description": titles.join(" "), "content": { "application/problem+json": { "schema": schema } } });
    if codes.iter().any(|code| code.retry_after_secs().is_some()) {
        let schema = json!({ "type": "integer" });
        form["headers"]["Retry-After"] = json!({ "description": "Seconds after which it may work.", "schema": schema });
    }
    if codes.contains(&Code::Unauthorized) {
        form["headers"]["WWW-Authenticate"] = json!({ "schema": { "type": "string" } });
    }
    form
}

/// What stands in braces in a path.
fn path_parameters(path: &str) -> Vec<Value> {
    match path.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
        Some(("slug", rest)) if rest.contains('{') => vec![shared("Slug"), shared("DeliveryId")],
        Some(("slug", _)) => vec![shared("Slug")],
        Some(("stream", _)) => vec![shared("Stream")],
        Some((_, _)) if path.starts_with("/v1/executors") => vec![shared("ExecutorId")],
        Some(("name", _)) if path.starts_with("/v1/secrets") => vec![shared("SecretName")],
        Some(("name", _)) if path.starts_with("/v1/nodes") => Vec::new(),
        Some(("name", _)) => vec![shared("MonitorName")],
        Some(("token", _)) => vec![shared("PingToken")],
        Some((_, _)) if path.starts_with("/v1/tokens") => vec![shared("TokenId")],
        Some((_, _)) if path.starts_with("/v1/incidents") => vec![shared("IncidentId")],
        Some((_, _)) if path.starts_with("/v1/notifications") => vec![shared("NotificationId")],
        Some((_, _)) if path.starts_with("/v1/runs") => vec![shared("RunId")],
        Some((_, _)) if path.starts_with("/v1/subscriptions") => vec![shared("SubscriptionId")],
        Some((_, _)) => vec![shared("JobId")],
        None => Vec::new(),
    }
}

pub(super) fn component(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

pub(super) fn shared(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

pub(super) fn shared_parameters() -> Value {
    let id = |description: &str| json!({ "name": "id", "in": "path", "required": true, "schema": component("Id"), "description": description });
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT });
    let stream = json!({ "type": "string", "pattern": "^ordo-[a-z]+-[0-9a-fA-F-]{36}$" });
    let text = json!({ "type": "string" });
    json!({
        "JobId": id("The job."),
        "RunId": id("The run."),
        "ExecutorId": id("The executor, in its present generation."),
        "DeliveryId": id("The delivery."),
        "Slug": { "name": "slug", "in": "path", "required": true, "description": "The hook.",
            "schema": component("Slug") },
        "SecretName": { "name": "name", "in": "path", "required": true, "description": "The secret.",
            "schema": { "type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$" } },
        "TokenId": id("The token."),
        "SubscriptionId": id("The subscription."),
        "IncidentId": id("The incident."),
        "NotificationId": id("The notification."),
        "MonitorName": { "name": "name", "in": "path", "required": true, "schema": text, "description": "The monitor." },
        "PingToken": { "name": "token", "in": "path", "required": true, "schema": text,
            "description": "The token of a monitor." },
        "Stream": { "name": "stream", "in": "path", "required": true, "schema": stream,
            "description": "The stream of one entity: `ordo-job-<uuid>`." },
        "Limit": { "name": "limit", "in": "query", "schema": limit, "description": "At most so many items." },
        "Cursor": { "name": "cursor", "in": "query", "schema": text,
            "description": "Where to go on: the `next_cursor` of the page before. Opaque." },
        "IdempotencyKey": { "name": "Idempotency-Key", "in": "header",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
            "description": "The same key with the same body within 24 hours is the same request: it happens once." },
        "IfMatch": { "name": "If-Match", "in": "header", "schema": text,
            "description": "The job's ETag: the change is made only if the job is still at that revision." },
        "LastEventId": { "name": "Last-Event-ID", "in": "header", "schema": text,
            "description": "For `text/event-stream`: the id of the last event seen; the stream goes on behind it." },
    })
}
