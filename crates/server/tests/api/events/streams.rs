use serde_json::json;

use ordo_server::testing::{World, text, texts};

#[tokio::test]
async fn the_stream_of_a_job_lists_what_happened_in_order() {
    let world = World::new().await;
    let job = world.job(json!({ "label": "told" })).await;
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
    let stream = format!("ordo-job-{}", text(&job["id"]));
    let answer = world.get(&format!("/v1/streams/{stream}")).await.expect(200);
    assert_eq!(texts(&answer["items"], "type"), ["JobScheduled", "JobTriggered", "JobStarted", "JobExecuted"]);
    let first = &answer["items"][0];
    assert_eq!((&first["stream"], &first["version"]), (&json!(stream), &json!(1)));
    assert_eq!(first["data"]["definition"]["label"], "told");
    assert!(first["position"].is_string() && first["at"].is_string());
    assert_eq!(answer["next_cursor"], json!(null));
}

#[tokio::test]
async fn a_stream_is_read_in_pages_from_any_version() {
    let world = World::new().await;
    let job = world.job(json!({})).await;
    let path = format!("/v1/jobs/{}", text(&job["id"]));
    for n in 0..5 {
        world.patch(&path, None, json!({ "priority": n })).await.expect(200);
    }
    let path = format!("/v1/streams/ordo-job-{}", text(&job["id"]));
    let page = world.get(&format!("{path}?from=2&limit=3")).await.expect(200);
    let versions: Vec<u64> = page["items"].as_array().unwrap().iter().map(|e| e["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [2, 3, 4]);
    let rest = world.get(&format!("{path}?cursor={}", text(&page["next_cursor"]))).await.expect(200);
    assert_eq!((&rest["items"][0]["version"], &rest["next_cursor"]), (&json!(5), &json!(null)));
    assert_eq!(world.get(&format!("{path}?from=100")).await.expect(200)["items"], json!([]));
    assert_eq!(world.get(&format!("{path}?from=0")).await.expect(200)["items"].as_array().unwrap().len(), 6);
    world.get(&format!("{path}?from=x")).await.refused(422, "invalid_query");
    world.get(&format!("{path}?cursor=x")).await.refused(422, "invalid_cursor");
}

#[tokio::test]
async fn a_missing_stream_is_not_found() {
    let world = World::new().await;
    for name in ["ordo-job-0199b3a4-0000-7000-8000-000000000000", "ordo-pet-1", "nonsense"] {
        world.get(&format!("/v1/streams/{name}")).await.refused(404, "stream_not_found");
    }
}

#[tokio::test]
async fn what_retention_took_is_gone_and_the_rest_is_read_from_the_checkpoint() {
    let world = World::new().await;
    let job = world.job(json!({ "block": "concurrent", "retention": { "runs": 1 } })).await;
    let mut last = String::new();
    for _ in 0..120 {
        last = world.trigger(&job).await;
        world.until(&last, "completed").await;
    }
    world.engine.keep().await.unwrap();
    let path = format!("/v1/streams/ordo-job-{}", text(&job["id"]));
    let gone = world.get(&format!("{path}?from=1")).await.refused(410, "stream_trimmed");
    let answer = world.get(&path).await.expect(200);
    assert_eq!(answer["items"][0]["type"], "Checkpoint");
    let oldest = answer["items"][0]["version"].as_u64().unwrap();
    assert!(text(&gone["detail"]).contains(&format!("from={oldest}")), "{gone}");
    assert_eq!(world.get(&format!("{path}?from={oldest}")).await.expect(200), answer);
    world.get(&format!("/v1/runs/{last}")).await.expect(200);
}
