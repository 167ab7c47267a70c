//! Who may do what: every route held against every role.

use axum::body::Body;
use axum::http::{Method, Request};
use ordo_api::{Need, Operation};
use ordo_model::api_token::ApiToken;
use ordo_model::secret::Secret;
use ordo_model::{Millis, Right, Role};
use ordo_server::{RateLimits, router};
use serde_json::json;
use tower::ServiceExt;

use ordo_server::testing::{TOKEN, World, job, text, texts};

#[tokio::test]
async fn every_route_is_closed_to_roles_that_have_no_right_to_it() {
    let world = World::new().await;
    let mut tokens = Vec::new();
    for role in Role::ALL {
        tokens.push((role, world.token(role.name(), role).await));
    }
    for route in Operation::routes() {
        let method: Method = route.method.name().parse().unwrap();
        let concrete = route.path.replace("{id}", "x").replace("{stream}", "x").replace("{name}", "x");
        let bare = Request::builder().method(&method).uri(&concrete).body(Body::empty()).unwrap();
        let status = world.send(bare).await.status;
        let (right, or) = match route.need {
            Need::Right(right) => (right, right),
            Need::RightOrHolder(right) => (right, Right::Execute),
            Need::Open => {
                assert!(status != 403, "{route:?} is open to everybody");
                continue;
            }
        };
        assert_eq!(status, 401, "{route:?} without a token");
        for (role, token) in &tokens {
            let answer = world.request_as(token, method.as_str(), &concrete, None).await;
            let is_let_in = answer.json["code"] != "forbidden";
            assert_eq!(is_let_in, role.may(right) || role.may(or), "{role} at {route:?}: {}", answer.text);
            assert_eq!(answer.status == 403, !is_let_in, "{role} at {route:?}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_refusal_says_which_role_is_needed() {
    let world = World::new().await;
    let viewer = world.token("eve", Role::Viewer).await;
    let problem = world.request_as(&viewer, "POST", "/v1/jobs", Some(job(json!({})))).await.refused(403, "forbidden");
    let detail = text(&problem["detail"]);
    assert!(detail.contains("\"eve\"") && detail.contains("viewer") && detail.contains("operator"), "{detail}");
    assert_eq!(Right::Operate.least(), Role::Operator);
}

#[tokio::test]
async fn a_token_is_shown_once_listed_without_its_text_and_ends_by_revocation() {
    let world = World::new().await;
    let made = world.post("/v1/tokens", json!({ "name": "ci", "role": "operator", "expires_in": "90d" })).await;
    assert_eq!(made.header("cache-control"), "no-store");
    let made = made.expect(201);
    let token = text(&made["token"]);
    assert!(token.starts_with("ordo_o_") && token.len() == 50, "{token}");
    assert_eq!((&made["created_by"], &made["state"]), (&json!("admin@test"), &json!("active")));
    assert!(made["expires_at"].is_string());
    world.post("/v1/tokens", json!({ "name": "ci", "role": "viewer" })).await.refused(409, "token_exists");
    world.request_as(&token, "POST", "/v1/jobs", Some(job(json!({})))).await.expect(201);

    let listed = world.get("/v1/tokens").await;
    assert!(!listed.text.contains(&token));
    let listed = listed.expect(200);
    assert_eq!(texts(&listed["items"], "name"), ["admin@test", "ci"]);
    assert_eq!(listed["items"][1]["prefix"], token[..13]);
    world.eventually(async || world.get("/v1/tokens").await.json["items"][1]["last_used_at"].is_string()).await;

    let path = format!("/v1/tokens/{}", text(&made["id"]));
    assert_eq!(world.delete(&path).await.expect(200)["state"], "revoked");
    assert_eq!(world.delete(&path).await.expect(200)["state"], "revoked", "twice is the same as once");
    world.request_as(&token, "GET", "/v1/jobs", None).await.refused(401, "unauthorized");
    world.delete("/v1/tokens/0199b3a4-0000-7000-8000-000000000000").await.refused(404, "token_not_found");
    world.delete("/v1/tokens/x").await.refused(404, "token_not_found");
    world.post("/v1/tokens", json!({ "name": "ci", "role": "viewer" })).await.expect(201);
}

#[tokio::test]
async fn what_cannot_be_a_token_is_refused() {
    let world = World::new().await;
    for form in [
        json!({ "name": "a b", "role": "viewer" }),
        json!({ "name": "a", "role": "root" }),
        json!({ "name": "a", "role": "viewer", "expires_at": "2001-01-01T00:00:00Z" }),
        json!({ "name": "a", "role": "viewer", "expires_at": "2101-01-01T00:00:00Z", "expires_in": "1d" }),
        json!({ "name": "a", "role": "viewer", "expires_in": "0s" }),
    ] {
        world.post("/v1/tokens", form.clone()).await.refused(422, "invalid_token");
    }
    world.post("/v1/tokens", json!({ "name": "a" })).await.refused(422, "invalid_body");
    let keyed = world
        .with_headers("POST", "/v1/tokens", &[("idempotency-key", "k")], json!({ "name": "a", "role": "viewer" }))
        .await;
    keyed.refused(422, "idempotency_key_unsupported");
}

#[tokio::test]
async fn a_token_that_has_expired_lets_nobody_in() {
    let world = World::standing().await;
    let made = world.post("/v1/tokens", json!({ "name": "brief", "role": "viewer", "expires_in": "300ms" })).await;
    let token = text(&made.expect(201)["token"]);
    let status = async || world.request_as(&token, "GET", "/v1/jobs", None).await.status;
    world.below.advance(Millis::from_ms(299)).await;
    assert_eq!(status().await, 200);
    world.below.advance(Millis::from_ms(1)).await;
    assert_eq!(status().await, 401);
    assert_eq!(world.get("/v1/tokens").await.json["items"][1]["state"], "expired");
}

#[tokio::test]
async fn what_happened_to_secrets_and_tokens_stands_in_their_own_streams_for_admins() {
    let world = World::new().await;
    world.put("/v1/secrets/pg", json!({ "value": "hunter2" })).await.expect(201);
    let viewer = world.token("eve", Role::Viewer).await;
    let made = world.job(json!({})).await;
    for token in [TOKEN, &viewer] {
        let seen = world.request_as(token, "GET", "/v1/events?limit=200", None).await.expect(200);
        assert_eq!(texts(&seen["items"], "stream"), [format!("ordo-job-{}", text(&made["id"]))]);
    }
    for entity in [Secret::id("pg"), ApiToken::id("eve")] {
        let path = format!("/v1/streams/{entity}");
        world.get(&path).await.expect(200);
        world.request_as(&viewer, "GET", &path, None).await.refused(403, "forbidden");
    }
    // A page that holds nothing to see still leads on.
    let mut cursor = String::new();
    let mut found = Vec::new();
    loop {
        let page = world.request_as(&viewer, "GET", &format!("/v1/events?limit=1{cursor}"), None).await.expect(200);
        found.extend(texts(&page["items"], "type"));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found, ["JobScheduled"]);
}

#[tokio::test]
async fn a_token_has_a_share_of_requests_and_the_local_one_has_none() {
    let mut world = World::new().await;
    let token = world.token("busy", Role::Viewer).await;
    world.limit(RateLimits { requests_per_minute: 3, hook_requests_per_minute: 2 });
    for left in [2, 1, 0] {
        let answer = world.request_as(&token, "GET", "/v1/jobs", None).await;
        assert_eq!(answer.header("ratelimit-policy"), "\"token\";q=3;w=60");
        assert!(answer.header("ratelimit").starts_with(&format!("\"token\";r={left};t=")));
        answer.expect(200);
    }
    let refused = world.request_as(&token, "GET", "/v1/jobs", None).await;
    assert_eq!(refused.header("retry-after"), "20");
    assert!(refused.header("ratelimit").starts_with("\"token\";r=0;"));
    refused.refused(429, "rate_limited");
    for _ in 0..10 {
        let answer = world.get("/v1/jobs").await;
        assert!(answer.headers.get("ratelimit").is_none());
        answer.expect(200);
    }
}

#[tokio::test]
async fn however_its_name_is_written_a_hook_has_one_share_and_unknown_ones_have_none() {
    let mut world = World::new().await;
    world.post("/v1/hooks", json!({ "slug": "push" })).await.expect(201);
    world.limit(RateLimits { requests_per_minute: 0, hook_requests_per_minute: 3 });
    let call = async |path: &str| world.send(Request::post(path).body(Body::empty()).unwrap()).await;
    for (path, left) in [("/hooks/push", 2), ("/hooks/%70ush", 1), ("/hooks/p%75%73h", 0)] {
        let answer = call(path).await;
        assert!(answer.header("ratelimit").starts_with(&format!("\"hook\";r={left};")), "{path}");
        answer.expect(202);
    }
    for path in ["/hooks/push", "/hooks/pus%68", "/hooks/%70%75%73%68"] {
        call(path).await.refused(429, "rate_limited");
    }
    for n in 0..10 {
        let answer = call(&format!("/hooks/unknown-{n}")).await;
        assert!(answer.headers.get("ratelimit").is_none(), "nothing is remembered of it");
        answer.refused(404, "hook_not_found");
    }
}

#[tokio::test]
async fn answers_tell_browsers_what_not_to_do_with_them() {
    let world = World::new().await;
    for path in ["/v1/jobs", "/v1/secrets", "/v1/tokens", "/healthz", "/v1/nothing"] {
        let answer = world.get(path).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
    }
    let run = world.trigger(&world.job(json!({})).await).await;
    let paths =
        ["/v1/secrets", "/v1/tokens", "/metrics", "/jobs", &format!("/runs/{run}"), &format!("/runs/{run}/log.txt")];
    for path in paths {
        let bare = Request::get(path).header("authorization", format!("Bearer {TOKEN}")).body(Body::empty()).unwrap();
        let answer = router(world.app.clone()).oneshot(bare).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["cache-control"]),
            (200, &"no-store".parse().unwrap()),
            "{path}"
        );
    }
}
