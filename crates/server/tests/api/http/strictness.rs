//! Every request of the route table, bent at every depth: a list for an object, a field that nobody knows, a wrong
//! type, null. What is bent is made from the description, so a new route or a new field is here by itself.

use axum::body::Body;
use ordo_api::{Operation, openapi};
use serde_json::{Map, Value, json};

use ordo_server::testing::{World, job, request, text};

/// The least that a schema takes, with one value for every field: what is bent must be there first.
fn sample(schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return sample(openapi().pointer(&reference[1..]).unwrap());
    }
    let one_of = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array());
    if let Some(alternatives) = one_of {
        // The richest: an object rather than a name, a name rather than null.
        let samples = alternatives.iter().map(sample);
        return samples.max_by_key(|value| (value.is_object(), value.is_array(), !value.is_null())).unwrap();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    let kind = schema["type"].as_array().map_or(&schema["type"], |all| &all[0]);
    match (kind.as_str(), schema["format"].as_str()) {
        (Some("object"), _) => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(fields.map(|(name, schema)| (name.clone(), sample(schema))).collect::<Map<_, _>>())
        }
        (Some("array"), _) => json!([sample(&schema["items"])]),
        (Some("integer"), _) => schema["minimum"].as_u64().map_or(json!(1), |least| json!(least.max(1))),
        (Some("boolean"), _) => json!(true),
        (Some("string"), Some("uuid")) => json!("0199b3a4-0000-7000-8000-000000000000"),
        (Some("string"), Some("date-time")) => json!("2030-01-01T00:00:00.000Z"),
        (Some("string"), Some("date")) => json!("2030-01-01"),
        (Some("string"), Some("uri")) => json!("https://example.org/x"),
        (Some("string"), _) => schema["examples"][0].as_str().map_or(json!("22:00"), |example| json!(example)),
        _ => json!({}),
    }
}

/// Where objects and fields stand whose shape is described; what may be anything is left alone.
fn places(schema: &Value, value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    if let Some(reference) = schema["$ref"].as_str() {
        return places(openapi().pointer(&reference[1..]).unwrap(), value, path, found);
    }
    if let Some(alternatives) = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array()) {
        let fitting = alternatives.iter().find(|one| sample(one) == *value);
        return fitting.into_iter().for_each(|one| places(one, value, path, found));
    }
    if schema.as_object().is_none_or(|schema| !schema.contains_key("type") && !schema.contains_key("enum")) {
        return;
    }
    found.push((path.to_owned(), value.clone()));
    for (name, inner) in value.as_object().into_iter().flatten() {
        places(&schema["properties"][name], inner, &format!("{path}/{name}"), found);
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        places(&schema["items"], inner, &format!("{path}/{index}"), found);
    }
}

fn with(body: &Value, path: &str, value: Value) -> Value {
    let mut bent = body.clone();
    *bent.pointer_mut(path).unwrap() = value;
    bent
}

/// What is done to the value at a place.
fn bent(body: &Value, path: &str, value: &Value) -> Vec<(&'static str, Value)> {
    let mut all = vec![("a list of nothing", with(body, path, json!([[]])))];
    if value.is_object() {
        let fields: Vec<Value> = value.as_object().unwrap().values().cloned().collect();
        all.push(("its fields as a list", with(body, path, Value::Array(fields))));
        all.push(("an empty list", with(body, path, json!([]))));
        let mut more = value.clone();
        more["nobody_knows_this"] = json!(1);
        all.push(("an unknown field", with(body, path, more)));
    } else {
        all.push(("an object", with(body, path, json!({ "nobody_knows_this": 1 }))));
    }
    all
}

