use axum::body::Body;
use axum::http::Request;
use hmac::{Hmac, KeyInit, Mac};
use ordo_model::Role;
use ordo_model::hook::Hook;
use serde_json::{Value, json};
use sha2::Sha256;

use ordo_server::testing::{TestResponse, World, text, texts};

const SECRET: &str = "It's a Secret to Everybody";

fn sign(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// Calls a hook as a stranger does.
async fn call(world: &World, slug: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> TestResponse {
    let mut request = Request::post(format!("/hooks/{slug}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(body.into()).unwrap()).await
}

async fn listener(world: &World, slug: &str, tool: &str) -> String {
    let trigger = json!({ "type": "webhook", "hook": slug });
    text(&world.job(json!({ "tool_name": tool, "trigger": trigger })).await["id"])
}

async fn deliveries(world: &World, slug: &str) -> Vec<Value> {
    let page = world.get(&format!("/v1/hooks/{slug}/deliveries")).await.expect(200);
    page["items"].as_array().unwrap().clone()
}

/// The newest delivery, once it has this status.
async fn delivered(world: &World, slug: &str, status: &str) -> Value {
    world.eventually(async || deliveries(world, slug).await.first().is_some_and(|it| it["status"] == status)).await;
    deliveries(world, slug).await.remove(0)
}

#[tokio::test]
async fn a_hook_is_added_shown_changed_and_removed_and_its_secret_stays_hidden() {
    let world = World::new().await;
    let form = json!({
        "slug": "push",
        "verify": { "type": "github", "secret": SECRET },
        "filter": { "pointer": "/ref", "equals": "refs/heads/main" },
        "max_bytes": 1000,
    });
    let created = world.post("/v1/hooks", form.clone()).await;
    assert_eq!(created.header("location"), "/v1/hooks/push");
    let hook = created.expect(201);
    assert_eq!(hook["verify"], json!({ "type": "github", "secret": { "secret": "hook/push" } }));
    assert_eq!((&hook["path"], &hook["filter"]), (&json!("/hooks/push"), &form["filter"]));
    let job = listener(&world, "push", "unpack").await;
    let shown = world.get("/v1/hooks/push").await.expect(200);
    assert_eq!(shown["jobs"], json!([job]));
    assert_eq!(world.get("/v1/hooks").await.expect(200)["items"], json!([shown]));
    world.post("/v1/hooks", form).await.refused(409, "hook_exists");
    let secrets = world.engine.secrets();
    assert_eq!(secrets.reveal("hook/push").await.unwrap().unwrap().expose(), SECRET);

    let bearer = json!({ "verify": { "type": "bearer", "secret": "b" } });
    let changed = world.patch("/v1/hooks/push", None, bearer).await.expect(200);
    assert_eq!((&changed["verify"]["type"], &changed["filter"]), (&json!("bearer"), &hook["filter"]), "the rest stays");
    for nothing in [json!({}), json!({ "max_bytes": 10 }), json!({ "filter": null })] {
        let changed = world.patch("/v1/hooks/push", None, nothing).await.expect(200);
        assert_eq!(changed["verify"]["type"], "bearer", "only null drops the verification");
    }
    let open = world.patch("/v1/hooks/push", None, json!({ "verify": null })).await.expect(200);
    assert_eq!((&open["verify"], &open["max_bytes"]), (&json!(null), &json!(10)));
    assert!(secrets.reveal("hook/push").await.unwrap().is_none(), "nobody needs it any more");

    let stream = world.get(&format!("/v1/streams/{}", Hook::id("push"))).await.expect(200);
    assert!(!stream.to_string().contains(SECRET));
    assert!(texts(&stream["items"], "type").contains(&"HookVerificationDropped".to_owned()), "people see it");
    world.delete("/v1/hooks/push").await.expect(200);
    world.get("/v1/hooks/push").await.refused(404, "hook_not_found");
    world.delete("/v1/hooks/push").await.refused(404, "hook_not_found");
    world.patch("/v1/hooks/push", None, json!({})).await.refused(404, "hook_not_found");
    world.put("/v1/hooks/push", json!({})).await.refused(405, "method_not_allowed");
    call(&world, "push", &[], "{}").await.refused(404, "hook_not_found");
}

#[tokio::test]
async fn a_hook_that_cannot_work_is_refused_by_its_field() {
    let world = World::new().await;
    let refused = async |form: Value, field: &str| {
        let problem = world.post("/v1/hooks", form).await.refused(422, "invalid_hook");
        assert_eq!(problem["errors"][0]["field"], field);
    };
    refused(json!({ "slug": "a b" }), "slug").await;
    refused(json!({ "slug": "a", "max_bytes": 0 }), "max_bytes").await;
    refused(json!({ "slug": "a", "verify": { "type": "github", "secret": " " } }), "verify.secret").await;
    refused(json!({ "slug": "a", "verify": { "type": "github", "secret": { "secret": "no" } } }), "verify.secret")
        .await;
    refused(json!({ "slug": "a", "verify": { "type": "github", "secret": "s", "header": "X" } }), "verify.header")
        .await;
    for form in [
        json!({}),
        json!({ "slug": "a", "filter": { "pointer": "x", "exists": true } }),
        json!({ "slug": "a", "colour": "red" }),
        json!({ "slug": "a", "verify": { "type": "github" } }),
        json!({ "slug": "a", "verify": { "type": "magic", "secret": "s" } }),
        json!({ "slug": "a", "verify": { "type": "github", "secret": 5 } }),
    ] {
        world.post("/v1/hooks", form).await.refused(422, "invalid_body");
    }
    assert!(world.engine.secrets().list(None, 10).await.unwrap().items.is_empty(), "no secret was left behind");
}

#[tokio::test]
async fn a_signed_call_runs_the_job_with_what_came() {
    let world = World::new().await;
    let form = json!({ "slug": "push", "verify": { "type": "github", "secret": SECRET } });
    world.post("/v1/hooks", form).await.expect(201);
    let job = listener(&world, "push", "unpack").await;
    let body = r#"{"ref": "refs/heads/main"}"#;
    let signature = format!("sha256={}", sign(SECRET, body));
    let headers = [
        ("x-hub-signature-256", signature.as_str()),
        ("x-github-delivery", "72d3162e"),
        ("content-type", "application/json"),
        ("cookie", "session=1"),
        ("authorization", "Bearer hidden"),
    ];
    let answer = call(&world, "push", &headers, body).await.expect(202);
    let again = call(&world, "push", &headers, body).await.expect(202);
    assert_eq!(again, json!({ "id": answer["id"], "duplicate": true }));
    let delivery = delivered(&world, "push", "done").await;
    assert_eq!((&delivery["id"], &delivery["sender_id"]), (&answer["id"], &json!("72d3162e")));
    assert_eq!((&delivery["has_payload"], &delivery["runs"][0]["job_id"]), (&json!(false), &json!(job)));
    let run = world.until(&text(&delivery["runs"][0]["run_id"]), "completed").await;
    assert_eq!(run["cause"], json!({ "type": "webhook", "delivery": answer["id"] }));
    assert_eq!(run["status"]["result"]["body"], body);
    let kept = run["status"]["result"]["headers"].to_string();
    assert!(kept.contains("x-github-delivery") && !kept.contains("session") && !kept.contains("hidden"), "{kept}");
    // Signed for another payload, or not at all.
    call(&world, "push", &headers, "{}").await.refused(401, "hook_unverified");
    call(&world, "push", &[], body).await.refused(401, "hook_unverified");
    assert_eq!(deliveries(&world, "push").await.len(), 1);
    let metrics = world.get("/metrics").await.text;
    for line in ["received\"} 1", "duplicate\"} 1", "refused\"} 2"] {
        assert!(metrics.contains(&format!("ordo_hook_deliveries_total{{outcome=\"{line}")), "{metrics}");
    }
    assert!(metrics.contains("ordo_hook_runs_total 1"));
}

#[tokio::test]
async fn a_secret_that_is_gone_is_our_fault_and_the_sender_may_try_again() {
    let world = World::new().await;
    let form = json!({ "slug": "push", "verify": { "type": "bearer", "secret": "s" } });
    world.post("/v1/hooks", form).await.expect(201);
    let headers = [("authorization", "Bearer s")];
    call(&world, "push", &headers, "").await.expect(202);
    world.engine.secrets().remove("hook/push").await.unwrap();
    call(&world, "push", &headers, "").await.refused(503, "hook_secret_unavailable");
}

#[tokio::test]
async fn a_payload_up_to_the_limit_is_taken_and_one_beyond_is_not() {
    let world = World::new().await;
    world.post("/v1/hooks", json!({ "slug": "push", "max_bytes": 10 })).await.expect(201);
    call(&world, "push", &[], "x".repeat(10)).await.expect(202);
    call(&world, "push", &[], "x".repeat(11)).await.refused(413, "body_too_large");
    call(&world, "push", &[("content-length", "11")], "x").await.refused(413, "body_too_large");
    let stream = futures_util::stream::iter((0..11).map(|_| Ok::<_, std::io::Error>("x")));
    call(&world, "push", &[], Body::from_stream(stream)).await.refused(413, "body_too_large");
    let long = "x".repeat(70_000);
    call(&world, "push", &[("x-long", &long)], "").await.refused(431, "headers_too_large");
    // More than other routes take, where the hook says so.
    world.post("/v1/hooks", json!({ "slug": "large", "max_bytes": 3_000_000 })).await.expect(201);
    call(&world, "large", &[], "x".repeat(3_000_000)).await.expect(202);
}

#[tokio::test]
async fn what_the_filter_holds_back_is_recorded_and_not_run() {
    let world = World::new().await;
    let filter = json!({ "pointer": "/action", "one_of": ["opened", "closed"] });
    world.post("/v1/hooks", json!({ "slug": "pr", "filter": filter })).await.expect(201);
    listener(&world, "pr", "unpack").await;
    call(&world, "pr", &[], r#"{"action": "labeled"}"#).await.expect(202);
    let delivery = delivered(&world, "pr", "filtered").await;
    assert_eq!((&delivery["runs"], &delivery["has_payload"]), (&json!([]), &json!(false)));
    call(&world, "pr", &[], r#"{"action": "opened"}"#).await.expect(202);
    delivered(&world, "pr", "done").await;
    let path = format!("/v1/hooks/pr/deliveries/{}/replay", text(&delivery["id"]));
    world.order(&path).await.refused(409, "payload_gone");
}

#[tokio::test]
async fn a_failed_delivery_can_be_replayed() {
    let world = World::new().await;
    world.post("/v1/hooks", json!({ "slug": "push" })).await.expect(201);
    let job = listener(&world, "push", "fail").await;
    call(&world, "push", &[], "{}").await.expect(202);
    let delivery = delivered(&world, "push", "failed").await;
    world.patch(&format!("/v1/jobs/{job}"), None, json!({ "tool_name": "unpack" })).await.expect(200);
    let path = format!("/v1/hooks/push/deliveries/{}/replay", text(&delivery["id"]));
    let key = [("idempotency-key", "k")];
    let replayed = world.with_headers("POST", &path, &key, json!(null)).await.expect(202);
    assert_eq!(replayed["replays"], 1);
    let again = world.with_headers("POST", &path, &key, json!(null)).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    again.expect(202);
    let delivery = delivered(&world, "push", "done").await;
    assert_eq!(delivery["replays"], 1);
    let run = world.until(&text(&delivery["runs"][0]["run_id"]), "completed").await;
    assert_eq!(run["cause"]["replay"], 1);
    world.order(&path).await.refused(409, "payload_gone");
    world.order("/v1/hooks/push/deliveries/x/replay").await.refused(404, "delivery_not_found");
    let elsewhere = path.replace("/push/", "/pull/");
    world.order(&elsewhere).await.refused(404, "delivery_not_found");
}

#[tokio::test]
async fn a_delivery_under_way_is_not_replayed() {
    let world = World::new().await;
    world.post("/v1/hooks", json!({ "slug": "push" })).await.expect(201);
    listener(&world, "push", "hang").await;
    call(&world, "push", &[], "{}").await.expect(202);
    let delivery = delivered(&world, "push", "running").await;
    let path = format!("/v1/hooks/push/deliveries/{}/replay", text(&delivery["id"]));
    world.order(&path).await.refused(409, "wrong_state");
}

#[tokio::test]
async fn deliveries_are_listed_page_by_page_newest_first() {
    let world = World::new().await;
    for slug in ["push", "pushed"] {
        world.post("/v1/hooks", json!({ "slug": slug })).await.expect(201);
    }
    call(&world, "pushed", &[], "{}").await.expect(202);
    let mut sent = Vec::new();
    for n in 0..5 {
        let id = format!("d-{n}");
        sent.push(text(&call(&world, "push", &[("x-delivery-id", &id)], "{}").await.expect(202)["id"]));
    }
    sent.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/v1/hooks/push/deliveries?limit=2{cursor}")).await.expect(200);
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| text(&item["id"])));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    // Those of the same millisecond stand in the order of their ids.
    assert_eq!(seen.len(), 5);
    seen.sort();
    sent.sort();
    assert_eq!(seen, sent);
    world.get("/v1/hooks/pushed/deliveries?cursor=00ff").await.refused(422, "invalid_cursor");
    world.get("/v1/hooks/none/deliveries").await.refused(404, "hook_not_found");
}

#[tokio::test]
async fn the_challenge_of_slack_is_answered_and_pages_of_other_sites_are_refused() {
    let world = World::new().await;
    let form = json!({ "slug": "slack", "verify": { "type": "slack", "secret": "s" } });
    world.post("/v1/hooks", form).await.expect(201);
    let body = r#"{"type": "url_verification", "challenge": "3eZbrw1a"}"#;
    let time = (world.engine.clock().now().ms() / 1_000).to_string();
    let signature = format!("v0={}", sign("s", &format!("v0:{time}:{body}")));
    let headers = [("x-slack-request-timestamp", time.as_str()), ("x-slack-signature", signature.as_str())];
    assert_eq!(call(&world, "slack", &headers, body).await.expect(200), json!({ "challenge": "3eZbrw1a" }));
    assert!(deliveries(&world, "slack").await.is_empty());
    world.post("/v1/hooks", json!({ "slug": "open" })).await.expect(201);
    call(&world, "open", &[("origin", "https://evil.example")], "{}").await.refused(403, "origin_refused");
    // A name of its own that was pointed at this machine helps a page as little.
    let rebound = [("host", "evil.example"), ("origin", "http://evil.example")];
    call(&world, "open", &rebound, "{}").await.refused(401, "hook_unverified");
    call(&world, "open", &[], "{}").await.expect(202);
}

#[tokio::test]
async fn a_hook_with_a_key_is_added_once() {
    let world = World::new().await;
    let add = async |slug: &str| {
        let key = [("idempotency-key", "k")];
        world.with_headers("POST", "/v1/hooks", &key, json!({ "slug": slug })).await
    };
    let first = add("push").await.expect(201);
    let again = add("push").await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.expect(201), first);
    add("pull").await.refused(422, "idempotency_key_reused");
}

#[tokio::test]
async fn the_secrets_of_hooks_are_apart_from_those_of_admins() {
    let world = World::new().await;
    world.put("/v1/secrets/hook-deploy", json!({ "value": "of an admin" })).await.expect(201);
    let manager = world.token("m", Role::HookManager).await;
    let form = |secret: Value| json!({ "slug": "deploy", "verify": { "type": "github", "secret": secret } });
    let send_request =
        async |method: &str, path: &str, body: Option<Value>| world.request_as(&manager, method, path, body).await;

    // Whether a secret is there or not is answered alike.
    for name in ["hook-deploy", "no-such-secret", "hook/other"] {
        let refused =
            send_request("POST", "/v1/hooks", Some(form(json!({ "secret": name })))).await.refused(403, "forbidden");
        assert!(!refused.to_string().contains(name), "{refused}");
    }
    send_request("POST", "/v1/hooks", Some(form(json!(SECRET)))).await.expect(201);
    for name in ["hook-deploy", "no-such-secret"] {
        let change = json!({ "verify": { "type": "github", "secret": { "secret": name } } });
        send_request("PATCH", "/v1/hooks/deploy", Some(change)).await.refused(403, "forbidden");
    }
    let shown = send_request("GET", "/v1/hooks/deploy", None).await.expect(200)["verify"].clone();
    send_request("PATCH", "/v1/hooks/deploy", Some(json!({ "verify": shown }))).await.expect(200);
    send_request("DELETE", "/v1/hooks/deploy", None).await.expect(200);
    let kept = world.engine.secrets().reveal("hook-deploy").await.unwrap();
    assert_eq!(kept.unwrap().expose(), "of an admin", "neither overwritten nor removed");
    assert!(world.engine.secrets().reveal("hook/deploy").await.unwrap().is_none());

    world.post("/v1/hooks", form(json!({ "secret": "hook-deploy" }))).await.expect(201);
    world.delete("/v1/hooks/deploy").await.expect(200);
    world.put("/v1/secrets/hook%2Fdeploy", json!({ "value": "x" })).await.refused(422, "invalid_secret");
}

#[tokio::test]
async fn a_job_does_not_get_the_secret_of_a_hook() {
    let world = World::new().await;
    world.post("/v1/hooks", json!({ "slug": "a", "verify": { "type": "bearer", "secret": SECRET } })).await.expect(201);
    let input = json!({ "text": { "secret": "hook/a" } });
    let asked = ordo_server::testing::job(json!({ "tool_name": "unpack", "tool_input": input }));
    world.post("/v1/jobs", asked).await.refused(422, "unknown_secret");
}

#[tokio::test]
async fn a_copy_of_a_signed_call_is_a_duplicate_whatever_id_it_bears() {
    let world = World::new().await;
    for kind in ["github", "hmac"] {
        world
            .post("/v1/hooks", json!({ "slug": kind, "verify": { "type": kind, "secret": SECRET } }))
            .await
            .expect(201);
        let body = r#"{"pay": 100}"#;
        let signature = format!("sha256={}", sign(SECRET, body));
        let header = if kind == "github" { "x-hub-signature-256" } else { "x-signature-256" };
        let send = async |id: &str, body: &'static str, signature: &str| {
            call(&world, kind, &[(header, signature), ("x-github-delivery", id)], body).await.expect(202)
        };
        let first = send("1", body, &signature).await;
        let copy = send("2", body, &signature).await;
        assert_eq!(copy, json!({ "id": first["id"], "duplicate": true }), "{kind}");
        let nameless = call(&world, kind, &[(header, &signature)], body).await.expect(202);
        assert_eq!(nameless["duplicate"], true, "{kind}");
        let other = format!("sha256={}", sign(SECRET, "{}"));
        assert_eq!(send("3", "{}", &other).await.get("duplicate"), None, "{kind}: another payload is new");
        assert_eq!(deliveries(&world, kind).await.len(), 2);
    }
}

#[tokio::test]
async fn a_delivery_id_is_shown_as_it_is() {
    let world = World::new().await;
    world.post("/v1/hooks", json!({ "slug": "push" })).await.expect(201);
    call(&world, "push", &[("x-delivery-id", "a\u{202e}b\u{9b}31m")], "").await.expect(202);
    assert_eq!(deliveries(&world, "push").await[0]["sender_id"], "a\\u{202e}b\\u{9b}31m");
}
