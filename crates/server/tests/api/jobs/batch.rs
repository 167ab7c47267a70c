use serde_json::{Value, json};

use ordo_server::testing::{World, job, text, texts};

#[tokio::test]
async fn each_job_of_a_batch_is_accepted_or_refused_by_itself_and_in_order() {
    let world = World::new().await;
    let jobs = [
        job(json!({ "label": "one" })),
        job(json!({ "label": "" })),
        job(json!({ "tool_name": "shel" })),
        json!("not a job"),
        job(json!({ "label": "two", "held": true })),
    ];
    let answer = world.post("/v1/jobs/batch", json!({ "jobs": jobs })).await.expect(200);
    let results = answer["results"].as_array().unwrap();
    let codes: Vec<Option<&str>> = results.iter().map(|result| result["error"]["code"].as_str()).collect();
    assert_eq!(codes, [None, Some("invalid_job"), Some("unknown_tool"), Some("invalid_job"), None]);
    assert_eq!(results[1]["error"]["errors"][0]["field"], "label");
    let first = world.get(&format!("/v1/jobs/{}", text(&results[0]["id"]))).await.expect(200);
    let last = world.get(&format!("/v1/jobs/{}", text(&results[4]["id"]))).await.expect(200);
    assert_eq!((&first["label"], &last["label"], &last["state"]), (&json!("one"), &json!("two"), &json!("held")));
    assert_eq!(world.get("/v1/jobs").await.expect(200)["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn ten_thousand_jobs_are_taken_and_one_more_is_not() {
    let world = World::new().await;
    let mut jobs = vec![job(json!({ "label": "many" })); 10_000];
    let answer = world.post("/v1/jobs/batch", json!({ "jobs": jobs })).await.expect(200);
    assert_eq!(texts(&answer["results"], "id").len(), 10_000);
    jobs.push(job(json!({})));
    world.post("/v1/jobs/batch", json!({ "jobs": jobs })).await.refused(422, "batch_too_large");
    assert_eq!(world.post("/v1/jobs/batch", json!({ "jobs": [] })).await.expect(200)["results"], json!([]));
}

#[tokio::test]
async fn a_batch_may_be_larger_than_other_bodies() {
    let world = World::new().await;
    let wide = job(json!({ "tool_input": { "text": "x".repeat(200_000) } }));
    let answer = world.post("/v1/jobs/batch", json!({ "jobs": vec![wide; 10] })).await.expect(200);
    assert_eq!(texts(&answer["results"], "id").len(), 10);
    let huge = json!({ "jobs": ["x".repeat(33 * 1024 * 1024)] });
    world.post("/v1/jobs/batch", huge).await.refused(413, "body_too_large");
}

#[tokio::test]
async fn a_batch_of_another_shape_is_refused_as_a_whole() {
    let world = World::new().await;
    for body in [json!({}), json!([]), json!({ "jobs": {} }), json!({ "jobs": [], "more": 1 })] {
        world.post("/v1/jobs/batch", body).await.refused(422, "invalid_body");
    }
}

#[tokio::test]
async fn a_batch_with_a_key_is_made_once() {
    let world = World::new().await;
    let body =
        json!({ "jobs": [job(json!({ "label": "a" })), job(json!({ "label": "" })), job(json!({ "label": "b" }))] });
    let send = async |body: &Value| {
        world.with_headers("POST", "/v1/jobs/batch", &[("idempotency-key", "k")], body.clone()).await
    };
    let first = send(&body).await.expect(200);
    assert_eq!(send(&body).await.expect(200), first);
    let other = job(json!({ "label": "c" }));
    send(&json!({ "jobs": [other] })).await.refused(422, "idempotency_key_reused");
    send(&json!({ "jobs": [other, other, other, other] })).await.refused(422, "idempotency_key_reused");
    assert_eq!(world.get("/v1/jobs").await.expect(200)["items"].as_array().unwrap().len(), 2);
}