/// Says what is wrong in words for people: no name of a Rust type, no serde.
fn check_words(detail: &str) {
    for word in [
        "struct ",
        "enum ",
        "tuple",
        "visitor",
        "Form",
        "View",
        "variant",
        "untagged",
        "sequence",
        "expected ",
        "u32",
        "i64",
        "usize",
        "::",
    ] {
        assert!(!detail.contains(word), "{detail:?} says {word:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_bent_at_any_depth_is_refused_in_plain_words() {
    let world = World::new().await;
    let mut tried = 0;
    for route in Operation::routes() {
        let Some(name) = route.body.as_ref().and_then(|body| body.schema()) else { continue };
        let schema = &openapi()["components"]["schemas"][name];
        let whole = sample(schema);
        let mut found = Vec::new();
        places(schema, &whole, "", &mut found);
        assert!(!found.is_empty(), "{route:?}");
        for (path, value) in &found {
            for (what, body) in bent(&whole, path, value) {
                // A merge patch is judged where it is laid over a job: see the test below.
                if name == "JobPatch" && !path.is_empty() {
                    continue;
                }
                let verdict = route.body.as_ref().unwrap().check(body.to_string().as_bytes()).unwrap();
                let error = verdict.expect_err(&format!("{route:?}: {what} at {path:?} was taken: {body}"));
                check_words(&error.to_string());
                tried += 1;
            }
        }
        for body in ["[]", "[null]", "[null, null]", "7", "null", "\"x\""] {
            let concrete = route.path.replace("{id}", "0199b3a4-0000-7000-8000-000000000000");
            let concrete = concrete.replace("{slug}", "gh").replace("{name}", "x");
            let sent = request(route.method.name(), &concrete).header("content-type", "application/json");
            let answer = world.send(sent.body(Body::from(body)).unwrap()).await;
            assert!(answer.status.is_client_error(), "{route:?} with {body}: {}", answer.text);
            let code = answer.json["code"].as_str().unwrap_or_default();
            assert!(code.starts_with("invalid_"), "{route:?} with {body}: {}", answer.text);
            check_words(answer.json["detail"].as_str().unwrap());
        }
    }
    assert!(tried > 500, "only {tried} bent requests");
}

#[tokio::test]
async fn a_patch_of_a_job_that_is_bent_at_any_depth_is_refused_and_changes_nothing() {
    let world = World::new().await;
    let made = world.job(json!({ "retry": { "max_attempts": 3 } })).await;
    let path = format!("/v1/jobs/{}", text(&made["id"]));
    for patch in [
        json!({ "retry": [2] }),
        json!({ "retry": { "max_attempts": 2, "more": 1 } }),
        json!({ "retry": { "max_attempts": [] } }),
        json!({ "retention": [1, "1d"] }),
        json!({ "trigger": ["manual"] }),
        json!({ "trigger": { "type": "manual", "more": 1 } }),
        json!({ "block": { "concurrent": [4] } }),
        json!({ "block": { "concurrent": { "max": 4, "min": 1 } } }),
        json!({ "misfire": { "fire_all": [1, "1h"] } }),
        json!({ "misfire": { "do_nothing": null } }),
        json!({ "on_failure": { "incident": ["sev1"] } }),
        json!({ "on_failure": { "incident": { "severity": "sev1", "more": 1 } } }),
        json!({ "after": { "jobs": [made["id"]], "more": 1 } }),
        json!({ "unique_key": ["label", "1h"] }),
        json!({ "label": null }),
        json!({ "nobody_knows_this": 1 }),
    ] {
        let refused = world.patch(&path, None, patch.clone()).await.refused(422, "invalid_job");
        check_words(refused["detail"].as_str().unwrap());
        assert!(refused["errors"][0]["field"].is_string(), "{patch}: {refused}");
    }
    assert_eq!(world.get(&path).await.expect(200)["revision"], made["revision"]);
}

#[tokio::test]
async fn a_list_neither_triggers_a_job_nor_drops_the_verification_of_a_hook() {
    let world = World::new().await;
    let made = world.job(json!({})).await;
    world.post(&format!("/v1/jobs/{}/trigger", text(&made["id"])), json!([])).await.refused(422, "invalid_body");
    let hook = json!({ "slug": "gh", "verify": { "type": "github", "secret": "s" } });
    world.post("/v1/hooks", hook).await.expect(201);
    world.patch("/v1/hooks/gh", None, json!([null, null])).await.refused(422, "invalid_body");
    assert_eq!(world.get("/v1/hooks/gh").await.expect(200)["verify"]["type"], "github");
    let twice = "{\"slug\": \"b\", \"slug\": \"c\"}";
    let sent = request("POST", "/v1/hooks").header("content-type", "application/json");
    world.send(sent.body(Body::from(twice)).unwrap()).await.refused(400, "invalid_json");
    assert_eq!(
        world.post("/v1/jobs", job(json!({ "retry": [3] }))).await.refused(422, "invalid_job")["errors"][0]["field"],
        "retry"
    );
}
