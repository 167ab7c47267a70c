//! Monitors over HTTP: added, pinged without a token of the API, silent, recovered, removed.

use axum::body::Body;
use axum::http::Request;
use ordo_model::Role;
use serde_json::{Value, json};

use ordo_server::testing::World;

async fn ping(world: &World, method: &str, path: &str, body: &str) -> Value {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    world.send(request).await.expect(200)
}

#[tokio::test]
async fn a_monitor_is_added_pinged_and_removed() {
    let world = World::new().await;
    let form = json!({ "name": "backup", "every": "1h", "grace": "5m" });
    let made = world.post("/v1/monitors", form.clone()).await.expect(201);
    let path = made["ping_path"].as_str().unwrap().to_owned();
    assert_eq!((made["status"].as_str(), made["grace"].as_str()), (Some("new"), Some("5m")));
    let same = world.post("/v1/monitors", form).await.expect(200);
    assert_eq!(same["ping_path"], path.as_str());

    ping(&world, "GET", &format!("{path}/start"), "").await;
    let heard = ping(&world, "POST", &path, "copied 7 files").await;
    assert_eq!(heard["status"], "up");
    let shown = world.get("/v1/monitors/backup").await.expect(200);
    assert_eq!(shown["last_said"], "copied 7 files");
    assert_eq!(shown["pings"].as_array().unwrap().len(), 2);
    ping(&world, "POST", &format!("{path}/fail"), &"x".repeat(100_000)).await;
    let shown = world.get("/v1/monitors/backup").await.expect(200);
    assert_eq!((shown["status"].as_str(), shown["last_said"].as_str().unwrap().len()), (Some("failing"), 64 * 1024));
    let opened =
        async || world.get("/v1/incidents?status=open").await.expect(200)["items"].as_array().unwrap().len() == 1;
    world.eventually(opened).await;
    ping(&world, "GET", &path, "").await;
    let resolved = async || {
        world.get("/v1/incidents?status=resolved").await.expect(200)["items"][0]["identifier"] == "monitor:backup"
    };
    world.eventually(resolved).await;

    assert_eq!(world.get("/v1/monitors").await.expect(200)["items"].as_array().unwrap().len(), 1);
    world.delete("/v1/monitors/backup").await.expect(200);
    world.get("/v1/monitors/backup").await.refused(404, "monitor_not_found");
    world.get(&path).await.refused(404, "monitor_not_found");
    world.get("/ping/nonsense").await.refused(404, "monitor_not_found");
}

#[tokio::test]
async fn silence_opens_an_incident() {
    let world = World::new().await;
    world.post("/v1/monitors", json!({ "name": "quiet", "every": "1s", "grace": "0s" })).await.expect(201);
    let opened =
        async || world.get("/v1/incidents?status=open").await.expect(200)["items"].as_array().unwrap().len() == 1;
    world.eventually(opened).await;
    let incident = &world.get("/v1/incidents").await.expect(200)["items"][0];
    assert_eq!(incident["started_by"], json!({ "actor": "quiet", "source": "monitor" }));
    assert_eq!(world.get("/v1/monitors/quiet").await.expect(200)["status"], "silent");
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let world = World::new().await;
    world.post("/v1/monitors", json!({ "name": "a b", "every": "1h" })).await.refused(422, "invalid_monitor");
    world.post("/v1/monitors", json!({ "name": "a" })).await.refused(422, "invalid_monitor");
    world.post("/v1/monitors", json!({ "every": "1h" })).await.refused(422, "invalid_body");
}

#[tokio::test]
async fn the_path_of_a_ping_is_for_those_who_may_ping() {
    let world = World::new().await;
    let made = world.post("/v1/monitors", json!({ "name": "backup", "every": "1d", "grace": "1h" })).await.expect(201);
    let secret = made["ping_path"].as_str().unwrap().strip_prefix("/ping/").unwrap().to_owned();
    let (viewer, manager, operator) = (
        world.token("v", Role::Viewer).await,
        world.token("h", Role::HookManager).await,
        world.token("o", Role::Operator).await,
    );
    let stream = format!("/v1/streams/ordo-monitor-{}", ordo_model::monitor::Monitor::id("backup"));
    for path in ["/v1/monitors", "/v1/monitors/backup", "/v1/events", &stream] {
        for token in [&viewer, &manager] {
            let answer = world.request_as(token, "GET", path, None).await;
            assert_eq!(answer.status, 200, "{path}");
            assert!(!answer.text.contains(&secret) && answer.text.contains("backup"), "{path}: {}", answer.text);
        }
        let answer = world.request_as(&operator, "GET", path, None).await;
        assert!(answer.text.contains(&secret), "{path}: {}", answer.text);
    }
}

/// Like a client of Healthchecks: nothing but a path, no token of the API.
async fn call(world: &World, method: &str, path: &str, body: &str) -> ordo_server::testing::TestResponse {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    world.send(request).await
}

