use futures_util::future::join_all;
use serde_json::{Value, json};

use ordo_server::testing::{TestResponse, World, job, text};

async fn create(world: &World, key: &str, body: Value) -> TestResponse {
    world.with_headers("POST", "/v1/jobs", &[("idempotency-key", key)], body).await
}

async fn how_many(world: &World) -> usize {
    world.get("/v1/jobs").await.expect(200)["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn the_same_key_and_body_make_one_job_and_the_same_answer() {
    let world = World::new().await;
    let first = create(&world, "order-1", job(json!({}))).await;
    assert!(first.headers.get("idempotency-replayed").is_none());
    let first = first.expect(201);
    let again = create(&world, "order-1", job(json!({}))).await;
    assert_eq!((again.header("idempotency-replayed"), again.header("etag")), ("true", "\"1\""));
    assert_eq!(again.header("location"), format!("/v1/jobs/{}", text(&first["id"])));
    assert_eq!(again.expect(201), first);
    let other = create(&world, "order-2", job(json!({}))).await.expect(201);
    assert_ne!(other["id"], first["id"]);
    assert_eq!(how_many(&world).await, 2);
}

#[tokio::test]
async fn another_body_under_the_same_key_is_refused() {
    let world = World::new().await;
    create(&world, "k", job(json!({ "label": "a" }))).await.expect(201);
    create(&world, "k", job(json!({ "label": "b" }))).await.refused(422, "idempotency_key_reused");
    assert_eq!(how_many(&world).await, 1);
}

#[tokio::test]
async fn one_of_many_at_the_same_moment_creates_and_all_learn_its_id() {
    let world = World::new().await;
    let answers = join_all((0..16).map(|_| create(&world, "k", job(json!({}))))).await;
    let ids: Vec<String> = answers.into_iter().map(|answer| text(&answer.expect(201)["id"])).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(how_many(&world).await, 1);
}

#[tokio::test]
async fn a_refused_creation_does_not_use_up_its_key() {
    let world = World::new().await;
    create(&world, "k", job(json!({ "label": "" }))).await.refused(422, "invalid_job");
    create(&world, "k", job(json!({ "label": "ok" }))).await.expect(201);
}

#[tokio::test]
async fn what_was_right_then_is_answered_the_same_when_it_would_be_refused_now() {
    let world = World::new().await;
    let moment = world.engine.clock().now();
    let body = job(json!({ "trigger": { "type": "scheduled", "at": moment } }));
    let first = create(&world, "k", body.clone()).await.expect(201);
    let path = format!("/v1/jobs/{}", text(&first["id"]));
    world.patch(&path, None, json!({ "label": "changed since" })).await.expect(200);
    let again = create(&world, "k", body).await.expect(201);
    assert_eq!((&again["id"], &again["label"]), (&first["id"], &json!("changed since")));
}

#[tokio::test]
async fn a_key_must_have_a_sensible_length() {
    let world = World::new().await;
    create(&world, "", job(json!({}))).await.refused(400, "invalid_header");
    create(&world, &"k".repeat(256), job(json!({}))).await.refused(400, "invalid_header");
    create(&world, &"k".repeat(255), job(json!({}))).await.expect(201);
}

/// Asks with a key, twice alike and once with another body.
async fn send_request(world: &World, path: &str, key: &str, body: Value) -> TestResponse {
    world.with_headers("POST", path, &[("idempotency-key", key)], body).await
}

async fn runs_of(world: &World, job: &str) -> usize {
    world.get(&format!("/v1/runs?job_id={job}")).await.expect(200)["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_trigger_with_a_key_begins_one_run_however_often_it_is_sent() {
    let world = World::new().await;
    let id = text(&world.job(json!({})).await["id"]);
    let path = format!("/v1/jobs/{id}/trigger");
    let answers = join_all((0..16).map(|_| send_request(&world, &path, "k", json!({})))).await;
    let runs: Vec<String> = answers.into_iter().map(|answer| text(&answer.expect(202)["run_id"])).collect();
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
    let again = send_request(&world, &path, "k", json!({})).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    send_request(&world, &path, "k", json!({ "tool_input": 1 })).await.refused(422, "idempotency_key_reused");
    // The key belongs to the route it was used on.
    let other = text(&world.job(json!({})).await["id"]);
    send_request(&world, &format!("/v1/jobs/{other}/trigger"), "k", json!({ "tool_input": 1 })).await.expect(202);
    let second = send_request(&world, &path, "k2", json!({})).await.expect(202);
    assert_ne!(text(&second["run_id"]), runs[0]);
    assert_eq!(runs_of(&world, &id).await, 2);
}

#[tokio::test]
async fn a_retry_with_a_key_begins_one_run() {
    let world = World::new().await;
    let job = world.job(json!({})).await;
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
    let path = format!("/v1/runs/{run}/retry");
    let first = send_request(&world, &path, "k", json!({})).await.expect(202);
    let again = send_request(&world, &path, "k", json!({})).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.expect(202), first);
    assert_eq!(runs_of(&world, &text(&job["id"])).await, 2);
}

#[tokio::test]
async fn a_backfill_with_a_key_happens_once_and_is_answered_the_same() {
    let world = World::new().await;
    let trigger = json!({ "type": "scheduled", "every": "1h", "start": "2026-01-01T00:00:00Z" });
    let job = world.job(json!({ "trigger": trigger })).await;
    let path = format!("/v1/jobs/{}/backfill", text(&job["id"]));
    let body = json!({ "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T03:00:00Z" });
    let first = send_request(&world, &path, "k", body.clone()).await.expect(202);
    assert_eq!(first["count"], 3);
    let again = send_request(&world, &path, "k", body).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.expect(202), first);
    let other = json!({ "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T02:00:00Z" });
    send_request(&world, &path, "k", other).await.refused(422, "idempotency_key_reused");
    world.eventually(async || runs_of(&world, &text(&job["id"])).await == 3).await;
}
