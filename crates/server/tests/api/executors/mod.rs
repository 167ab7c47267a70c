//! The protocol of executors that dial in, as somebody with curl meets it.

mod assignments;
mod identity;

use serde_json::{Value, json};

use ordo_server::testing::{World, job, text};

/// A job for executors of the group `gpu`.
pub(crate) fn render(fields: &Value) -> Value {
    let mut form = json!({ "tool_name": "render", "group": "gpu" });
    form.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    form
}

async fn register(world: &World, name: &str) -> String {
    let offer = json!({ "name": name, "group": "gpu", "tools": ["render"], "capacity": 4 });
    let answer = world.post("/v1/executors", offer).await.expect(201);
    assert_eq!((&answer["heartbeat_ms"], &answer["lease_ms"]), (&json!(5_000), &json!(15_000)));
    text(&answer["id"])
}

async fn poll(world: &World, executor: &str, max: usize) -> Vec<Value> {
    let polled = world.post(&format!("/v1/executors/{executor}/poll"), json!({ "max": max, "wait_ms": 10_000 })).await;
    polled.expect(200)["runs"].as_array().unwrap().clone()
}

async fn report(world: &World, run: &Value, status: Value) -> Value {
    let report = json!({ "run_id": run["run_id"], "token": run["token"], "status": status });
    world.post("/v1/runs/report", json!({ "reports": [report] })).await.expect(200)["results"][0].clone()
}

async fn beat(world: &World, executor: &str, runs: &[&Value]) -> Value {
    let runs: Vec<Value> = runs.iter().map(|run| json!({ "run_id": run["run_id"], "token": run["token"] })).collect();
    world.post(&format!("/v1/executors/{executor}/heartbeat"), json!({ "runs": runs })).await.expect(200)
}

#[tokio::test]
async fn a_run_goes_to_an_executor_and_its_result_comes_back() {
    let world = World::new().await;
    let executor = register(&world, "worker-1").await;
    let job = world.job(render(&json!({ "label": "film", "tool_input": { "frame": 7 } }))).await;
    let id = world.trigger(&job).await;
    let runs = poll(&world, &executor, 10).await;
    let run = &runs[0];
    assert_eq!((runs.len(), text(&run["run_id"]), text(&run["label"])), (1, id.clone(), "film".to_owned()));
    assert_eq!(
        (&run["tool_name"], &run["tool_input"], &run["attempt"]),
        (&json!("render"), &json!({"frame": 7}), &json!(1))
    );
    assert_eq!((&run["payload"], &run["shard"], &run["timeout"]), (&Value::Null, &Value::Null, &json!("1h")));
    let shown = world.get(&format!("/v1/runs/{id}")).await.expect(200);
    assert_eq!((&shown["executor"], &shown["status"]["type"]), (&json!("worker-1"), &json!("running")));

    let line = |text: &str| json!({ "at": "2026-11-15T12:00:00Z", "stream": "stderr", "text": text });
    let chunk =
        |seq: u64, line: Value| json!({ "run_id": run["run_id"], "token": run["token"], "seq": seq, "lines": [line] });
    for chunks in [json!([chunk(0, line("one"))]), json!([chunk(0, line("one")), chunk(1, line("two"))])] {
        let answer = world.post("/v1/runs/logs", json!({ "chunks": chunks })).await.expect(200);
        assert!(answer["results"].as_array().unwrap().iter().all(|result| result["status"] == 200), "{answer}");
    }
    assert_eq!(report(&world, run, json!({ "type": "completed", "result": { "ok": true } })).await["status"], 200);
    let shown = world.until(&id, "completed").await;
    assert_eq!(shown["status"]["result"], json!({ "ok": true }));
    let lines = world.get(&format!("/v1/runs/{id}/logs")).await.expect(200)["items"].clone();
    let texts: Vec<String> = lines.as_array().unwrap().iter().map(|line| text(&line["text"])).collect();
    assert_eq!(texts, ["one", "two"], "a chunk that comes twice is kept once");
}

