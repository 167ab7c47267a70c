//! The types of the API as tables, from the description that is derived from them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ordo_api::jobs::NewJob;
use ordo_api::openapi;
use serde_json::{Value, json};

use super::table;

const PREFIX: &str = "#/components/schemas/";

const JOB_HEAD: &str = "# Fields of a job

What `POST /v1/jobs` takes, and what stands in the options of `ordo job add`. A field that is not known is refused. After the
fields of a job come the types that they are made of. What `tool_input` may be depends on the tool: [Tools](../guides/tools.md).

";

const TYPES_HEAD: &str = "# Types of the API

In the order of the alphabet. Answers may gain fields; requests with fields that are not known are refused.

";

pub(super) fn job() -> String {
    let mut text = JOB_HEAD.to_owned();
    let mut names = Vec::new();
    closure("NewJob", &mut names);
    for name in &names {
        let title = if name == "NewJob" { "Job" } else { name };
        section(title, name, &mut text);
    }
    text
}

/// The type and all that it is made of, each once, in the order in which they are met.
fn closure(name: &str, names: &mut Vec<String>) {
    if names.iter().any(|known| known == name) {
        return;
    }
    names.push(name.to_owned());
    for part in references(&schemas()[name]) {
        closure(&part, names);
    }
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(PREFIX));
            let below =
                fields.iter().filter(|(name, _)| *name != "discriminator").flat_map(|(_, value)| references(value));
            own.map(str::to_owned).into_iter().chain(below.collect::<Vec<_>>()).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn types() -> String {
    let mut text = TYPES_HEAD.to_owned();
    let names: BTreeSet<&String> = schemas().as_object().unwrap().keys().collect();
    names.into_iter().for_each(|name| section(name, name, &mut text));
    text
}

fn schemas() -> &'static Value {
    &openapi()["components"]["schemas"]
}

fn section(title: &str, name: &str, text: &mut String) {
    let schema = &schemas()[name];
    let _ = write!(text, "## {title}\n\n");
    if let Some(about) = schema["description"].as_str() {
        let _ = write!(text, "{about}\n\n");
    }
    let Some(fields) = schema["properties"].as_object() else {
        let _ = write!(text, "{}{}.\n\n", capital(&shown(schema)), constraints_after(schema));
        return;
    };
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let rows = fields.iter().map(|(field, schema)| {
        let needed = if required.contains(field.as_str()) { "yes" } else { "" };
        let mut about = vec![about(schema), constraints(schema), default_of(name, field)];
        about.retain(|part| !part.is_empty());
        let about = about.join(" ");
        vec![format!("`{field}`"), shown(schema), needed.to_owned(), about]
    });
    text.push_str(&table(&["field", "value", "required", ""], rows));
    text.push('\n');
}

/// What is said of the field, or of the type that it has where that is more than a way to write a text.
fn about(schema: &Value) -> String {
    let own = schema["description"].as_str();
    let parts = [schema["oneOf"].as_array(), schema["anyOf"].as_array()].into_iter().flatten().flatten();
    let mut types = std::iter::once(schema).chain(parts).filter_map(|part| part["$ref"].as_str()?.strip_prefix(PREFIX));
    let is_written = |name: &&str| schemas()[*name]["pattern"].is_string() || schemas()[*name]["format"].is_string();
    let of_type = || types.find(|name| !is_written(name)).and_then(|name| schemas()[name]["description"].as_str());
    own.or_else(of_type).unwrap_or_default().to_owned()
}

/// What a field of a job is when it is left out and is more than a plain value: the description has only those.
fn default_of(name: &str, field: &str) -> String {
    let described = schemas()[name]["properties"][field]["description"].as_str().unwrap_or_default();
    if name != "NewJob" || described.contains("When left out") {
        return String::new();
    }
    let least = json!({ "label": "a", "tool_name": "noop", "trigger": { "type": "manual" } });
    if least.get(field).is_some() {
        return String::new();
    }
    let job: NewJob = serde_json::from_value(least).expect("the least that can be asked for");
    let written = serde_json::to_value(job).expect("a request is plain data");
    written.get(field).map(|value| format!("When left out: `{}`.", plain(value))).unwrap_or_default()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn constraints_after(schema: &Value) -> String {
    match constraints(schema) {
        text if text.is_empty() => text,
        text => format!(". {}", text.trim_end_matches('.')),
    }
}

/// A parameter that is one of the shared ones, or itself.
pub(super) fn resolved(parameter: &'static Value) -> &'static Value {
    match parameter["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        Some(name) => &openapi()["components"]["parameters"][name],
        None => parameter,
    }
}

/// A link to the type that a schema names.
pub(super) fn link(schema: &Value) -> String {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    format!("[{name}](types.md#{})", name.to_lowercase())
}

/// What may stand there, in words.
pub(super) fn shown(schema: &Value) -> String {
    if schema["$ref"].is_string() {
        return link(schema);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{}`", plain(value))).collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        return choices.iter().map(shown).collect::<Vec<_>>().join(" or ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return "anything".to_owned(),
    };
    kinds.into_iter().map(|kind| of_kind(kind, schema)).collect::<Vec<_>>().join(" or ")
}

fn of_kind(kind: &str, schema: &Value) -> String {
    match kind {
        "array" => format!("list of {}", shown(&schema["items"])),
        "object" => match &schema["additionalProperties"] {
            Value::Object(_) => format!("object of {}", shown(&schema["additionalProperties"])),
            _ => "object".to_owned(),
        },
        "string" => match schema["format"].as_str() {
            Some("uuid") => "UUID".to_owned(),
            Some("uri") => "URL".to_owned(),
            Some("date") => "date".to_owned(),
            Some("date-time") => "time".to_owned(),
            _ => "text".to_owned(),
        },
        "boolean" => "true or false".to_owned(),
        "null" => "null".to_owned(),
        other => other.to_owned(),
    }
}

/// What must be true of a value, in words; empty when nothing more is known than its kind.
pub(super) fn constraints(schema: &Value) -> String {
    let mut parts = Vec::new();
    let number = |name: &str| schema[name].as_u64();
    match (number("minimum"), number("maximum")) {
        (Some(min), Some(max)) => parts.push(format!("From {min} to {max}.")),
        (None, Some(max)) => parts.push(format!("At most {max}.")),
        (Some(min), None) if min > 0 => parts.push(format!("At least {min}.")),
        _ => {}
    }
    if let Some(max) = number("maxLength") {
        parts.push(format!("At most {max} bytes."));
    }
    if let Some(max) = number("maxItems") {
        parts.push(format!("At most {max} of them."));
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        parts.push(format!("Matches `{pattern}`."));
    }
    if !schema["default"].is_null() {
        parts.push(format!("Default: `{}`.", plain(&schema["default"])));
    }
    if let Some(examples) = schema["examples"].as_array().filter(|all| all.iter().all(|one| !one.is_object())) {
        let shown: Vec<String> = examples.iter().map(|one| format!("`{}`", plain(one))).collect();
        parts.push(format!("For example {}.", shown.join(", ")));
    }
    parts.join(" ")
}

fn plain(value: &Value) -> String {
    value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string())
}
