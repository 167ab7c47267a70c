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
