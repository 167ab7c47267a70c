use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::world::World;

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
