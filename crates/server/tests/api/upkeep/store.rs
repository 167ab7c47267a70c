use serde_json::json;

use ordo_server::testing::World;

#[tokio::test]
async fn the_store_is_measured_copied_and_checked_by_whoever_knows_it() {
    let world = World::new().await;
    assert_eq!(world.get("/v1/store/stats").await.expect(200)["events"], 7);
    assert_eq!(world.order("/v1/store/check").await.expect(200)["clean"], true);
    let answer = world.post("/v1/store/backup", json!({ "to": "/tmp/copy" })).await.expect(200);
    assert_eq!(answer, json!({ "to": "/tmp/copy", "bytes": 1 }));
}

#[tokio::test]
async fn work_on_the_store_that_fails_says_how() {
    let world = World::new().await;
    for (to, status, code) in [
        ("/exists", 409, "maintenance_refused"),
        ("/full", 500, "maintenance_failed"),
        ("/damaged", 500, "store_damaged"),
        ("/misuse", 500, "internal"),
        ("relative", 422, "invalid_body"),
        ("/tmp/a\0b", 422, "invalid_body"),
    ] {
        world.post("/v1/store/backup", json!({ "to": to })).await.refused(status, code);
    }
    let answer = world.post("/v1/store/backup", json!({ "to": "/unavailable" })).await;
    assert_eq!(answer.header("retry-after"), "5");
    answer.refused(503, "store_unavailable");
    world.post("/v1/store/backup", json!({})).await.refused(422, "invalid_body");
}
