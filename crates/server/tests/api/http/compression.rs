use std::io::Read;

use axum::body::Body;
use flate2::read::GzDecoder;
use ordo_api::openapi;
use serde_json::{Value, json};

use ordo_server::testing::{World, request};

fn unpacked(bytes: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_large_answer_is_compressed_for_whoever_takes_it() {
    let world = World::new().await;
    let send_request = |accepted: &str| {
        request("GET", "/openapi.json").header("accept-encoding", accepted).body(Body::empty()).unwrap()
    };
    let packed = world.send(send_request("br, gzip")).await;
    assert_eq!((packed.header("content-encoding"), packed.header("vary")), ("gzip", "accept-encoding"));
    assert_eq!(&unpacked(&packed.bytes), openapi());
    let plain = world.send(send_request("identity")).await;
    assert!(!plain.headers.contains_key("content-encoding"));
    assert!(packed.bytes.len() * 4 < plain.bytes.len(), "{} of {}", packed.bytes.len(), plain.bytes.len());
}

#[tokio::test]
async fn a_small_answer_and_a_problem_stay_as_they_are() {
    let world = World::new().await;
    let gzip = [("accept-encoding", "gzip")];
    let small = world.with_headers("GET", "/v1/jobs", &gzip, json!(null)).await;
    assert!(!small.headers.contains_key("content-encoding"));
    small.expect(200);
    world.with_headers("GET", "/v1/nothing", &gzip, json!(null)).await.refused(404, "route_not_found");
}

/// An event that waits in a compressor would come with the next one, or never.
#[tokio::test]
async fn a_stream_of_events_is_not_compressed() {
    let world = World::new().await;
    let run = world.trigger(&world.job(json!({})).await).await;
    world.until(&run, "completed").await;
    let headers = [("accept-encoding", "gzip"), ("accept", "text/event-stream")];
    let answer = world.with_headers("GET", &format!("/v1/runs/{run}/logs"), &headers, json!(null)).await;
    assert!(!answer.headers.contains_key("content-encoding"));
    assert!(answer.text.contains("event: end"), "{}", answer.text);
}
