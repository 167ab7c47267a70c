use serde_json::json;

use ordo_server::testing::{World, text};

#[tokio::test]
async fn a_run_shows_its_result_however_large() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_name": "big", "tool_input": { "bytes": 100_000 } })).await;
    let run = world.trigger(&job).await;
    let ended = world.until(&run, "completed").await;
    assert_eq!(text(&ended["status"]["result"]).len(), 100_000);
    assert_eq!((&ended["attempt"], &ended["executor"], &ended["label"]), (&json!(1), &json!("local"), &json!("j")));
    assert!(ended["fired_at"].is_string() && ended["started_at"].is_string() && ended["finished_at"].is_string());
    assert_eq!(
        (&ended["parent_id"], &ended["shard"], &ended["lateness_ms"]),
        (&json!(null), &json!(null), &json!(null))
    );
}

#[tokio::test]
async fn a_running_run_is_cancelled_with_its_reason() {
    let world = World::new().await;
    let run = world.trigger(&world.job(json!({ "tool_name": "hang" })).await).await;
    world.until(&run, "running").await;
    let path = format!("/v1/runs/{run}/cancel");
    assert_eq!(world.post(&path, json!({ "reason": "enough" })).await.expect(202)["id"], run);
    assert_eq!(world.until(&run, "cancelled").await["status"]["reason"], "enough");
    world.order(&path).await.refused(409, "run_over");
}

#[tokio::test]
async fn a_waiting_run_is_cancelled_at_once() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_name": "hang" })).await;
    let first = world.trigger(&job).await;
    world.until(&first, "running").await;
    let second = world.trigger(&job).await;
    let answer = world.order(&format!("/v1/runs/{second}/cancel")).await.expect(202);
    assert_eq!(answer["status"], json!({ "type": "cancelled", "reason": "cancelled on request" }));
}

#[tokio::test]
async fn a_finished_run_is_run_again_as_a_new_run() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_name": "fail" })).await;
    let run = world.trigger(&job).await;
    let failed = world.until(&run, "failed").await;
    assert_eq!(failed["status"], json!({ "type": "failed", "reason": "it broke" }));
    let again = text(&world.order(&format!("/v1/runs/{run}/retry")).await.expect(202)["run_id"]);
    assert_ne!(again, run);
    assert_eq!(world.until(&again, "failed").await["cause"], json!({ "type": "retry", "of": run }));
}

#[tokio::test]
async fn a_run_that_is_not_over_is_not_run_again() {
    let world = World::new().await;
    let run = world.trigger(&world.job(json!({ "tool_name": "hang" })).await).await;
    world.until(&run, "running").await;
    world.order(&format!("/v1/runs/{run}/retry")).await.refused(409, "wrong_state");
}

#[tokio::test]
async fn a_missing_run_is_not_found_on_every_route() {
    let world = World::new().await;
    for id in ["0199b3a4-0000-7000-8000-000000000000", "hello"] {
        world.get(&format!("/v1/runs/{id}")).await.refused(404, "run_not_found");
        world.get(&format!("/v1/runs/{id}/logs")).await.refused(404, "run_not_found");
        world.get(&format!("/v1/runs/{id}/logs?follow=true")).await.refused(404, "run_not_found");
        world.order(&format!("/v1/runs/{id}/cancel")).await.refused(404, "run_not_found");
        world.order(&format!("/v1/runs/{id}/retry")).await.refused(404, "run_not_found");
    }
}
