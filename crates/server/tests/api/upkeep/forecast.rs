//! The forecast over HTTP: what stands, and what if.

use serde_json::{Value, json};

use ordo_server::testing::World;

fn nightly(label: &str) -> Value {
    json!({ "label": label, "trigger": { "type": "scheduled", "cron": "0 2 * * *", "timezone": "UTC" } })
}

#[tokio::test]
async fn what_fires_in_the_days_to_come_is_counted_and_what_collides_is_named() {
    let world = World::new().await;
    world.job(nightly("backup")).await;
    world.job(nightly("report")).await;
    world.job(json!({ "label": "by hand" })).await;
    let answer = world.get("/v1/forecast?days=7").await.expect(200);
    let forecast = &answer["forecast"];
    assert_eq!((&forecast["fires"], &forecast["is_exact"]), (&json!(14), &json!(true)), "{forecast}");
    assert_eq!(forecast["bins"].as_array().map(Vec::len), Some(7 * 24));
    assert_eq!(forecast["collisions"][0]["count"], json!(2));
    assert_eq!(forecast["collisions"][0]["times"], json!(7));
    assert_eq!(forecast["unknown_durations"], json!(2), "neither has run yet");
    assert!(answer.get("without").is_none());
}

#[tokio::test]
async fn a_job_that_does_not_exist_is_asked_about_and_nothing_is_stored() {
    let world = World::new().await;
    world.job(nightly("backup")).await;
    let mut proposed = nightly("new");
    proposed["tool_name"] = json!("noop");
    let body = json!({ "days": 1, "jobs": [{ "job": proposed, "took": "30m" }] });
    let answer = world.post("/v1/forecast", body).await.expect(200);
    assert_eq!((&answer["without"]["fires"], &answer["forecast"]["fires"]), (&json!(1), &json!(2)), "{answer}");
    assert_eq!((&answer["without"]["together"], &answer["forecast"]["collisions"][0]["count"]), (&json!(0), &json!(2)));
    assert_eq!(answer["forecast"]["jobs"][0]["label"], "new");
    assert_eq!(answer["forecast"]["jobs"][0]["took"]["typical"], "30m");
    assert_eq!(world.get("/v1/jobs").await.expect(200)["items"].as_array().map(Vec::len), Some(1));
}

/// Whoever has fallen behind is the one whose duration matters.
#[tokio::test]
async fn how_long_a_job_takes_is_known_though_its_later_runs_all_wait() {
    let world = World::new().await;
    let mut job = nightly("busy");
    job["tool_name"] = json!("noop");
    job["block"] = json!("concurrent");
    let job = world.job(job).await;
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    world.patch(&path, None, json!({ "group": "nobody" })).await.expect(200);
    for _ in 0..15 {
        world.trigger(&job).await;
    }
    let forecast = world.get("/v1/forecast?days=1").await.expect(200);
    assert_eq!(forecast["forecast"]["unknown_durations"], json!(0), "{forecast}");
}

#[tokio::test]
async fn what_cannot_be_a_forecast_is_refused_by_name() {
    let world = World::new().await;
    for path in ["/v1/forecast?days=0", "/v1/forecast?days=63", "/v1/forecast?from=tomorrow"] {
        world.get(path).await.refused(422, "invalid_query");
    }
    let mut wrong = nightly("new");
    wrong["tool_name"] = json!("noop");
    wrong["trigger"]["cron"] = json!("0 0 31 2 *");
    let refused = world.post("/v1/forecast", json!({ "jobs": [{ "job": wrong }] })).await.refused(422, "invalid_job");
    assert_eq!(refused["errors"][0]["field"], "jobs[0].job.trigger.cron");
    world.post("/v1/forecast", json!({ "days": 63 })).await.refused(422, "invalid_body");
    assert_eq!(world.post("/v1/forecast", json!({})).await.expect(200)["forecast"]["fires"], json!(0));
}
