//! What a run brings along to a remote executor, and how somebody asks one to leave.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use ordo_server::testing::{World, text};

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async fn register(world: &World) -> String {
    let offer = json!({ "name": "worker-1", "group": "gpu", "tools": ["render"], "capacity": 4 });
    text(&world.post("/v1/executors", offer).await.expect(201)["id"])
}

async fn job(world: &World, fields: Value) -> Value {
    let mut form = json!({ "tool_name": "render", "group": "gpu" });
    form.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    world.job(form).await
}

async fn poll(world: &World, executor: &str) -> Value {
    let path = format!("/v1/executors/{executor}/poll");
    world.post(&path, json!({ "max": 9, "wait_ms": 10_000 })).await.expect(200)
}

async fn report(world: &World, run: &Value, status: Value) {
    let report = json!({ "run_id": run["run_id"], "token": run["token"], "status": status });
    world.post("/v1/runs/report", json!({ "reports": [report] })).await.expect(200);
}

#[tokio::test]
async fn what_a_webhook_brought_comes_byte_by_byte() {
    let world = World::new().await;
    let executor = register(&world).await;
    world.post("/v1/hooks", json!({ "slug": "push" })).await.expect(201);
    job(&world, json!({ "label": "on-push", "trigger": { "type": "webhook", "hook": "push" } })).await;
    for (body, answer, encoding) in [(b"gr\xc3\xbcn".to_vec(), "grün", "text"), (vec![0xff, 0x00], "/wA=", "base64")] {
        let call = Request::post("/hooks/push").header("X-Event", "push").body(Body::from(body)).unwrap();
        let delivery = world.send(call).await.expect(202);
        let run = poll(&world, &executor).await["runs"][0].clone();
        let payload = &run["payload"];
        assert_eq!((&payload["body"], &payload["encoding"]), (&json!(answer), &json!(encoding)));
        assert_eq!((&payload["hook"], &payload["delivery"]), (&json!("push"), &delivery["id"]));
        assert!(payload["headers"].as_array().unwrap().contains(&json!(["x-event", "push"])), "{payload}");
        report(&world, &run, json!({ "type": "completed" })).await;
    }
}

#[tokio::test]
async fn the_trace_of_whoever_asked_goes_on_in_the_attempt() {
    let world = World::new().await;
    let executor = register(&world).await;
    let path = format!("/v1/jobs/{}/trigger", text(&job(&world, json!({})).await["id"]));
    world.with_headers("POST", &path, &[("traceparent", CALLER)], json!({})).await.expect(202);
    let run = poll(&world, &executor).await["runs"][0].clone();
    let handed = text(&run["traceparent"]);
    assert!(handed.starts_with(&CALLER[..36]) && handed.ends_with("-01"), "{handed}");
    assert_ne!(handed, CALLER, "the span is that of the attempt");
}

#[tokio::test]
async fn a_secret_reaches_the_executor_and_nothing_that_is_kept() {
    const VALUE: &str = "correct-horse-battery-staple";
    let world = World::new().await;
    let executor = register(&world).await;
    world.put("/v1/secrets/pg", json!({ "value": VALUE })).await.expect(201);
    let job = job(&world, json!({ "tool_input": { "password": { "secret": "pg" } } })).await;
    let id = world.trigger(&job).await;
    let run = poll(&world, &executor).await["runs"][0].clone();
    assert_eq!(run["tool_input"]["password"], VALUE);
    let line = json!({ "text": format!("using {VALUE}") });
    let chunk = json!({ "run_id": run["run_id"], "token": run["token"], "seq": 0, "lines": [line] });
    world.post("/v1/runs/logs", json!({ "chunks": [chunk] })).await.expect(200);
    report(&world, &run, json!({ "type": "completed", "result": { "said": VALUE } })).await;
    world.until(&id, "completed").await;
    let places = [format!("/v1/runs/{id}"), format!("/v1/runs/{id}/logs"), format!("/v1/jobs/{}", text(&job["id"]))];
    for place in places.iter().map(String::as_str).chain(["/v1/events"]) {
        let answer = world.get(place).await;
        assert!(answer.status.is_success() && !answer.text.contains(VALUE), "{place}: {}", answer.text);
    }
}

#[tokio::test]
async fn one_that_is_asked_to_leave_hears_of_it_and_gets_nothing_more() {
    let world = World::new().await;
    let executor = register(&world).await;
    let job = job(&world, json!({ "block": { "concurrent": { "max": 9 } } })).await;
    world.trigger(&job).await;
    let run = poll(&world, &executor).await["runs"][0].clone();
    let answer = world.order(&format!("/v1/executors/{executor}/drain")).await.expect(202);
    assert_eq!(answer, json!({ "state": "draining", "running": 1 }));
    let waiting = world.trigger(&job).await;
    assert_eq!(poll(&world, &executor).await, json!({ "runs": [], "drain": true }));
    let held = json!({ "runs": [{ "run_id": run["run_id"], "token": run["token"] }] });
    let beat = format!("/v1/executors/{executor}/heartbeat");
    let heard = json!({ "cancel": [], "lost": [], "drain": true });
    assert_eq!(world.post(&beat, held).await.expect(200), heard);
    report(&world, &run, json!({ "type": "completed" })).await;
    // It stays until it says that it leaves: one that was forgotten would come back as new.
    assert_eq!(world.order(&beat).await.expect(200), heard);
    assert_eq!(world.get("/v1/executors").await.expect(200)["items"][1]["state"], "draining");
    assert_eq!(world.delete(&format!("/v1/executors/{executor}")).await.expect(200)["state"], "left");
    world.order(&beat).await.refused(404, "executor_not_found");
    let shown = world.get(&format!("/v1/runs/{waiting}")).await.expect(200);
    assert_eq!(shown["status"]["waiting_for"], "an executor of group gpu with tool render");
    world.order(&format!("/v1/executors/{executor}/drain")).await.refused(404, "executor_not_found");
}
