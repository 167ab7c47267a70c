use axum::body::Body;
use axum::http::Request;
use ordo_engine::mirror::{MirrorState, MirrorStatus};
use ordo_model::Millis;
use ordo_server::Adapters;
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

#[tokio::test]
async fn a_mirror_shows_how_far_it_is_and_what_stands_in_its_way() {
    let world = World::new().await;
    assert!(world.get("/v1/status").await.expect(200).get("mirror").is_none(), "there is none");
    let (set, mirror) = tokio::sync::watch::channel(MirrorStatus {
        target: "kurrent.example:2113".into(),
        waiting_since: Some(world.engine.clock().now().minus(ordo_model::Millis::from_secs(90))),
        state: MirrorState::Failing,
        appended: 12,
        failures: 3,
        missing: 4,
        missing_before: 5,
        halted: (0..30).map(|n| (format!("ordo-job-{n:02}"), "somebody else wrote to it".to_owned())).collect(),
        last_error: Some("gone".into()),
    });
    let world = world.adapted(Adapters { mirror: Some(mirror), ..Adapters::default() });
    let mirror = world.get("/v1/status").await.expect(200)["mirror"].clone();
    assert_eq!(
        (&mirror["target"], &mirror["state"], &mirror["last_error"]),
        (&json!("kurrent.example:2113"), &json!("failing"), &json!("gone"))
    );
    assert!(mirror["lag_ms"].as_u64().unwrap() >= 90_000, "{mirror}");
    assert_eq!((&mirror["halted"], mirror["halted_streams"].as_array().unwrap().len()), (&json!(30), 20));
    assert_eq!(mirror["halted_streams"][0]["stream"], "ordo-job-00");
    let page = world.send(Request::get("/metrics").body(Body::empty()).unwrap()).await.text;
    for line in [
        "ordo_mirror_failing 1",
        "ordo_mirror_appended_total 12",
        "ordo_mirror_failures_total 3",
        r#"ordo_mirror_missing_total{reason="removed"} 4"#,
        r#"ordo_mirror_missing_total{reason="removed_before_start"} 5"#,
        "ordo_mirror_halted_streams 30",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    set.send_modify(|status| status.waiting_since = None);
    assert_eq!(world.get("/v1/status").await.expect(200)["mirror"]["lag_ms"], 0);
}
