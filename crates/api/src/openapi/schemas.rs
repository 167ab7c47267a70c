//! The components: what the types say of themselves, put into a form that generators of clients understand.
//!
//! Invariant: what is asked for is closed (an unknown field is refused), what is answered is open (it may gain fields).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{component, defaults, limits, paths, variants};
use crate::alerting::monitors::MonitorView;
use crate::events::ServerSentEvent;
use crate::jobs::JobView;
use crate::operation::Operation;
use crate::problem::ProblemDetails;
use crate::route::{Content, Media, Route, Shape, page_name};

pub(super) type Schemas = BTreeMap<String, Value>;

/// Answers that hold the fields of what was asked for: with defaults filled in, and null for nothing.
const ANSWERED: [fn() -> Shape; 2] = [Shape::of::<JobView>, Shape::of::<MonitorView>];
/// Fields of a job that have no default.
const NO_DEFAULT: [&str; 4] = ["label", "tool_name", "trigger", "tool_input"];

pub(super) fn all() -> Schemas {
    let mut schemas = collected();
    loosen_patch(&mut schemas);
    limits::lay_over(&mut schemas);
    defaults::lay_over(&mut schemas);
    merge_flattened(&mut schemas);
    variants::name(&mut schemas);
    schemas.values_mut().for_each(plain);
    keep_used(schemas)
}

fn collected() -> Schemas {
    let mut schemas = Schemas::new();
    let mut add = |shape: &Shape| {
        for (name, schema) in &shape.parts {
            let schema = serde_json::to_value(schema).expect("a schema is plain data");
            let before = schemas.insert(name.clone(), schema);
            assert!(before.is_none_or(|before| before == schemas[name]), "two types are described as {name}");
        }
    };
    Operation::routes().iter().flat_map(shapes).for_each(&mut add);
    [Shape::of::<ProblemDetails>(), Shape::of::<ServerSentEvent>()].iter().for_each(&mut add);
    for route in Operation::routes() {
        for media in route.answers.values().flat_map(|answer| &answer.media) {
            if let Media::Page(shape) = media {
                schemas.insert(page_name(&shape.name), page(&shape.name));
            }
        }
    }
    schemas
}

fn shapes(route: &Route) -> impl Iterator<Item = &Shape> {
    let body = route.body.as_ref().and_then(|body| match &body.content {
        Content::Json { shape, .. } | Content::Form(shape) => Some(shape),
        Content::Raw => None,
    });
    let media = route.answers.values().flat_map(|answer| &answer.media);
    let answered = media.filter_map(|media| match media {
        Media::Json(shape) | Media::Page(shape) => Some(shape),
        Media::AnyObject | Media::ObjectAs(_) | Media::Text(_) | Media::Events(_) => None,
    });
    body.into_iter().chain(answered)
}

fn page(item: &str) -> Value {
    json!({
        "type": "object",
        "required": ["items", "next_cursor"],
        "properties": {
            "items": { "type": "array", "items": component(item) },
            "next_cursor": { "type": ["string", "null"], "description": "Where the next page begins; null: no more." },
        },
    })
}

/// In a patch nothing is needed, and null means the default where there is one.
fn loosen_patch(schemas: &mut Schemas) {
    let Some(patch) = schemas.get_mut("JobPatch") else { return };
    patch["description"] = json!("Any fields of a job's definition. Null means the default.");
    if let Some(patch) = patch.as_object_mut() {
        patch.remove("required");
    }
    for (name, schema) in patch["properties"].as_object_mut().into_iter().flatten() {
        if !NO_DEFAULT.contains(&name.as_str()) && !may_be_null(schema) {
            *schema = json!({ "anyOf": [schema.take(), { "type": "null" }] });
        }
    }
}

fn may_be_null(schema: &Value) -> bool {
    let among = |list: &Value| list.as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "null"));
    let types = schema["type"].as_array().is_some_and(|all| all.contains(&json!("null")));
    types || among(&schema["oneOf"]) || among(&schema["anyOf"])
}

