//! Channels that are made over the API: what is answered, what is refused, and that no credential comes back.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use ordo_adapters::channel::ChannelTransport;
use ordo_adapters::slack::api::Api;
use ordo_egress_guard::{Guard, Guarded};
use ordo_engine::clock::SystemClock;
use ordo_engine::secrets::Vault;
use ordo_engine::testing::recorder::Recorder;
use ordo_model::Role;
use ordo_model::limits::CHANNELS_MAX;
use ordo_model::secret::Secret;
use ordo_server::testing::{World, text, texts};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const PATH: &str = "/v1/channels";
const OPS: &str = "/v1/channels/ops";

async fn world() -> World {
    let world = World::new().await;
    world.engine.senders().open_channels_with(Arc::new(ChannelTransport {
        guarded: Guarded::new(Guard::new("webhooks.allow", vec!["127.0.0.1".parse().unwrap()])),
        vault: Vault::new(world.engine.queries().clone(), world.engine.secrets().keyring().clone()),
        clock: Arc::new(SystemClock),
        slack: Api::new("http://127.0.0.1:1/api", "").unwrap(),
    }));
    world
}

/// The address of somebody who takes what is signed.
async fn receiver() -> String {
    let take = |headers: HeaderMap| async move {
        let is_signed = headers.contains_key("webhook-signature");
        if is_signed { StatusCode::ACCEPTED } else { StatusCode::BAD_REQUEST }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(take))).await });
    url
}

fn webhook(name: &str, url: &str) -> Value {
    json!({ "name": name, "kind": "webhook", "url": url })
}

async fn secrets(world: &World) -> Vec<String> {
    texts(&world.get("/v1/secrets").await.expect(200)["items"], "name")
}

#[tokio::test]
async fn a_channel_is_made_tried_changed_and_removed_and_its_key_is_shown_once() {
    let world = world().await;
    let url = receiver().await;
    let made = world.post(PATH, webhook("ops", &url)).await.expect(201);
    assert!(text(&made["signing_key"]).starts_with("whsec_"));
    assert_eq!((&made["events"], &made["defined_in"]), (&json!(["incident.*"]), &json!("store")));
    let read = world.get(OPS).await.expect(200);
    assert_eq!((read.get("signing_key"), &read["secret"]), (None, &json!({ "secret": "channel/ops" })));
    let sent = world.order("/v1/channels/ops/test").await.expect(200);
    assert_eq!(sent, json!({ "delivered": true, "note": "202", "error": null }));
    let patch = json!({ "url": "http://10.0.0.1/hook", "events": [], "description": "of the team" });
    let changed = world.patch(OPS, None, patch).await.expect(200);
    assert_eq!((&changed["events"], &changed["description"]), (&json!([]), &json!("of the team")));
    let failed = world.order("/v1/channels/ops/test").await.expect(200);
    assert!(
        text(&failed["error"]).contains("webhooks.allow"),
        "the change counts at once, and so does the guard: {failed}"
    );
    assert_eq!(world.patch(OPS, None, json!({ "description": null })).await.expect(200)["description"], Value::Null);
    assert_eq!(secrets(&world).await, ["channel/ops"]);
    let removed = world.delete(OPS).await.expect(200);
    assert_eq!(removed, json!({ "name": "ops", "removed": true, "given_up": 0 }));
    assert!(secrets(&world).await.is_empty(), "its own secret goes with it");
    for missing in [world.get(OPS).await, world.delete(OPS).await, world.order("/v1/channels/ops/test").await] {
        missing.refused(404, "channel_not_found");
    }
}

#[tokio::test]
async fn a_credential_goes_in_and_never_comes_out() {
    let world = world().await;
    let token = "xoxb-very-secret";
    let slack = json!({ "name": "ops", "kind": "slack", "channel": "#ops", "secret": token });
    world.post(PATH, slack).await.expect(201);
    world.put("/v1/secrets/shared", json!({ "value": "smtp-passw0rd" })).await.expect(201);
    let mail = json!({
        "name": "mail", "kind": "email", "server": "smtps://ordo@mail.example.com", "from": "ordo@example.com",
        "to": ["ops@example.com"], "secret": { "secret": "shared" },
    });
    world.post(PATH, mail).await.expect(201);
    let stream = format!("/v1/streams/ordo-channel-{}", ordo_model::channel::Channel::id("ops"));
    for path in [PATH, OPS, "/v1/channels/mail", "/v1/secrets", &stream, "/v1/audit"] {
        let shown = world.get(path).await;
        assert!(!shown.text.contains(token) && !shown.text.contains("smtp-passw0rd"), "{path}: {}", shown.text);
    }
    // A token of its own gives way to a shared one, and is forgotten.
    world.put("/v1/secrets/token", json!({ "value": "xoxb-2" })).await.expect(201);
    let changed = world.patch(OPS, None, json!({ "secret": { "secret": "token" } })).await.expect(200);
    assert_eq!(changed["secret"], json!({ "secret": "token" }));
    assert_eq!(secrets(&world).await, ["shared", "token"]);
    assert!(world.engine.secrets().reveal(&Secret::of_channel("ops")).await.unwrap().is_none());
    // The mail server wants no password any more.
    let patch = json!({ "server": "smtp://mail.example.com", "secret": null });
    assert_eq!(world.patch("/v1/channels/mail", None, patch).await.expect(200)["secret"], Value::Null);
    assert_eq!(secrets(&world).await, ["shared", "token"], "a shared one stays");
}