/// It goes into the inputs of those that come after, and is stored in both.
#[tokio::test]
async fn a_result_that_could_not_be_read_again_makes_the_attempt_fail() {
    let world = World::new().await;
    let executor = register(&world, "worker-1").await;
    let parent = world.job(render(&json!({ "label": "parent" }))).await;
    let child = world.job(render(&json!({ "label": "child", "after": { "jobs": [parent["id"]] } }))).await;
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    for (levels, ends) in [(100, "completed"), (120, "failed")] {
        let id = world.trigger(&parent).await;
        let run = poll(&world, &executor, 1).await.remove(0);
        let completed = json!({ "type": "completed", "result": nested(levels) });
        assert_eq!(report(&world, &run, completed).await["status"], 200);
        world.until(&id, ends).await;
        if ends == "completed" {
            let next = poll(&world, &executor, 1).await.remove(0);
            assert_eq!(next["tool_input"]["after"][0]["result"], nested(levels));
            report(&world, &next, json!({ "type": "completed" })).await;
        }
    }
    for job in [&parent, &child] {
        world.get(&format!("/v1/jobs/{}/revisions", text(&job["id"]))).await.expect(200);
        world.get(&format!("/v1/streams/ordo-job-{}", text(&job["id"]))).await.expect(200);
    }
}

#[tokio::test]
async fn a_report_of_another_attempt_changes_nothing() {
    let world = World::new().await;
    let executor = register(&world, "worker-1").await;
    let id = world.trigger(&world.job(render(&json!({}))).await).await;
    let run = poll(&world, &executor, 1).await.remove(0);
    let stale = json!({ "run_id": run["run_id"], "token": 99, "status": { "type": "failed", "reason": "no" } });
    let unknown =
        json!({ "run_id": "01a1df14-1e00-736d-9929-59576f602556", "token": 1, "status": { "type": "completed" } });
    let answer = world.post("/v1/runs/report", json!({ "reports": [stale, unknown] })).await.expect(200);
    assert_eq!(
        (&answer["results"][0]["status"], &answer["results"][0]["error"]["code"]),
        (&json!(409), &json!("stale_token"))
    );
    assert_eq!(answer["results"][1]["status"], 404);
    assert_eq!(world.until(&id, "running").await["attempt"], 1);
    assert_eq!(report(&world, &run, json!({ "type": "completed" })).await["status"], 200);
    let again = report(&world, &run, json!({ "type": "failed", "reason": "changed my mind" })).await;
    assert_eq!(again["status"], 409);
    world.until(&id, "completed").await;
    let lines = json!([{ "run_id": run["run_id"], "token": run["token"], "seq": 0, "lines": [] }]);
    let answer = world.post("/v1/runs/logs", json!({ "chunks": lines })).await.expect(200);
    assert_eq!(answer["results"][0]["status"], 409);
}

#[tokio::test]
async fn a_run_that_is_given_back_is_offered_again() {
    let world = World::new().await;
    let executor = register(&world, "worker-1").await;
    let id = world.trigger(&world.job(render(&json!({}))).await).await;
    let first = poll(&world, &executor, 1).await.remove(0);
    assert_eq!(report(&world, &first, json!({ "type": "nack", "delay": "10ms" })).await["status"], 200);
    let second = poll(&world, &executor, 1).await.remove(0);
    assert_eq!(second["run_id"], first["run_id"]);
    assert!(second["token"].as_u64() > first["token"].as_u64());
    report(&world, &second, json!({ "type": "completed" })).await;
    world.until(&id, "completed").await;
}

#[tokio::test]
async fn a_cancellation_rides_on_the_heartbeat() {
    let world = World::new().await;
    let executor = register(&world, "worker-1").await;
    let id = world.trigger(&world.job(render(&json!({}))).await).await;
    let run = poll(&world, &executor, 1).await.remove(0);
    assert_eq!(beat(&world, &executor, &[&run]).await, json!({ "cancel": [], "lost": [] }));
    world.order(&format!("/v1/runs/{id}/cancel")).await.expect(202);
    world.eventually(async || beat(&world, &executor, &[&run]).await["cancel"] == json!([id])).await;
    report(&world, &run, json!({ "type": "cancelled" })).await;
    world.until(&id, "cancelled").await;
    // The registry hears of the end after whoever reads the store.
    world.eventually(async || beat(&world, &executor, &[&run]).await["lost"] == json!([id])).await;
}

