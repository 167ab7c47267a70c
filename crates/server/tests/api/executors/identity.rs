//! Executors have an identity: whose they are, whom they serve, how many there may be, what they may read.

use serde_json::{Value, json};

use crate::executors::render;
use ordo_server::testing::{World, text};

/// A token of the role `executor` that serves the group.
async fn executor_token(world: &World, name: &str, group: &str) -> String {
    let wanted = json!({ "name": name, "role": "executor", "groups": [group] });
    text(&world.post("/v1/tokens", wanted).await.expect(201)["token"])
}

async fn register_as(world: &World, token: &str, name: &str, group: &str) -> ordo_server::testing::TestResponse {
    let offer = json!({ "name": name, "group": group, "tools": ["render"], "capacity": 4 });
    world.request_as(token, "POST", "/v1/executors", Some(offer)).await
}

#[tokio::test]
async fn an_executor_belongs_to_the_token_that_registered_it() {
    let world = World::new().await;
    let (mine, other) = (executor_token(&world, "mine", "gpu").await, executor_token(&world, "other", "gpu").await);
    let id = text(&register_as(&world, &mine, "worker-1", "gpu").await.expect(201)["id"]);
    let path = format!("/v1/executors/{id}");
    let run = world.trigger(&world.job(render(&json!({ "tool_input": { "frame": 7 } }))).await).await;
    let poll = || Some(json!({ "max": 1, "wait_ms": 10_000 }));

    for (method, path) in
        [("POST", format!("{path}/poll")), ("POST", format!("{path}/heartbeat")), ("DELETE", path.clone())]
    {
        let answer = world.request_as(&other, method, &path, (method == "POST").then(|| json!({}))).await;
        answer.refused(404, "executor_not_found");
    }
    let handed = world.request_as(&mine, "POST", &format!("{path}/poll"), poll()).await.expect(200)["runs"][0].clone();
    assert_eq!(text(&handed["run_id"]), run);

    let (run_id, token) = (&handed["run_id"], &handed["token"]);
    let report =
        json!({ "reports": [{ "run_id": run_id, "token": token, "status": { "type": "failed", "reason": "ha" } }] });
    let answer = world.request_as(&other, "POST", "/v1/runs/report", Some(report)).await.expect(200);
    assert_eq!(answer["results"][0]["error"]["code"], "stale_token", "even with the right token");
    let lines = json!([{ "stream": "stdout", "text": "forged" }]);
    let chunks = json!({ "chunks": [{ "run_id": run_id, "token": token, "seq": 0, "lines": lines }] });
    let answer = world.request_as(&other, "POST", "/v1/runs/logs", Some(chunks)).await.expect(200);
    assert_eq!(answer["results"][0]["error"]["code"], "stale_token");
    assert_eq!(world.get(&format!("/v1/runs/{run}")).await.expect(200)["status"]["type"], "running");

    let report = json!({ "reports": [{ "run_id": run_id, "token": token, "status": { "type": "completed" } }] });
    let answer = world.request_as(&mine, "POST", "/v1/runs/report", Some(report)).await.expect(200);
    assert_eq!(answer["results"][0]["status"], 200);
    world.until(&run, "completed").await;
    let listed = world.get("/v1/executors").await.expect(200);
    assert_eq!(listed["items"][1]["registered_by"], "mine");
    world.request_as(&mine, "DELETE", &path, None).await.expect(200);
}

#[tokio::test]
async fn another_token_of_the_same_name_does_not_inherit_executors() {
    let world = World::new().await;
    let first = executor_token(&world, "worker", "gpu").await;
    let id = text(&register_as(&world, &first, "worker-1", "gpu").await.expect(201)["id"]);
    let token = ordo_model::api_token::ApiToken::id("worker").id;
    world.delete(&format!("/v1/tokens/{token}")).await.expect(200);
    let second = executor_token(&world, "worker", "gpu").await;
    let poll = world.request_as(&second, "POST", &format!("/v1/executors/{id}/poll"), Some(json!({}))).await;
    poll.refused(404, "executor_not_found");
}

