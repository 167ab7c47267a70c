//! Who brought an event about: the token that was let in, the way it came, the request; and nobody else.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use ordo_adapters::slack::signature::SigningSecret;
use ordo_model::Role;
use ordo_server::{Adapters, router};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::auth::login::{OWN, browse, login};
use ordo_server::testing::{TestResponse, World, job, text};

/// The last event of a stream.
async fn last(world: &World, stream: &str) -> Value {
    let page = world.get(&format!("/v1/streams/{stream}?limit=200")).await.expect(200);
    page["items"].as_array().unwrap().last().unwrap().clone()
}

async fn last_of_job(world: &World, job: &Value) -> Value {
    last(world, &format!("ordo-job-{}", text(&job["id"]))).await
}

/// A request with this token and these headers.
async fn ask(world: &World, token: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> TestResponse {
    let mut request = Request::post(path).header("authorization", format!("Bearer {token}"));
    request = request.header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(Body::from(body.to_string())).unwrap()).await
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A page, as a browser with this session gets it: what it leads to, and what stands in it.
async fn page(world: &World, method: &str, path: &str, session: &str, fields: &str) -> (String, String) {
    let headers = [OWN, FORM, ("host", "ordo.example"), ("cookie", session), ("ordo-client", "cli")];
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(Body::from(fields.to_owned())).unwrap();
    let (parts, body) = router(world.app.clone()).oneshot(request).await.unwrap().into_parts();
    let text = String::from_utf8_lossy(&body.collect().await.unwrap().to_bytes()).into_owned();
    assert!(parts.status.is_success() || parts.status.is_redirection(), "{}: {text}", parts.status);
    let location = parts.headers.get("location").map(|place| place.to_str().unwrap().to_owned());
    (location.unwrap_or_default(), text)
}

#[tokio::test]
async fn an_event_carries_the_token_the_way_and_the_request() {
    let world = World::new().await;
    let ci = world.token("ci", Role::Operator).await;
    let answer = ask(&world, &ci, "/v1/jobs", &[("x-request-id", "r-1")], &job(json!({}))).await;
    let made = answer.expect(201);
    let actor = json!({"name": "ci", "source": "api", "on_behalf_of": null, "request_id": "r-1"});
    assert_eq!(last_of_job(&world, &made).await["actor"], actor);
    // Without an id of its own a request has the one that is answered.
    let paused = ask(&world, &ci, &format!("/v1/jobs/{}/pause", text(&made["id"])), &[], &json!({})).await;
    let id = paused.header("x-request-id").to_owned();
    paused.expect(200);
    let event = last_of_job(&world, &made).await;
    assert_eq!((&event["type"], &event["actor"]["request_id"]), (&json!("JobPaused"), &json!(id)));
    // The log of all events says the same.
    let all = world.get("/v1/events?limit=200").await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().last().unwrap(), &event);
}

#[tokio::test]
async fn a_client_may_say_that_it_is_the_command_line_and_nothing_else() {
    let world = World::new().await;
    for (claimed, source) in [("cli", "cli"), ("page", "api"), ("ordo", "api"), ("hook", "api"), ("\u{fc}", "api")] {
        let header = [("ordo-client", claimed)];
        let made = world.with_headers("POST", "/v1/jobs", &header, job(json!({}))).await.expect(201);
        let actor = &last_of_job(&world, &made).await["actor"];
        assert_eq!((&actor["name"], &actor["source"]), (&json!("admin@test"), &json!(source)), "{claimed:?}");
    }
}

#[tokio::test]
async fn a_job_cannot_be_signed_as_somebody_else() {
    let world = World::new().await;
    let signed = job(json!({ "actor": { "name": "boss", "source": "page" } }));
    world.post("/v1/jobs", signed).await.refused(422, "invalid_job");
    let ci = world.token("ci", Role::Operator).await;
    let headers = [("ordo-actor", "boss"), ("x-forwarded-user", "boss"), ("from", "boss")];
    let made = ask(&world, &ci, "/v1/jobs", &headers, &job(json!({}))).await.expect(201);
    assert_eq!(last_of_job(&world, &made).await["actor"]["name"], "ci");
}