#[tokio::test]
async fn a_run_that_nobody_can_take_says_what_it_waits_for_and_goes_when_somebody_comes() {
    let world = World::new().await;
    let id = world.trigger(&world.job(render(&json!({}))).await).await;
    let shown = world.get(&format!("/v1/runs/{id}")).await.expect(200);
    assert_eq!(shown["status"]["waiting_for"], "an executor of group gpu with tool render");
    let listed = world.get("/v1/runs?status=pending").await.expect(200);
    assert_eq!(listed["items"][0]["status"]["waiting_for"], shown["status"]["waiting_for"]);
    let executor = register(&world, "worker-1").await;
    assert_eq!(text(&poll(&world, &executor, 1).await[0]["run_id"]), id);
}

#[tokio::test]
async fn a_run_that_finds_nobody_expires_by_its_policy() {
    let world = World::new().await;
    let id = world.trigger(&world.job(render(&json!({ "expire_after": "50ms" }))).await).await;
    assert_eq!(world.until(&id, "skipped").await["status"]["reason"], "expired");
}

#[tokio::test]
async fn an_executor_gets_only_what_it_has_the_tool_and_the_room_for() {
    let world = World::new().await;
    let executor = register(&world, "worker-1").await;
    let other = world.job(json!({ "label": "other", "tool_name": "sing", "group": "gpu" })).await;
    world.trigger(&other).await;
    let job = world.job(render(&json!({ "block": { "concurrent": { "max": 9 } } }))).await;
    for _ in 0..6 {
        world.trigger(&job).await;
    }
    let mut held = Vec::new();
    while held.len() < 4 {
        held.extend(poll(&world, &executor, 9).await);
    }
    assert_eq!(held.len(), 4, "its capacity");
    assert!(held.iter().all(|run| run["tool_name"] == "render"));
    report(&world, &held[0], json!({ "type": "completed" })).await;
    assert_eq!(poll(&world, &executor, 9).await.len(), 1);
}

#[tokio::test]
async fn one_who_leaves_gives_back_what_it_did_not_take_and_finishes_the_rest() {
    let world = World::new().await;
    let leaver = register(&world, "a").await;
    let job = world.job(render(&json!({ "routing": "first", "block": { "concurrent": { "max": 9 } } }))).await;
    world.trigger(&job).await;
    let run = poll(&world, &leaver, 1).await.remove(0);
    let second = world.trigger(&job).await;
    world.until(&second, "running").await;
    let answer = world.delete(&format!("/v1/executors/{leaver}")).await.expect(200);
    assert_eq!(answer, json!({ "state": "draining", "running": 1 }));
    let heir = register(&world, "b").await;
    assert_eq!(text(&poll(&world, &heir, 1).await[0]["run_id"]), second, "the untaken one goes to another");
    assert_eq!(report(&world, &run, json!({ "type": "completed" })).await["status"], 200);
    world.eventually(async || world.delete(&format!("/v1/executors/{leaver}")).await.status == 404).await;
}

