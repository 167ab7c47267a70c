use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use ordo_server::{openapi, paths};
use serde_json::Value;

use crate::world::{World, request};

#[tokio::test]
async fn the_description_is_open_to_all() {
    let world = World::new().await;
    let answer = world.send(Request::get("/openapi.json").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(&answer.expect(200), openapi());
}

#[test]
fn the_description_changes_only_on_purpose() {
    let mut document = openapi().clone();
    document["info"]["version"] = "[version]".into();
    insta::with_settings!({ prepend_module_to_snapshot => false, sort_maps => true }, {
        insta::assert_json_snapshot!("openapi", document);
    });
}

/// What each path takes is asked of the server itself: a method it does not have is answered with those it has.
#[tokio::test]
async fn every_route_is_described_and_every_description_has_its_route() {
    let world = World::new().await;
    let described = openapi()["paths"].as_object().unwrap();
    let routed: BTreeSet<&str> = paths().into_iter().collect();
    assert_eq!(described.keys().map(String::as_str).collect::<BTreeSet<_>>(), routed);
    for (path, item) in described {
        let names = ["{id}", "{stream}", "{slug}", "{name}", "{token}"];
        let concrete = names.iter().fold(path.clone(), |path, name| path.replace(name, "x"));
        let answer = world.send(request("TRACE", &concrete).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 405, "{path}");
        let allowed = answer.header("allow").to_lowercase();
        let taken: BTreeSet<&str> = allowed.split(',').filter(|method| *method != "head").collect();
        assert_eq!(item.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(), taken, "{path}");
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_component_is_used() {
    let document = openapi();
    let mut used = BTreeSet::new();
    references(document, &mut used);
    for reference in &used {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for kind in ["schemas", "parameters"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(&format!("#/components/{kind}/{name}")), "{kind}/{name} is not used");
        }
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let items = openapi()["paths"].as_object().unwrap().values();
    let operations: Vec<&Value> = items.flat_map(|item| item.as_object().unwrap().values()).collect();
    let names: BTreeSet<&str> = operations.iter().map(|operation| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(names.len(), operations.len());
}

/// What an answer leads to is an operation, and the parameter is one of its own.
#[test]
fn every_link_leads_to_an_operation() {
    let items = openapi()["paths"].as_object().unwrap().iter();
    let operations =
        || items.clone().flat_map(|(path, item)| item.as_object().unwrap().values().map(move |o| (path, o)));
    let mut seen = 0;
    for (_, operation) in operations() {
        let answers = operation["responses"].as_object().unwrap().values();
        for link in answers.filter_map(|answer| answer["links"].as_object()).flat_map(|links| links.values()) {
            let (path, _) = operations().find(|(_, o)| o["operationId"] == link["operationId"]).expect("an operation");
            let parameter = link["parameters"].as_object().unwrap().keys().next().unwrap();
            assert!(path.contains(&format!("{{{parameter}}}")), "{path} has no {parameter}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} links");
}