#[tokio::test]
async fn a_token_serves_the_groups_and_tools_that_it_names() {
    let world = World::new().await;
    let gpu = executor_token(&world, "gpu", "gpu").await;
    let refused = register_as(&world, &gpu, "w", "payments").await.refused(403, "forbidden");
    assert!(text(&refused["detail"]).contains("payments"), "{refused}");
    let made = json!({ "name": "shells", "role": "executor", "groups": ["gpu"], "tools": ["shell"] });
    let made = world.post("/v1/tokens", made).await.expect(201);
    assert_eq!(made["serves"], "the group gpu with shell");
    register_as(&world, &text(&made["token"]), "w", "gpu").await.refused(403, "forbidden");

    let any = world.post("/v1/tokens", json!({ "name": "any", "role": "executor" })).await.expect(201);
    assert_eq!((&any["serves"], &any["groups"]), (&json!("any group"), &Value::Null), "it says so");
    register_as(&world, &text(&any["token"]), "w", "payments").await.expect(201);
    let listed = world.get("/v1/tokens").await.expect(200);
    let serves: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|token| &token["serves"]).collect();
    assert_eq!(serves, ["any group", "any group", "the group gpu", "the group gpu with shell"]);

    for (body, field) in [
        (json!({ "name": "x", "role": "viewer", "groups": ["gpu"] }), "groups"),
        (json!({ "name": "x", "role": "executor", "groups": [] }), "groups"),
        (json!({ "name": "x", "role": "executor", "tools": ["a\nb"] }), "tools"),
    ] {
        let refused = world.post("/v1/tokens", body).await.refused(422, "invalid_token");
        assert_eq!(refused["errors"][0]["field"], field, "{refused}");
    }
}

#[tokio::test]
async fn a_token_cannot_register_executors_without_end() {
    let world = World::new().await;
    let token = executor_token(&world, "crowd", "gpu").await;
    for n in 0..ordo_model::limits::EXECUTORS_PER_TOKEN_MAX {
        register_as(&world, &token, &format!("w{n}"), "gpu").await.expect(201);
    }
    register_as(&world, &token, "one-more", "gpu").await.refused(409, "too_many_executors");
    let other = executor_token(&world, "other", "gpu").await;
    register_as(&world, &other, "w", "gpu").await.expect(201);
}

#[tokio::test]
async fn an_executor_reads_the_stream_of_a_job_it_has_a_run_of_and_nothing_else() {
    let world = World::new().await;
    let (mine, other) = (executor_token(&world, "mine", "gpu").await, executor_token(&world, "other", "gpu").await);
    let id = text(&register_as(&world, &mine, "worker-1", "gpu").await.expect(201)["id"]);
    let (job, foreign) = (world.job(render(&json!({}))).await, world.job(json!({})).await);
    let stream = |job: &Value| format!("/v1/streams/ordo-job-{}", text(&job["id"]));
    world.request_as(&mine, "GET", &stream(&job), None).await.refused(403, "forbidden");
    world.trigger(&job).await;
    let poll = json!({ "max": 1, "wait_ms": 10_000 });
    let polled = world.request_as(&mine, "POST", &format!("/v1/executors/{id}/poll"), Some(poll)).await.expect(200);
    let run = &polled["runs"][0];

    let read = world.request_as(&mine, "GET", &stream(&job), None).await.expect(200);
    assert_eq!(read["items"][0]["type"], "JobScheduled");
    for (token, path) in [
        (&other, stream(&job)),
        (&mine, stream(&foreign)),
        (&mine, format!("/v1/streams/ordo-executor-{id}")),
        (&mine, format!("/v1/jobs/{}", text(&job["id"]))),
        (&mine, "/v1/events".to_owned()),
        (&mine, format!("/v1/runs/{}", text(&run["run_id"]))),
    ] {
        world.request_as(token, "GET", &path, None).await.refused(403, "forbidden");
    }
    let report =
        json!({ "run_id": run["run_id"], "token": run["token"], "status": { "type": "completed", "result": null } });
    world.request_as(&mine, "POST", "/v1/runs/report", Some(json!({ "reports": [report] }))).await.expect(200);
    world.until(&text(&run["run_id"]), "completed").await;
    // The registry hears of the end after whoever reads the store.
    world.eventually(async || world.request_as(&mine, "GET", &stream(&job), None).await.status == 403).await;
}
