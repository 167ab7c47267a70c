//! Jobs that come after others.

use serde_json::{Value, json};

use ordo_server::testing::{World, text};

async fn ended(world: &World, job: &Value, count: usize) -> Vec<Value> {
    let path = format!("/v1/runs?job_id={}", text(&job["id"]));
    let mut runs = Vec::new();
    world
        .eventually(async || {
            let items = world.get(&path).await.expect(200)["items"].as_array().unwrap().clone();
            let over = items.iter().filter(|run| run["finished_at"].is_string()).count();
            over >= count
        })
        .await;
    runs.extend(world.get(&path).await.expect(200)["items"].as_array().unwrap().clone());
    runs
}

#[tokio::test]
async fn a_job_runs_after_others_with_what_came_of_them() {
    let world = World::new().await;
    let one = world.job(json!({ "label": "one" })).await;
    let two = world.job(json!({ "label": "two" })).await;
    let last = world.job(json!({ "label": "last", "after": [one["id"], two["id"]] })).await;
    assert_eq!(last["after"], json!({ "jobs": [one["id"], two["id"]], "mode": "all", "on": "success" }));
    assert_eq!(last["schedule"], "when all of 2 jobs have completed", "not only when triggered");
    let both = json!({ "label": "both", "trigger": { "type": "scheduled", "every": "1h" }, "after": { "jobs": [one["id"]], "on": "failure" } });
    assert_eq!(world.job(both).await["schedule"], "every hour, and when the job before it has failed");
    let first = world.trigger(&one).await;
    world.until(&first, "completed").await;
    assert_eq!(world.get(&format!("/v1/runs?job_id={}", text(&last["id"]))).await.expect(200)["items"], json!([]));
    let second = world.trigger(&two).await;
    let run = ended(&world, &last, 1).await.remove(0);
    assert_eq!((&run["cause"]["type"], &run["cause"]["of"]), (&json!("after"), &json!(second)));
    let upstream = &run["tool_input"]["after"];
    assert_eq!((&upstream[0]["run_id"], &upstream[0]["status"]), (&json!(first), &json!("completed")));
    assert_eq!((&upstream[1]["label"], &upstream[1]["run_id"]), (&json!("two"), &json!(second)));
}

#[tokio::test]
async fn a_chain_to_nowhere_or_into_itself_is_refused() {
    let world = World::new().await;
    let nobody = json!({ "label": "x", "tool_name": "noop", "trigger": { "type": "manual" },
        "after": "01a1df14-1e00-736d-9929-59576f602556" });
    let refused = world.post("/v1/jobs", nobody).await.refused(422, "invalid_job");
    assert_eq!(refused["errors"][0]["field"], "after.jobs");
    let a = world.job(json!({ "label": "a" })).await;
    let b = world.job(json!({ "label": "b", "after": a["id"] })).await;
    let c = world.job(json!({ "label": "c", "after": { "jobs": [b["id"]], "on": "either" } })).await;
    for upstream in [&a, &b, &c] {
        let patch = json!({ "after": [upstream["id"]] });
        let refused =
            world.patch(&format!("/v1/jobs/{}", text(&a["id"])), None, patch).await.refused(422, "invalid_job");
        assert!(text(&refused["detail"]).contains("ring"), "{refused}");
    }
    let freed = world.patch(&format!("/v1/jobs/{}", text(&b["id"])), None, json!({ "after": null })).await.expect(200);
    assert_eq!(freed.get("after"), None);
    world.patch(&format!("/v1/jobs/{}", text(&a["id"])), None, json!({ "after": c["id"] })).await.expect(200);
}
