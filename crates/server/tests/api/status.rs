use axum::body::Body;
use axum::http::Request;
use ordo_model::Millis;
use serde_json::json;

use ordo_server::testing::World;

#[tokio::test]
async fn the_server_is_alive_at_once_and_ready_when_it_says_so() {
    let world = World::new().await;
    let open = |path: &str| Request::get(path).body(Body::empty()).unwrap();
    world.send(open("/healthz")).await.expect(200);
    let answer = world.send(open("/readyz")).await;
    assert_eq!(answer.header("retry-after"), "1");
    answer.refused(503, "not_ready");
    world.app.set_ready(true);
    world.send(open("/readyz")).await.expect(200);
    world.app.set_ready(false);
    world.send(open("/readyz")).await.refused(503, "not_ready");
}

#[tokio::test]
async fn the_status_shows_how_busy_the_server_is() {
    let world = World::new().await;
    let job = world.job(json!({})).await;
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
    world.eventually(async || world.get("/v1/status").await.expect(200)["counters"]["completed"] == 1).await;
    let status = world.get("/v1/status").await.expect(200);
    assert_eq!((&status["node"], &status["tick_rate"]), (&json!("test"), &json!("200ms")));
    assert!(status["version"].is_string() && status["uptime"].is_string() && status["ring"].is_u64());
    assert_eq!(status["pools"][0]["name"], "fast");
    assert_eq!((&status["counters"]["triggered"], &status["counters"]["completed"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn the_timekeeper_shows_its_ring_its_horizon_and_its_lag() {
    let world = World::new().await;
    let job = world.job(json!({ "trigger": { "type": "scheduled", "every": "3s" } })).await;
    let stream = format!("ordo-job-{}", job["id"].as_str().unwrap());
    let status = async || world.get("/v1/timekeeper").await.expect(200);
    world.eventually(async || status().await["ring"]["entries"] == 1).await;
    let status = status().await;
    assert_eq!(status["ring"]["nearest"][0]["stream"], stream.as_str());
    assert_eq!(status["ring"]["next_due_at"], status["ring"]["nearest"][0]["due_at"]);
    assert_eq!(
        (&status["horizon_ms"], &status["firing"], &status["node"]),
        (&json!(5_000), &json!(true), &json!("test"))
    );
    assert!(status["lag_ms"].as_u64().unwrap() < 3_000 && status["ticks"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn a_server_that_cannot_write_is_not_ready() {
    let world = World::standing().await;
    world.app.set_ready(true);
    let open = |path: &str| Request::get(path).body(Body::empty()).unwrap();
    world.send(open("/readyz")).await.expect(200);
    // What is written to find out lies beside the store: a folder of that name is in its way.
    let room = world.below.store_path().with_extension("db.room");
    std::fs::create_dir(&room).unwrap();
    // An answer is good for two seconds.
    let a_while = Millis::from_secs(2);
    world.send(open("/readyz")).await.expect(200);
    world.below.advance(a_while).await;
    world.send(open("/readyz")).await.refused(503, "not_ready");
    std::fs::remove_dir(&room).unwrap();
    world.below.advance(a_while).await;
    world.send(open("/readyz")).await.expect(200);
}