#[tokio::test]
async fn who_reads_sees_where_messages_go_without_what_may_be_a_key_and_only_admins_change_it() {
    let world = world().await;
    world.post(PATH, webhook("ops", "https://example.com/services/T0/key?x=1")).await.expect(201);
    let viewer = world.token("vera", Role::Viewer).await;
    let operator = world.token("olga", Role::Operator).await;
    let seen = world.request_as(&viewer, "GET", OPS, None).await.expect(200);
    assert_eq!(seen["url"], "https://example.com/***");
    assert_eq!(world.get(OPS).await.expect(200)["url"], "https://example.com/services/T0/key?x=1");
    let stream = format!("/v1/streams/ordo-channel-{}", ordo_model::channel::Channel::id("ops"));
    let events = world.request_as(&viewer, "GET", &stream, None).await;
    assert!(events.text.contains("https://example.com/***") && !events.text.contains("services"), "{}", events.text);
    let form = Some(webhook("mine", "https://elsewhere.example"));
    world.request_as(&operator, "POST", PATH, form).await.refused(403, "forbidden");
    world.request_as(&operator, "PATCH", OPS, Some(json!({ "events": ["*"] }))).await.refused(403, "forbidden");
    world.request_as(&operator, "DELETE", OPS, None).await.refused(403, "forbidden");
    world.request_as(&operator, "POST", "/v1/channels/ops/test", None).await.refused(403, "forbidden");
}

#[tokio::test]
async fn what_cannot_work_is_refused_by_the_name_of_its_field_and_leaves_no_secret() {
    let world = world().await;
    let refused =
        async |form: Value| text(&world.post(PATH, form).await.refused(422, "invalid_channel")["errors"][0]["field"]);
    let with = |mut form: Value, field: &str, value: Value| {
        form[field] = value;
        form
    };
    let plain = || webhook("ops", "https://example.com");
    assert_eq!(refused(webhook("email", "https://example.com")).await, "name", "that is one of the configuration");
    assert_eq!(refused(webhook("ops", "example.com")).await, "url");
    assert_eq!(refused(json!({ "name": "ops", "kind": "webhook" })).await, "url");
    assert_eq!(refused(with(plain(), "channel", json!("#ops"))).await, "channel", "that belongs to Slack");
    assert_eq!(refused(with(plain(), "secret", json!("short"))).await, "secret");
    assert_eq!(refused(with(plain(), "secret", json!({ "secret": "nobody-set-it" }))).await, "secret");
    assert_eq!(refused(with(plain(), "secret", json!({ "secret": "hook/push" }))).await, "secret");
    assert_eq!(refused(json!({ "name": "ops", "kind": "slack", "channel": "#ops" })).await, "secret");
    let mail = |server: &str| json!({ "name": "ops", "kind": "email", "server": server, "from": "o@example.com", "to": ["a@example.com"] });
    assert_eq!(refused(mail("smtps://user:password@mail.example.com")).await, "server");
    assert!(secrets(&world).await.is_empty());
    world.post(PATH, plain()).await.expect(201);
    world.post(PATH, plain()).await.refused(409, "channel_exists");
    world.patch(OPS, None, json!({ "from": "a@example.com" })).await.refused(422, "invalid_channel");
    for number in 1..CHANNELS_MAX {
        world.post(PATH, webhook(&format!("channel-{number}"), "https://example.com")).await.expect(201);
    }
    world.post(PATH, webhook("beyond", "https://example.com")).await.refused(409, "too_many_channels");
}

#[tokio::test]
async fn a_channel_of_the_configuration_is_shown_and_wins_over_one_of_its_name() {
    let world = world().await;
    world.post(PATH, webhook("pigeons", "https://example.com")).await.expect(201);
    let pigeons = Recorder::new("pigeons").shared();
    world.engine.senders().register(pigeons.clone());
    let listed = world.get(PATH).await.expect(200);
    let shown: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|one| (&one["defined_in"], &one["in_force"])).collect();
    let (configuration, store) = (json!("configuration"), json!("store"));
    assert_eq!(shown, [(&configuration, &json!(true)), (&store, &json!(false))]);
    world.order("/v1/channels/pigeons/test").await.expect(200);
    assert_eq!(pigeons.count(), 1);
    world.patch("/v1/channels/pigeons", None, json!({ "events": [] })).await.refused(409, "wrong_state");
    world.delete("/v1/channels/pigeons").await.expect(200);
    world.delete("/v1/channels/pigeons").await.refused(409, "wrong_state");
    world.post(PATH, webhook("pigeons", "https://example.com")).await.refused(409, "channel_exists");
}
