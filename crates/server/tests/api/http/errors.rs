use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use ordo_api::Code;
use serde_json::json;

use ordo_server::testing::{World, job, request};

#[tokio::test]
async fn a_body_that_is_no_json_is_refused_by_what_is_wrong_with_it() {
    let world = World::new().await;
    let post = |kind: &str, body: &str| {
        request("POST", "/v1/jobs").header("content-type", kind).body(Body::from(body.to_owned())).unwrap()
    };
    for body in ["", "{", "{\"label\": ", "label=x", "{} {}"] {
        world.send(post("application/json", body)).await.refused(400, "invalid_json");
    }
    for body in ["[]", "7", "null", "\"x\""] {
        world.send(post("application/json", body)).await.refused(422, "invalid_body");
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "nonsense"] {
        world.send(post(kind, "{}")).await.refused(415, "unsupported_media_type");
    }
    let bare = request("POST", "/v1/jobs").body(Body::from("{}")).unwrap();
    world.send(bare).await.refused(415, "unsupported_media_type");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_and_one_at_the_limit_is_read() {
    let world = World::new().await;
    let large = |bytes: usize| job(json!({ "label": "x".repeat(bytes) }));
    world.post("/v1/jobs", large(1024 * 1024)).await.refused(413, "body_too_large");
    world.post("/v1/jobs", large(1024 * 1024 - 200)).await.refused(422, "invalid_job");
}

#[tokio::test]
async fn an_unknown_route_or_method_is_refused_as_such() {
    let world = World::new().await;
    for path in ["/pets", "/v1", "/v1/pets", "/v1/jobs/", "/v2/jobs", "/v1/jobs/x/y/z"] {
        world.get(path).await.refused(404, "route_not_found");
    }
    let answer = world.delete("/v1/jobs").await;
    assert!(answer.header("allow").contains("POST"), "{:?}", answer.headers);
    answer.refused(405, "method_not_allowed");
    world.get("/v1/jobs/batch").await.refused(405, "method_not_allowed");
    world.order("/healthz").await.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn without_the_token_nothing_but_health_and_metrics_is_answered() {
    let world = World::new().await;
    let get = |path: &str, given: Option<&str>| {
        let request = Request::get(path);
        let request = given.iter().fold(request, |request, given| request.header("authorization", *given));
        request.body(Body::empty()).unwrap()
    };
    for given in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer    "),
        Some("Bearer wrong"),
        Some("s3cret"),
        Some("Basic s3cret"),
    ] {
        for path in ["/v1/jobs", "/v1/status", "/v1/nothing", "/"] {
            let answer = world.send(get(path, given)).await;
            assert!(answer.header("www-authenticate").starts_with("Bearer"));
            answer.refused(401, "unauthorized");
        }
        world.send(get("/healthz", given)).await.expect(200);
        world.send(get("/metrics", given)).await.expect(200);
    }
    world.send(get("/v1/jobs", Some("bearer s3cret"))).await.expect(200);
}

#[tokio::test]
async fn a_server_that_goes_down_takes_no_more_work_and_says_when_to_come_back() {
    let world = World::new().await;
    world.engine.shutdown(Duration::from_secs(5)).await;
    let answer = world.post("/v1/jobs", job(json!({}))).await;
    assert_eq!(answer.header("retry-after"), "5");
    answer.refused(503, "shutting_down");
    let answer = world.post("/v1/jobs/batch", json!({ "jobs": [job(json!({}))] })).await.expect(200);
    assert_eq!(answer["results"][0]["error"]["code"], "shutting_down");
}

#[test]
fn every_code_has_a_name_of_its_own_and_a_page() {
    let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.text()).collect();
    assert_eq!(names.len(), Code::ALL.len());
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    for code in Code::ALL {
        let page = std::fs::read_to_string(pages.join(format!("{}.md", code.text()))).unwrap();
        assert!(page.contains(&format!("HTTP {}", code.status())), "{}", code.text());
    }
}