#[tokio::test]
async fn a_name_in_a_request_is_kept_as_the_one_it_was_done_on_behalf_of() {
    let world = World::new().await;
    let ci = world.token("ci", Role::Operator).await;
    let start = json!({"title": "checkout is down", "actor": "ana"});
    let made = ask(&world, &ci, "/v1/incidents", &[("ordo-client", "cli")], &start).await.expect(201);
    let by = json!({"actor": "ci", "source": "cli", "on_behalf_of": "ana"});
    assert_eq!(made["started_by"], by);
    let id = text(&made["id"]);
    let path = |what: &str| format!("/v1/incidents/{id}/{what}");
    ask(&world, &ci, &path("ack"), &[], &json!({"actor": "ci"})).await.expect(200);
    ask(&world, &ci, &path("notes"), &[], &json!({"text": "looking"})).await.expect(200);
    let shown = world.get(&format!("/v1/incidents/{id}")).await.expect(200);
    let actors: Vec<(&Value, &Value, &Value)> = shown["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["actor"]["name"], &entry["actor"]["source"], &entry["actor"]["on_behalf_of"]))
        .collect();
    let (name, ana) = (json!("ci"), json!("ana"));
    let (cli, api, nobody) = (json!("cli"), json!("api"), Value::Null);
    assert_eq!(actors, [(&name, &cli, &ana), (&name, &api, &nobody), (&name, &api, &nobody)]);
    assert_eq!(shown["acknowledged"]["by"], json!({"actor": "ci", "source": "api"}));
    for bad in ["", "ana\nboss", &"x".repeat(201)] {
        let refused = ask(&world, &ci, &path("ack"), &[], &json!({"actor": bad})).await;
        refused.refused(422, "invalid_incident");
    }
}

#[tokio::test]
async fn what_is_done_on_a_page_is_the_sessions_whatever_it_calls_itself() {
    let world = World::new().await;
    let ana = world.token("ana", Role::Operator).await;
    let session = login(&world, &ana).await;
    let made = world.job(json!({})).await;
    let id = text(&made["id"]);
    page(&world, "POST", &format!("/jobs/{id}/pause"), &session, "").await;
    let event = last_of_job(&world, &made).await;
    assert_eq!((&event["type"], &event["actor"]["name"]), (&json!("JobPaused"), &json!("ana")));
    assert_eq!(event["actor"]["source"], "page");
    assert!(event["actor"]["request_id"].is_string());
    // What the page asks of the API is the page's too.
    let headers = [OWN, ("cookie", session.as_str()), ("ordo-client", "cli")];
    browse(&world, "POST", &format!("/v1/jobs/{id}/resume"), &headers, "").await.expect(200);
    assert_eq!(last_of_job(&world, &made).await["actor"]["source"], "page");
    let (_, shown) = page(&world, "GET", &format!("/jobs/{id}/history"), &session, "").await;
    assert!(shown.contains("ana · page · JobPaused"), "{shown}");
    // The session ends in its own name.
    let out = browse(&world, "POST", "/logout", &[OWN, ("cookie", &session)], "").await;
    assert_eq!(out.status, 303);
}

#[tokio::test]
async fn an_incident_of_a_page_is_the_sessions() {
    let world = World::new().await;
    let ana = world.token("ana", Role::Operator).await;
    let session = login(&world, &ana).await;
    let (started, _) = page(&world, "POST", "/incidents", &session, "title=slow&severity=sev2").await;
    let id = started.rsplit('/').next().unwrap().to_owned();
    // What happens by itself afterwards is not the session's.
    let stream = world.get(&format!("/v1/streams/ordo-incident-{id}")).await.expect(200);
    let event = &stream["items"][0];
    assert_eq!((&event["actor"]["name"], &event["actor"]["source"]), (&json!("ana"), &json!("page")));
    assert_eq!(event["data"]["by"], json!({"actor": "ana", "source": "page"}));
    let (_, shown) = page(&world, "GET", &format!("/incidents/{id}"), &session, "").await;
    assert!(shown.contains("<b title=\"ana · page\">ana</b> started this incident"), "{shown}");
}

#[tokio::test]
async fn a_call_of_a_hook_and_what_it_starts_are_the_hooks() {
    let world = World::new().await;
    world.post("/v1/hooks", json!({ "slug": "push" })).await.expect(201);
    let made = world.job(json!({ "trigger": { "type": "webhook", "hook": "push" } })).await;
    // A name that the caller gives means nothing here.
    let call = Request::post("/hooks/push").header("x-request-id", "gh-1").header("ordo-client", "cli");
    let received = world.send(call.body(Body::from("{}")).unwrap()).await.expect(202);
    let event = last(&world, &format!("ordo-delivery-{}", text(&received["id"]))).await;
    let first = world.get(&format!("/v1/streams/{}", text(&event["stream"]))).await.expect(200)["items"][0].clone();
    let actor = json!({"name": "push", "source": "hook", "on_behalf_of": null, "request_id": "gh-1"});
    assert_eq!(first["actor"], actor);
    let triggered = async || {
        let page = world.get(&format!("/v1/streams/ordo-job-{}", text(&made["id"]))).await.expect(200);
        page["items"].as_array().unwrap().iter().find(|event| event["type"] == "JobTriggered").cloned()
    };
    world.eventually(async || triggered().await.is_some()).await;
    let actor = triggered().await.unwrap()["actor"].clone();
    assert_eq!((&actor["name"], &actor["source"]), (&json!("push"), &json!("hook")));
}

#[tokio::test]
async fn a_ping_is_the_monitors() {
    let world = World::new().await;
    let monitor =
        world.post("/v1/monitors", json!({ "name": "backup", "every": "1h", "grace": "5m" })).await.expect(201);
    let id = text(&monitor["id"]);
    world.order(&text(&monitor["ping_path"])).await.expect(200);
    let event = last(&world, &format!("ordo-monitor-{id}")).await;
    assert_eq!((&event["actor"]["name"], &event["actor"]["source"]), (&json!("backup"), &json!("ping")));
}

#[tokio::test]
async fn a_button_in_slack_is_the_users() {
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    let slack = Some(SigningSecret::new(SECRET));
    let world = World::new().await.adapted(Adapters { slack, ..Adapters::default() });
    let made = world.post("/v1/incidents", json!({"title": "checkout is down"})).await.expect(201);
    let id = text(&made["id"]);
    let action = json!({"action_id": "ordo_acknowledge", "value": id});
    let payload = json!({"type": "block_actions", "user": {"id": "U7"}, "actions": [action]});
    let body = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
    let timestamp = (world.engine.clock().now().ms() / 1_000).to_string();
    let signature = SigningSecret::new(SECRET).sign(&timestamp, body.as_bytes());
    let pressed = Request::post("/slack/interaction")
        .header("x-request-id", "slack-1")
        .header("x-slack-request-timestamp", timestamp)
        .header("x-slack-signature", signature);
    world.send(pressed.body(Body::from(body)).unwrap()).await.expect(200);
    let shown = world.get(&format!("/v1/incidents/{id}")).await.expect(200);
    let entry = shown["timeline"].as_array().unwrap().last().unwrap();
    let actor = json!({"name": "slack:U7", "source": "slack", "on_behalf_of": null, "request_id": "slack-1"});
    assert_eq!((&entry["type"], &entry["actor"]), (&json!("Acknowledged"), &actor));
}

#[tokio::test]
async fn a_report_is_the_executors_and_a_fire_is_ordos() {
    let world = World::new().await;
    let worker = world.token("worker", Role::Executor).await;
    let ask = async |path: &str, body: Value| world.request_as(&worker, "POST", path, Some(body)).await;
    let offer = json!({"name": "w1", "group": "far", "tools": ["noop"], "capacity": 1});
    let executor = text(&ask("/v1/executors", offer).await.expect(201)["id"]);
    let made = world.job(json!({ "group": "far" })).await;
    world.trigger(&made).await;
    let poll = ask(&format!("/v1/executors/{executor}/poll"), json!({"max": 1, "wait_ms": 20_000})).await.expect(200);
    let (run, token) = (&poll["runs"][0]["run_id"], &poll["runs"][0]["token"]);
    let report = json!({"run_id": run, "token": token, "status": {"type": "completed", "result": 1}});
    let results = ask("/v1/runs/report", json!({"reports": [report]})).await.expect(200);
    assert_eq!(results["results"][0]["status"], 200);
    let page = world.get(&format!("/v1/streams/ordo-job-{}", text(&made["id"]))).await.expect(200);
    let recorded: Vec<(String, String, String)> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] != "Published")
        .map(|event| (text(&event["type"]), text(&event["actor"]["name"]), text(&event["actor"]["source"])))
        .collect();
    let expected = [
        ("JobScheduled", "admin@test", "api"),
        ("JobTriggered", "admin@test", "api"),
        ("JobStarted", "ordo", "ordo"),
        ("JobExecuted", "worker", "executor"),
    ];
    assert_eq!(recorded, expected.map(|(kind, name, source)| (kind.to_owned(), name.to_owned(), source.to_owned())));
}
