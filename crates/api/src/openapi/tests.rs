//! The description as a whole: every operation is there, every reference leads somewhere.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::operation::Operation;

fn walk<'a>(value: &'a Value, visit: &mut impl FnMut(&'a Value)) {
    visit(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|value| walk(value, visit)),
        Value::Array(all) => all.iter().for_each(|value| walk(value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_component_is_used() {
    let mut used = BTreeSet::new();
    walk(openapi(), &mut |value| used.extend(value["$ref"].as_str()));
    for reference in &used {
        assert!(openapi().pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    for kind in ["schemas", "parameters"] {
        for name in openapi()["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(format!("#/components/{kind}/{name}").as_str()), "{kind}/{name} is not used");
        }
    }
}

/// What generators of clients stumble over.
#[test]
fn every_schema_is_an_object_that_says_what_it_is() {
    let mut schemas: Vec<(&str, &Value)> = Vec::new();
    for (name, schema) in openapi()["components"]["schemas"].as_object().unwrap() {
        walk(schema, &mut |value| schemas.push((name, value)));
    }
    for (name, value) in schemas {
        for (field, schema) in value["properties"].as_object().into_iter().flatten() {
            assert!(schema.is_object(), "{name}.{field} is a boolean schema");
            assert_ne!(schema["type"], "null", "{name}.{field} is only ever null");
            let is_inline = schema["type"] == "object" && schema["properties"].is_object();
            assert!(!is_inline, "{name}.{field} is an object without a name");
        }
        if value["type"] == "array" {
            assert!(value["items"].is_object() || value["prefixItems"].is_array(), "{name}: a list of what?");
        }
        for one in ["oneOf", "anyOf"].iter().filter_map(|key| value[*key].as_array()).flatten() {
            assert!(one["properties"].is_null(), "{name} has an alternative without a name");
        }
    }
}

#[test]
fn every_tag_of_an_operation_is_described_and_every_described_one_is_used() {
    let described: BTreeSet<&str> =
        openapi()["tags"].as_array().unwrap().iter().filter_map(|tag| tag["name"].as_str()).collect();
    let used: BTreeSet<&str> = Operation::routes().iter().map(|route| route.tag).collect();
    assert_eq!(described, used);
}

#[test]
fn alternatives_by_type_say_how_to_choose() {
    let schemas = &openapi()["components"]["schemas"];
    for name in ["RunStatus", "Cause", "Trigger", "IncidentLink", "ReportStatus"] {
        let mapping = schemas[name]["discriminator"]["mapping"].as_object().unwrap();
        assert_eq!(mapping.len(), schemas[name]["oneOf"].as_array().unwrap().len(), "{name}");
    }
}

#[test]
fn what_is_asked_for_is_closed_and_what_is_answered_is_open() {
    let schemas = &openapi()["components"]["schemas"];
    for route in Operation::routes() {
        if let Some(name) = route.body.as_ref().and_then(|body| body.schema()) {
            assert_eq!(schemas[name]["additionalProperties"], false, "{name}");
        }
    }
    for name in ["Job", "Run", "Incident", "Monitor", "Hook", "Problem"] {
        assert!(schemas[name]["additionalProperties"].is_null(), "{name}");
    }
}

#[test]
fn a_problem_is_named_by_its_code() {
    let codes = openapi()["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    assert!(codes.contains(&"unknown_tool".into()) && codes.len() == crate::Code::ALL.len(), "{codes:?}");
}

#[test]
fn a_job_is_answered_with_its_defaults_and_asked_for_without() {
    let schemas = &openapi()["components"]["schemas"];
    let required = |name: &str| schemas[name]["required"].as_array().unwrap().clone();
    assert_eq!(required("NewJob"), ["label", "tool_name", "trigger"]);
    for field in ["id", "label", "priority", "retry", "state", "next_tick_at"] {
        assert!(required("Job").contains(&field.into()), "{field}");
    }
    for field in ["description", "on_failure", "paused_since", "tags"] {
        assert!(!required("Job").contains(&field.into()), "{field}");
    }
    assert_eq!(schemas["NewJob"]["properties"]["priority"]["description"], "When left out: `5`.");
    assert_eq!(schemas["Retry"]["properties"]["max_attempts"]["description"], "When left out: `1`.");
    assert!(schemas["JobPatch"]["required"].is_null());
}

/// What an answer leads to is an operation, and the parameter is one of its own.
#[test]
fn every_link_leads_to_an_operation() {
    let links = Operation::routes().iter().flat_map(|route| route.answers.values()).flat_map(|answer| &answer.links);
    let mut seen = 0;
    for (operation, parameter, _) in links {
        let path = operation.route().path;
        assert!(path.contains(&format!("{{{parameter}}}")), "{path} has no {parameter}");
        seen += 1;
    }
    assert!(seen > 10, "{seen} links");
}