/// A flattened field is written as `allOf`: the parts become one object, so that a closed part does not close out the
/// others.
fn merge_flattened(schemas: &mut Schemas) {
    let answered: BTreeSet<String> = ANSWERED.into_iter().map(|shape| shape().name).collect();
    let before = schemas.clone();
    for (name, schema) in schemas.iter_mut() {
        let Some(parts) = schema.get("allOf").and_then(Value::as_array).cloned() else { continue };
        let mut whole = json!({ "type": "object", "required": [], "properties": {} });
        let mut is_closed = false;
        for part in &parts {
            let referred = part["$ref"].as_str().and_then(|reference| before.get(target(reference)));
            is_closed |= referred.unwrap_or(part)["additionalProperties"] == false;
            let part = match referred {
                Some(part) if answered.contains(name) => &as_answered(part),
                Some(part) => part,
                None => part,
            };
            extend(&mut whole, part);
        }
        if is_closed && !answered.contains(name) {
            whole["additionalProperties"] = json!(false);
        }
        for (key, value) in schema.as_object().into_iter().flatten().filter(|(key, _)| *key != "allOf") {
            whole[key] = value.clone();
        }
        *schema = whole;
    }
}

fn extend(whole: &mut Value, part: &Value) {
    for (name, schema) in part["properties"].as_object().into_iter().flatten() {
        whole["properties"][name] = schema.clone();
    }
    if let (Some(all), Some(more)) = (whole["required"].as_array_mut(), part["required"].as_array()) {
        all.extend(more.iter().cloned());
    }
}

/// Lists of a definition that are written only when something stands in them.
const LEFT_OUT_WHEN_EMPTY: [&str; 1] = ["tags"];

/// What was asked for, as it is answered: a field is there, or it may not be null.
fn as_answered(part: &Value) -> Value {
    let mut part = part.clone();
    let mut required = Vec::new();
    for (name, schema) in part["properties"].as_object_mut().into_iter().flatten() {
        if LEFT_OUT_WHEN_EMPTY.contains(&name.as_str()) {
            continue;
        }
        if !may_be_null(schema) {
            required.push(json!(name));
            continue;
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(rest) = schema[key].as_array_mut() {
                rest.retain(|one| one["type"] != "null");
            }
        }
        if let Some(types) = schema["type"].as_array_mut() {
            types.retain(|one| one != "null");
            if let [only] = types.as_slice() {
                schema["type"] = only.clone();
            }
        }
        if let Some(schema) = schema.as_object_mut() {
            schema.retain(|_, value| !value.is_null());
        }
    }
    part["required"] = Value::Array(required);
    part
}

/// One of one is that one; what is said of one of two is said of both.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, value| !(value.is_null() && ["oneOf", "anyOf", "type"].contains(&key.as_str())));
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            say_default(fields);
            let described =
                fields.get_mut("oneOf").and_then(|all| all.get_mut(1)?.as_object_mut()?.remove("description"));
            if let Some(description) = described {
                fields.insert("description".to_owned(), description);
            }
            let only =
                fields.get("oneOf").and_then(Value::as_array).filter(|all| all.len() == 1).map(|all| all[0].clone());
            if let Some(Value::Object(only)) = only {
                fields.remove("oneOf");
                fields.extend(only);
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(all) => all.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A default is described in words: some generators take a field with a `default` for one that is always there, and others
/// send it, which for null would take something away.
fn say_default(fields: &mut Map<String, Value>) {
    let Some(default) = fields.remove("default") else { return };
    if default.is_null() || default.is_array() || default.is_object() {
        return;
    }
    let said = fields.get("description").and_then(Value::as_str).map(|said| format!("{said} ")).unwrap_or_default();
    let plain = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
    fields.insert("description".to_owned(), Value::String(format!("{said}When left out: `{plain}`.")));
}

/// The components that the operations lead to.
fn keep_used(mut schemas: Schemas) -> Schemas {
    let mut used = BTreeSet::new();
    let mut open = vec![paths::all(), component("Problem")];
    while let Some(value) = open.pop() {
        for name in references(&value) {
            if used.insert(name.clone()) {
                open.extend(schemas.get(&name).cloned());
            }
        }
    }
    schemas.retain(|name, _| used.contains(name));
    schemas
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).filter(|reference| reference.contains("/schemas/"));
            let own = own.map(|reference| target(reference).to_owned());
            own.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(all) => all.iter().flat_map(references).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn target(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}
