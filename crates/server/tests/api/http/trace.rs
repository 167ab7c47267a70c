//! Every answer names its request.

use serde_json::Value;

use axum::body::Body;
use ordo_server::testing::{World, request};

#[tokio::test]
async fn a_request_keeps_the_id_it_came_with_if_that_is_fit_for_a_log() {
    let world = World::new().await;
    let asked = async |id: &str| {
        let answer = world.with_headers("POST", "/v1/jobs", &[("x-request-id", id)], Value::Null).await;
        answer.header("x-request-id").to_owned()
    };
    assert_eq!(asked("deploy-42").await, "deploy-42");
    for unfit in ["", "two words", "{\"level\":\"error\"}", &"x".repeat(129)] {
        let given = asked(unfit).await;
        assert_eq!(given.len(), 36, "{unfit:?} became {given:?}");
    }
}

#[tokio::test]
async fn every_answer_has_an_id_of_its_own_also_a_refusal() {
    let world = World::new().await;
    let closed = axum::http::Request::get("/v1/jobs").body(Body::empty()).unwrap();
    let refused = world.send(closed).await;
    assert_eq!(refused.status, 401);
    let nowhere = world.send(request("GET", "/nowhere").body(Body::empty()).unwrap()).await;
    assert_eq!(nowhere.status, 404);
    assert_ne!(refused.header("x-request-id"), nowhere.header("x-request-id"));
}
