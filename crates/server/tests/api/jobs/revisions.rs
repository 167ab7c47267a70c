//! The definitions that a job has had: listed, compared and given back, by those who may.

use ordo_server::testing::{World, text};
use serde_json::json;

#[tokio::test]
async fn a_job_goes_back_to_an_earlier_definition_as_a_new_revision() {
    let world = World::new().await;
    let made = world
        .job(json!({ "label": "nightly", "tool_name": "noop", "trigger": { "type": "manual" }, "retry": { "max_attempts": 2 } }))
        .await;
    let path = format!("/v1/jobs/{}", text(&made["id"]));
    world.patch(&path, None, json!({ "priority": 9, "retry": null, "description": "hurry" })).await.expect(200);
    let kept = world.get(&format!("{path}/revisions")).await.expect(200);
    assert_eq!((&kept["items"][0]["revision"], &kept["items"][1]["revision"]), (&json!(2), &json!(1)));
    assert_eq!(kept["items"][0]["actor"]["name"], "admin@test");
    let diff = world.get(&format!("{path}/diff")).await.expect(200);
    let fields: Vec<String> = diff["changes"].as_array().unwrap().iter().map(|one| text(&one["field"])).collect();
    assert!(fields.contains(&"priority".to_owned()) && fields.contains(&"description".to_owned()), "{fields:?}");
    let stale =
        world.with_headers("POST", &format!("{path}/revert"), &[("if-match", "\"1\"")], json!({ "revision": 1 })).await;
    assert_eq!(stale.expect(412)["code"], "revision_moved");
    let back = world.post(&format!("{path}/revert"), json!({ "revision": 1 })).await.expect(200);
    assert_eq!(
        (&back["revision"], &back["priority"], &back["retry"]["max_attempts"]),
        (&json!(3), &json!(5), &json!(2))
    );
    assert!(back["description"].is_null(), "{back}");
    let none = world.get(&format!("{path}/diff?from=1&to=3")).await.expect(200);
    assert_eq!(none["changes"], json!([]), "as it was");
    for number in [0, 9] {
        let refused = world.post(&format!("{path}/revert"), json!({ "revision": number })).await.expect(404);
        assert_eq!(refused["code"], "revision_not_found");
    }
}

#[tokio::test]
async fn the_audit_is_for_administrators_and_has_logins() {
    let world = World::new().await;
    world.job(json!({ "label": "seen", "tool_name": "noop", "trigger": { "type": "manual" } })).await;
    world.get("/login?token=wrong").await.expect(401);
    let all = world.get("/v1/audit").await.expect(200);
    let types: Vec<String> = all["items"].as_array().unwrap().iter().map(|one| text(&one["type"])).collect();
    assert!(types.contains(&"JobScheduled".to_owned()) && types.contains(&"LoginDenied".to_owned()), "{types:?}");
    let logins = world.get("/v1/audit?kind=login").await.expect(200);
    assert_eq!(logins["items"][0]["actor"]["name"], "nobody");
    assert_eq!(world.get("/v1/audit?kind=nothing").await.expect(422)["code"], "invalid_query");
    let viewer = world.token("ada", ordo_model::Role::Viewer).await;
    world.request_as(&viewer, "GET", "/v1/audit", None).await.expect(403);
}
