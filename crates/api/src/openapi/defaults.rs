//! What a field is when it is left out, asked of the types themselves: the least that can be asked for is read and
//! written again.

use ordo_model::job::{IncidentPolicy, Retention, Retry};
use ordo_model::monitor::MonitorSettings;
use ordo_model::strict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::schemas::Schemas;
use crate::executors::NewExecutor;
use crate::jobs::{BackfillJob, NewJob};
use crate::upkeep::DrainNode;

pub(super) fn lay_over(schemas: &mut Schemas) {
    let job = json!({ "label": "a", "tool_name": "noop", "trigger": { "type": "manual" } });
    let defaults = [
        filled_in::<NewJob>("Definition", job.clone()),
        filled_in::<NewJob>("JobPatch", job),
        of::<Retry>(json!({})),
        of::<Retention>(json!({})),
        of::<IncidentPolicy>(json!({})),
        of::<MonitorSettings>(json!({ "name": "a" })),
        of::<NewExecutor>(json!({ "name": "a", "tools": ["noop"] })),
        of::<BackfillJob>(json!({ "from": "2026-01-01T00:00:00Z" })),
        of::<DrainNode>(json!({})),
    ];
    for (name, values) in defaults {
        let Some(schema) = schemas.get_mut(&name) else { continue };
        for (field, value) in values.as_object().into_iter().flatten() {
            lay(&mut schema["properties"][field], value);
        }
    }
}

/// Only plain values: generators do not know what to do with a default that is an object.
fn lay(schema: &mut Value, value: &Value) {
    let is_plain = value.is_string() || value.is_number() || value.is_boolean();
    let takes_one = |schema: &Value| schema["type"].is_string();
    let own = match schema["anyOf"].get_mut(0) {
        Some(first) => first,
        None => schema,
    };
    if is_plain && takes_one(own) {
        own["default"] = value.clone();
    }
}

fn of<T: ToSchema + Serialize + DeserializeOwned>(least: Value) -> (String, Value) {
    filled_in::<T>(&T::name(), least)
}

fn filled_in<T: Serialize + DeserializeOwned>(name: &str, least: Value) -> (String, Value) {
    let given: Vec<String> = least.as_object().into_iter().flatten().map(|(field, _)| field.clone()).collect();
    let read: T = strict::from_value(least).expect("the least that can be asked for");
    let mut written = serde_json::to_value(read).expect("a request is plain data");
    if let Some(fields) = written.as_object_mut() {
        fields.retain(|field, _| !given.contains(field));
    }
    (name.to_owned(), written)
}
