//! The operations of the document, each from its row of the route table.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{component, parameters};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{Content, Media, Need, Route, RouteBody, RouteResponse, page_name};

pub(super) fn all() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in Operation::routes() {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method.name().to_lowercase()] = operation(route);
    }
    Value::Object(paths)
}

fn operation(route: &Route) -> Value {
    let description = if route.description.is_empty() { route.summary } else { route.description };
    let mut form = json!({
        "operationId": route.operation().id(),
        "tags": [route.tag],
        "summary": route.summary,
        "description": description,
        "responses": responses(route),
    });
    let parameters = parameters::of(route);
    if !parameters.is_empty() {
        form["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = &route.body {
        form["requestBody"] = request(body);
    }
    if route.need == Need::Open {
        form["security"] = json!([]);
    }
    form
}

fn request(body: &RouteBody) -> Value {
    let (kind, schema) = match &body.content {
        Content::Json { shape, .. } => ("application/json", component(&shape.name)),
        Content::Form(shape) => ("application/x-www-form-urlencoded", component(&shape.name)),
        Content::Raw => ("application/octet-stream", json!({ "type": "string", "format": "binary" })),
    };
    json!({ "required": body.required, "content": { kind: { "schema": schema } } })
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut refused: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in route.codes() {
        refused.entry(code.status()).or_default().push(code);
    }
    let answers = route.answers.iter().map(|(status, answer)| (status.to_string(), success(answer)));
    answers.chain(refused.iter().map(|(status, codes)| (status.to_string(), refusal(codes)))).collect()
}

fn success(answer: &RouteResponse) -> Value {
    let mut form = json!({ "description": answer.description });
    for media in &answer.media {
        let (kind, schema) = content(media);
        form["content"][kind] = json!({ "schema": schema });
    }
    for (name, description) in &answer.headers {
        form["headers"][*name] = json!({ "description": description, "schema": { "type": "string" } });
    }
    for (operation, parameter, value) in &answer.links {
        let id = operation.id();
        form["links"][&id] = json!({ "operationId": id, "parameters": { *parameter: value } });
    }
    form
}

fn content(media: &Media) -> (&'static str, Value) {
    match media {
        Media::Json(shape) => ("application/json", component(&shape.name)),
        Media::Page(shape) => ("application/json", component(&page_name(&shape.name))),
        Media::AnyObject => ("application/json", json!({ "type": "object", "additionalProperties": true })),
        Media::ObjectAs(kind) => (kind, json!({ "type": "object", "additionalProperties": true })),
        Media::Text(kind) => (kind, json!({ "type": "string" })),
        Media::Events(description) => {
            let mut schema = component("ServerSentEvent");
            schema["description"] = json!(description);
            ("text/event-stream", schema)
        }
    }
}

fn refusal(codes: &[Code]) -> Value {
    let titles: Vec<String> = codes.iter().map(|code| format!("`{}`: {}.", code.text(), code.title())).collect();
    let mut form = json!({
        "description": titles.join(" "),
        "content": { "application/problem+json": { "schema": component("Problem") } },
    });
    if codes.iter().any(|code| code.retry_after_secs().is_some()) {
        let schema = json!({ "type": "integer" });
        form["headers"]["Retry-After"] = json!({ "description": "Seconds after which it may work.", "schema": schema });
    }
    if codes.contains(&Code::Unauthorized) {
        form["headers"]["WWW-Authenticate"] =
            json!({ "description": "How to authenticate.", "schema": { "type": "string" } });
    }
    form
}