#[tokio::test]
async fn a_ping_says_what_a_wrapper_for_healthchecks_says() {
    let world = World::new().await;
    let form = json!({ "name": "backup", "every": "1h", "grace": "5m" });
    let path = world.post("/v1/monitors", form).await.expect(201)["ping_path"].as_str().unwrap().to_owned();
    let token = path.strip_prefix("/ping/").unwrap();
    assert_eq!(token.parse::<uuid::Uuid>().unwrap().get_version_num(), 4, "what other services call a ping UUID");
    assert_eq!(ping(&world, "GET", &format!("/ping/{}", token.replace('-', "")), "").await["status"], "up");
    let rid = "0f5a6e0c-2a64-4be1-9d1f-9a3a7c7a0001";
    ping(&world, "POST", &format!("{path}/start?rid={rid}"), "").await;
    ping(&world, "POST", &format!("{path}/log"), "half of it").await;
    assert_eq!(ping(&world, "POST", &format!("{path}/3?rid={rid}"), "disk full").await["status"], "failing");
    let shown = world.get("/v1/monitors/backup").await.expect(200);
    let last = &shown["last_ping"];
    assert_eq!((&last["signal"], &last["exit_status"], &last["rid"]), (&json!("fail"), &json!(3), &json!(rid)));
    assert!(last["took_ms"].is_u64() && shown["last_said"] == "disk full", "{shown}");
    assert_eq!(ping(&world, "GET", &format!("{path}/0"), "").await["status"], "up");
    for wrong in ["256", "stop", "3/start"] {
        call(&world, "GET", &format!("{path}/{wrong}"), "").await.refused(404, "monitor_not_found");
    }
    call(&world, "GET", &format!("{path}?rid=7"), "").await.refused(422, "invalid_query");
}

#[tokio::test]
async fn a_ping_key_pings_by_name_and_opens_nothing_else() {
    let world = World::new().await;
    let key = world.token("wrappers", Role::Pinger).await;
    let path = format!("/ping/{key}/nightly");
    call(&world, "GET", &path, "").await.refused(404, "monitor_not_found");
    call(&world, "POST", &format!("{path}/start?create=1"), "").await.expect(201);
    assert_eq!(call(&world, "POST", &format!("{path}?create=1"), "done").await.expect(200)["status"], "up");
    let shown = world.get("/v1/monitors/nightly").await.expect(200);
    assert_eq!((&shown["every"], &shown["grace"], &shown["last_said"]), (&json!("1d"), &json!("1h"), &json!("done")));
    let stream = format!("/v1/streams/ordo-monitor-{}", ordo_model::monitor::Monitor::id("nightly"));
    let events = world.get(&stream).await.expect(200);
    assert_eq!(events["items"][0]["actor"]["name"], "wrappers", "{events}");

    call(&world, "GET", &format!("/ping/{key}/no%20name?create=1"), "").await.refused(422, "invalid_monitor");
    world.request_as(&key, "GET", "/v1/monitors", None).await.refused(403, "forbidden");
    for role in [Role::Admin, Role::Operator, Role::Executor] {
        let other = world.token(role.name(), role).await;
        call(&world, "GET", &format!("/ping/{other}/nightly"), "").await.refused(404, "monitor_not_found");
    }
    world.delete(&format!("/v1/tokens/{}", ordo_model::api_token::ApiToken::id("wrappers").id)).await.expect(200);
    call(&world, "GET", &path, "").await.refused(404, "monitor_not_found");
}

#[tokio::test]
async fn a_badge_shows_how_a_monitor_is_to_whoever_has_its_key() {
    let world = World::new().await;
    let form = json!({ "name": "backup", "every": "1h", "grace": "5m" });
    let made = world.post("/v1/monitors", form).await.expect(201);
    let (path, badge) = (made["ping_path"].as_str().unwrap(), made["badge_path"].as_str().unwrap());
    ping(&world, "GET", path, "").await;
    let svg = call(&world, "GET", badge, "").await;
    assert!(svg.status == 200 && svg.text.contains("backup: up"), "{}", svg.text);
    assert_eq!(svg.headers["content-type"], "image/svg+xml");
    assert_eq!(svg.headers["cross-origin-resource-policy"], "cross-origin");
    assert!(svg.headers["cache-control"].to_str().unwrap().contains("no-cache"));
    ping(&world, "GET", &format!("{path}/fail"), "").await;
    let json = call(&world, "GET", &badge.replace(".svg", ".json"), "").await.expect(200);
    assert_eq!(json, json!({ "status": "down", "total": 1, "grace": 0, "down": 1 }));
    let shields = call(&world, "GET", &badge.replace(".svg", ".shields"), "").await.expect(200);
    assert_eq!((&shields["schemaVersion"], &shields["message"]), (&json!(1), &json!("down")));
    let wrong = format!("/badge/backup/{}.svg", "0".repeat(32));
    for path in [wrong.as_str(), &badge.replace(".svg", ""), &badge.replace(".svg", ".png"), "/badge/other/x.svg"] {
        call(&world, "GET", path, "").await.refused(404, "monitor_not_found");
    }
}
