use serde_json::json;

use ordo_server::testing::{World, job, text, texts};

const VALUE: &str = "correct-horse-battery-staple";

#[tokio::test]
async fn a_secret_goes_in_and_only_its_name_comes_out() {
    let world = World::new().await;
    let made = world.put("/v1/secrets/pg", json!({ "value": VALUE })).await.expect(201);
    assert_eq!(made["name"], "pg");
    world.put("/v1/secrets/pg", json!({ "value": VALUE })).await.expect(200);
    for name in ["a", "b", "c"] {
        world.put(&format!("/v1/secrets/{name}"), json!({ "value": "x" })).await.expect(201);
    }
    let first = world.get("/v1/secrets?limit=3").await.expect(200);
    assert_eq!(texts(&first["items"], "name"), ["a", "b", "c"]);
    let rest = world.get(&format!("/v1/secrets?cursor={}", text(&first["next_cursor"]))).await;
    assert!(!rest.text.contains(VALUE));
    assert_eq!(texts(&rest.expect(200)["items"], "name"), ["pg"]);
    assert!(!world.get("/v1/events").await.text.contains(VALUE));
    assert_eq!(world.order("/v1/store/reseal").await.expect(200)["secrets"], 4);
    world.delete("/v1/secrets/pg").await.expect(200);
    world.delete("/v1/secrets/pg").await.refused(404, "secret_not_found");
    world.put("/v1/secrets/pg", json!({ "value": VALUE })).await.expect(201);
    world.put("/v1/secrets/pg", json!({ "value": VALUE })).await.expect(200);
}

#[tokio::test]
async fn what_cannot_be_a_secret_is_refused() {
    let world = World::new().await;
    world.put("/v1/secrets/a%20b", json!({ "value": "x" })).await.refused(422, "invalid_secret");
    world.put("/v1/secrets/a", json!({ "value": "" })).await.refused(422, "invalid_secret");
    world.put("/v1/secrets/a", json!({ "value": "x".repeat(65_537) })).await.refused(422, "invalid_secret");
    world.put("/v1/secrets/a", json!({ "value": 5 })).await.refused(422, "invalid_body");
    world.put("/v1/secrets/%ff", json!({ "value": "x" })).await.refused(404, "secret_not_found");
    world.get("/v1/secrets?cursor=xyz").await.refused(422, "invalid_cursor");
}

#[tokio::test]
async fn a_job_that_refers_to_a_secret_that_is_not_there_is_refused() {
    let world = World::new().await;
    let wanted = job(json!({ "tool_input": { "key": { "secret": "pg" } } }));
    let problem = world.post("/v1/jobs", wanted.clone()).await.refused(422, "unknown_secret");
    assert!(text(&problem["detail"]).contains("ordo secret set pg"), "{problem}");
    assert_eq!(problem["errors"][0]["field"], "tool_input");
    let many = world.post("/v1/jobs/batch", json!({ "jobs": [wanted, job(json!({}))] })).await.expect(200);
    assert_eq!(many["results"][0]["error"]["code"], "unknown_secret");
    assert!(many["results"][1]["id"].is_string());

    let made = world.job(json!({})).await;
    let path = format!("/v1/jobs/{}", text(&made["id"]));
    let patch = json!({ "tool_input": { "key": { "secret": "pg" } } });
    world.patch(&path, None, patch.clone()).await.refused(422, "unknown_secret");
    world.post(&format!("{path}/trigger"), patch.clone()).await.refused(422, "unknown_secret");
    world.put("/v1/secrets/pg", json!({ "value": VALUE })).await.expect(201);
    world.patch(&path, None, patch).await.expect(200);
}

#[tokio::test]
async fn a_run_uses_the_value_and_shows_only_the_reference() {
    let world = World::new().await;
    world.put("/v1/secrets/pg", json!({ "value": VALUE })).await.expect(201);
    let made = world.job(json!({ "tool_input": { "key": { "secret": "pg", "prefix": "Bearer " } } })).await;
    assert_eq!(made["tool_input"]["key"]["secret"], "pg");
    let run = world.trigger(&made).await;
    let over = world.until(&run, "completed").await;
    assert_eq!(over["status"]["result"], json!({ "key": "Bearer ***" }));
    for path in ["/v1/jobs", "/v1/runs", "/v1/events?limit=200"] {
        assert!(!world.get(path).await.text.contains(VALUE), "{path}");
    }
}

#[tokio::test]
async fn a_tool_is_asked_about_what_it_will_get_and_its_refusal_does_not_tell_it() {
    let world = World::new().await;
    world.put("/v1/secrets/word", json!({ "value": VALUE })).await.expect(201);
    let wanted = job(json!({ "tool_name": "fussy", "tool_input": { "secret": "word" } }));
    let refused = world.post("/v1/jobs", wanted).await;
    assert!(!refused.text.contains(VALUE), "{}", refused.text);
    let problem = refused.refused(422, "invalid_tool_input");
    assert_eq!(problem["detail"], "fussy does not take \"***\"");
}
