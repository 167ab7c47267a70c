//! Answers without an end, and what ends them: the token, the session, the limits.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use ordo_engine::testing::eventually;
use ordo_model::Millis;
use ordo_model::Role;
use ordo_model::api_token::ApiToken;
use ordo_model::limits::STREAMS_PER_TOKEN_MAX;
use ordo_server::router;
use serde_json::json;
use tower::ServiceExt;

use crate::auth::login::{OWN, browse, login};
use ordo_server::testing::{World, text};

const PATIENCE: Duration = Duration::from_secs(10);

/// An answer that has begun; what there is to read of it is not read.
async fn open(world: &World, path: &str, header: (&str, &str)) -> Response<Body> {
    let request = Request::builder().uri(path).header("accept", "text/event-stream").header(header.0, header.1);
    router(world.app.clone()).oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

async fn ends(stream: Response<Body>) -> bool {
    tokio::time::timeout(PATIENCE, stream.into_body().collect()).await.is_ok()
}

async fn goes_on(stream: &mut Response<Body>) -> bool {
    let read = async { while stream.body_mut().frame().await.is_some() {} };
    tokio::time::timeout(Duration::from_millis(300), read).await.is_err()
}

/// The paths of all streams there are, for a run that goes on.
async fn paths(world: &World) -> Vec<String> {
    let run = world.trigger(&world.job(json!({ "tool_name": "talk" })).await).await;
    world.until(&run, "running").await;
    vec!["/v1/events".to_owned(), "/live".to_owned(), format!("/v1/runs/{run}/logs?follow=true")]
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let world = World::new().await;
    for path in paths(&world).await {
        let (eve, ann) = (world.token("eve", Role::Viewer).await, world.token("ann", Role::Viewer).await);
        let bearer = |token: &str| format!("Bearer {token}");
        let stream = open(&world, &path, ("authorization", &bearer(&eve))).await;
        let mut other = open(&world, &path, ("authorization", &bearer(&ann))).await;
        assert_eq!((stream.status(), other.status()), (StatusCode::OK, StatusCode::OK), "{path}");
        world.delete(&format!("/v1/tokens/{}", ApiToken::id("eve").id)).await.expect(200);
        assert!(ends(stream).await, "{path}");
        assert!(goes_on(&mut other).await, "{path}: that of another token");
        world.delete(&format!("/v1/tokens/{}", ApiToken::id("ann").id)).await.expect(200);
        assert!(ends(other).await, "{path}");
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let world = World::new().await;
    let wanted = json!({ "name": "short", "role": "viewer", "expires_in": "700ms" });
    let token = text(&world.post("/v1/tokens", wanted).await.expect(201)["token"]);
    let stream = open(&world, "/v1/events", ("authorization", &format!("Bearer {token}"))).await;
    assert_eq!(stream.status(), 200);
    assert!(ends(stream).await);
}

#[tokio::test]
async fn a_stream_ends_with_the_session_of_its_browser() {
    let world = World::new().await;
    let token = world.token("eve", Role::Viewer).await;
    let (session, other) = (login(&world, &token).await, login(&world, &token).await);
    let stream = open(&world, "/live", ("cookie", &session)).await;
    let mut elsewhere = open(&world, "/live", ("cookie", &other)).await;
    assert_eq!((stream.status(), elsewhere.status()), (StatusCode::OK, StatusCode::OK));
    let left = browse(&world, "POST", "/logout", &[OWN, ("cookie", &session)], "").await;
    assert_eq!(left.status, 303);
    assert!(ends(stream).await);
    assert!(goes_on(&mut elsewhere).await, "another browser with the same token stays");
    browse(&world, "GET", "/v1/jobs", &[("cookie", &session)], "").await.refused(401, "unauthorized");
    browse(&world, "GET", "/v1/jobs", &[("cookie", &other)], "").await.expect(200);
}

#[tokio::test]
async fn a_poll_ends_with_its_token_and_takes_nothing() {
    let world = World::standing().await;
    let token = world.token("worker", Role::Executor).await;
    let offer = json!({ "name": "w", "group": "gpu", "tools": ["render"], "capacity": 1 });
    let id = text(&world.request_as(&token, "POST", "/v1/executors", Some(offer)).await.expect(201)["id"]);
    let path = format!("/v1/executors/{id}/poll");
    let poll = world.request_as(&token, "POST", &path, Some(json!({ "max": 1, "wait_ms": 60_000 })));
    // The executor was seen at this time only if its poll has come.
    world.below.advance(Millis::from_secs(1)).await;
    let now = json!(world.below.now());
    let has_come = async || {
        let listed = world.get("/v1/executors").await.expect(200);
        listed["items"].as_array().unwrap().iter().any(|it| it["id"] == id && it["seen_at"] == now).then_some(())
    };
    let revoke = async {
        eventually("the poll waits", has_come).await;
        world.delete(&format!("/v1/tokens/{}", ApiToken::id("worker").id)).await.expect(200);
    };
    let (polled, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(poll, revoke) }).await.unwrap();
    assert_eq!(polled.expect(200)["runs"], json!([]));
}

#[tokio::test]
async fn a_token_has_so_many_streams_and_no_more() {
    let world = World::new().await;
    let token = format!("Bearer {}", world.token("eve", Role::Viewer).await);
    let mut streams = Vec::new();
    for _ in 0..STREAMS_PER_TOKEN_MAX {
        let stream = open(&world, "/v1/events", ("authorization", &token)).await;
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let refused = open(&world, "/live", ("authorization", &token)).await;
    assert_eq!(refused.status(), 429);
    let other = format!("Bearer {}", world.token("ann", Role::Viewer).await);
    assert_eq!(open(&world, "/v1/events", ("authorization", &other)).await.status(), 200);
    drop(streams.pop());
    assert_eq!(open(&world, "/live", ("authorization", &token)).await.status(), 200, "there is room again");
}