#[tokio::test]
async fn a_broadcast_reaches_every_executor() {
    let world = World::new().await;
    let (a, b) = (register(&world, "a").await, register(&world, "b").await);
    let id = world.trigger(&world.job(render(&json!({ "routing": "sharding_broadcast" }))).await).await;
    for (executor, index) in [(&a, 0), (&b, 1)] {
        let run = poll(&world, executor, 1).await.remove(0);
        assert_eq!(run["shard"], json!({ "index": index, "total": 2 }));
        let shown = world.get(&format!("/v1/runs/{}", text(&run["run_id"]))).await.expect(200);
        assert_eq!(text(&shown["parent_id"]), id);
        report(&world, &run, json!({ "type": "completed" })).await;
    }
    assert_eq!(world.until(&id, "completed").await["status"]["result"]["shards"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn executors_are_listed_the_servers_own_first() {
    let world = World::new().await;
    register(&world, "worker-1").await;
    let items = world.get("/v1/executors").await.expect(200)["items"].clone();
    assert_eq!((&items[0]["name"], &items[0]["in_process"]), (&json!("local"), &json!(true)));
    assert_eq!(
        (&items[1]["name"], &items[1]["state"], &items[1]["group"]),
        (&json!("worker-1"), &json!("alive"), &json!("gpu"))
    );
}

#[tokio::test]
async fn what_an_executor_may_not_say_is_refused() {
    let world = World::new().await;
    for (offer, field) in [
        (json!({ "name": "x", "tools": [] }), "tools"),
        (json!({ "name": " ", "tools": ["a"] }), "name"),
        (json!({ "name": "test", "tools": ["a"] }), "name"),
        (json!({ "name": "x", "tools": ["a"], "capacity": 0 }), "capacity"),
    ] {
        let refused = world.post("/v1/executors", offer).await.refused(422, "invalid_body");
        assert_eq!(refused["errors"][0]["field"], field);
    }
    let nobody = "/v1/executors/01a1df14-1e00-736d-9929-59576f602556";
    world.order(&format!("{nobody}/poll")).await.refused(404, "executor_not_found");
    world.order(&format!("{nobody}/heartbeat")).await.refused(404, "executor_not_found");
    world.delete(nobody).await.refused(404, "executor_not_found");
    world.delete("/v1/executors/x").await.refused(404, "executor_not_found");
    let executor = register(&world, "worker-1").await;
    world.post(&format!("/v1/executors/{executor}/poll"), json!({ "max": 0 })).await.refused(422, "invalid_body");
    let long = json!([{ "run_id": "01a1df14-1e00-736d-9929-59576f602556", "token": 1, "status": { "type": "done" } }]);
    world.post("/v1/runs/report", json!({ "reports": long })).await.refused(422, "invalid_body");
}

#[tokio::test]
async fn a_tool_that_an_executor_of_the_default_group_has_registered_is_known() {
    let world = World::new().await;
    let unknown = job(json!({ "tool_name": "translate" }));
    world.post("/v1/jobs", unknown.clone()).await.refused(422, "unknown_tool");
    let offer = json!({ "name": "worker-1", "tools": ["translate"] });
    let executor = text(&world.post("/v1/executors", offer).await.expect(201)["id"]);
    let id = world.trigger(&world.post("/v1/jobs", unknown).await.expect(201)).await;
    let run = poll(&world, &executor, 1).await.remove(0);
    report(&world, &run, json!({ "type": "completed" })).await;
    world.until(&id, "completed").await;
}

#[tokio::test]
async fn runs_that_share_a_key_go_one_by_one() {
    let world = World::new().await;
    let executor = register(&world, "worker-1").await;
    let limit = json!({ "concurrency_key": { "key": "/tenant", "max": 1 }, "block": { "concurrent": { "max": 9 } } });
    let job = world.job(render(&limit)).await;
    for tenant in ["a", "a", "b"] {
        let path = format!("/v1/jobs/{}/trigger", text(&job["id"]));
        world.post(&path, json!({ "tool_input": { "tenant": tenant } })).await.expect(202);
    }
    let mut held = Vec::new();
    while held.len() < 2 {
        held.extend(poll(&world, &executor, 9).await);
    }
    let tenants: Vec<String> = held.iter().map(|run| text(&run["tool_input"]["tenant"])).collect();
    assert_eq!(tenants, ["a", "b"]);
    report(&world, &held[0], json!({ "type": "completed" })).await;
    assert_eq!(poll(&world, &executor, 9).await[0]["tool_input"]["tenant"], "a");
}

#[tokio::test]
async fn a_second_job_or_run_with_a_unique_key_is_refused_or_merged() {
    let world = World::new().await;
    let unique = |on_conflict: &str, label: &str| {
        job(json!({ "label": label, "unique_key": { "key": "label", "window": "1h", "on_conflict": on_conflict } }))
    };
    let first = world.post("/v1/jobs", unique("refuse", "one")).await.expect(201);
    let refused = world.post("/v1/jobs", unique("refuse", "one")).await.refused(409, "unique_key_taken");
    assert!(text(&refused["detail"]).contains(&text(&first["id"])));
    let merged = world.post("/v1/jobs", unique("merge", "one")).await.expect(200);
    assert_eq!(merged["id"], first["id"]);
    let path = format!("/v1/jobs/{}/trigger", text(&first["id"]));
    world.order(&path).await.expect(202);
    world.order(&path).await.refused(409, "unique_key_taken");
    let other = world.post("/v1/jobs", unique("merge", "two")).await.expect(201);
    let path = format!("/v1/jobs/{}/trigger", text(&other["id"]));
    let (one, two) = (world.order(&path).await.expect(202), world.order(&path).await.expect(202));
    assert_eq!(one["run_id"], two["run_id"]);
}
