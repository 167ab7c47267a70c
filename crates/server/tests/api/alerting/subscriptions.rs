//! Subscriptions over the API.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use ordo_adapters::webhook::directory::Directory;
use ordo_adapters::webhook::sender::{WebhookTransport, sender_name};
use ordo_egress_guard::{Guard, Guarded};
use ordo_engine::clock::SystemClock;
use ordo_engine::secrets::Vault;
use ordo_engine::sender::Senders;
use ordo_model::Role;
use ordo_server::Adapters;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use ordo_server::testing::{World, text, texts};

const PATH: &str = "/v1/subscriptions";

async fn world() -> (World, Senders) {
    let world = World::new().await;
    let senders = Senders::default();
    let transport = WebhookTransport {
        guarded: Guarded::new(Guard::new("webhooks.allow", vec!["127.0.0.1".parse().unwrap()])),
        vault: Vault::new(world.engine.queries().clone(), world.engine.secrets().keyring().clone()),
        clock: Arc::new(SystemClock),
        gone: tokio::sync::mpsc::unbounded_channel().0,
    };
    let directory = Some(Directory::new(senders.clone(), transport));
    (world.adapted(Adapters { directory, ..Adapters::default() }), senders)
}

async fn add(world: &World, url: &str) -> Value {
    world.post(PATH, json!({ "url": url, "events": ["incident.*"] })).await.expect(201)
}

#[tokio::test]
async fn a_secret_is_shown_once_and_the_sender_is_there_at_once() {
    let (world, senders) = world().await;
    let made = add(&world, "https://example.com/hook").await;
    let id = text(&made["id"]);
    assert!(text(&made["secret"]).starts_with("whsec_"));
    assert_eq!(senders.names(), [sender_name(id.parse().unwrap())]);
    let read = world.get(&format!("{PATH}/{id}")).await.expect(200);
    assert_eq!(read.get("secret"), None);
    assert_eq!((read["state"].as_str(), &read["events"]), (Some("enabled"), &json!(["incident.*"])));
    let own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let form = json!({ "url": "https://example.com", "events": ["*"], "secret": own, "label": "a-*" });
    assert_eq!(world.post(PATH, form).await.expect(201)["secret"], own);
    let page = world.get(PATH).await.expect(200);
    assert_eq!(texts(&page["items"], "url"), ["https://example.com/hook", "https://example.com"]);
    let first = world.get(&format!("{PATH}?limit=1")).await.expect(200);
    let rest = world.get(&format!("{PATH}?limit=1&cursor={}", text(&first["next_cursor"]))).await.expect(200);
    assert_eq!(texts(&rest["items"], "url"), ["https://example.com"]);
}

#[tokio::test]
async fn a_change_is_known_to_the_sender_and_a_new_secret_is_shown() {
    let (world, senders) = world().await;
    let made = add(&world, "https://example.com/hook").await;
    let one = format!("{PATH}/{}", text(&made["id"]));
    let changed =
        world.patch(&one, None, json!({ "events": ["job.failed"], "label": "n-*", "secret": "new" })).await.expect(200);
    assert_ne!(changed["secret"], made["secret"]);
    assert_eq!(
        (&changed["events"], &changed["label"], &changed["url"]),
        (&json!(["job.failed"]), &json!("n-*"), &made["url"])
    );
    assert!(changed["previous_secret_until"].is_string());
    assert_eq!(world.patch(&one, None, json!({ "label": null })).await.expect(200)["label"], Value::Null);
    let off = world.patch(&one, None, json!({ "enabled": false })).await.expect(200);
    assert_eq!((off["state"].as_str(), senders.names().len()), (Some("disabled"), 0));
    let on = world.patch(&one, None, json!({ "enabled": true })).await.expect(200);
    assert_eq!((on["state"].as_str(), &on["reason"], senders.names().len()), (Some("enabled"), &Value::Null, 1));
    world.delete(&one).await.expect(200);
    assert!(senders.names().is_empty());
    world.get(&one).await.refused(404, "subscription_not_found");
    world.delete(&one).await.refused(404, "subscription_not_found");
}

#[tokio::test]
async fn what_cannot_work_is_refused_by_the_name_of_its_field() {
    let (world, _) = world().await;
    let refused = async |form: Value, status: u16, code: &str| {
        text(&world.post(PATH, form).await.refused(status, code)["errors"][0]["field"])
    };
    assert_eq!(refused(json!({ "url": "example.com", "events": ["*"] }), 422, "invalid_subscription").await, "url");
    assert_eq!(refused(json!({ "url": "http://x", "events": [] }), 422, "invalid_subscription").await, "events");
    let short = json!({ "url": "http://x", "events": ["*"], "secret": "whsec_c2hvcnQ=" });
    assert_eq!(refused(short, 422, "invalid_subscription").await, "secret");
    assert_eq!(refused(json!({ "url": "http://x", "events": [""] }), 422, "invalid_body").await, "events[0]");
    assert_eq!(refused(json!({ "url": "http://x" }), 422, "invalid_body").await, "events");
    world.get(&format!("{PATH}/x")).await.refused(404, "subscription_not_found");
    let key = [("idempotency-key", "k")];
    let form = json!({ "url": "http://x", "events": ["*"] });
    world.with_headers("POST", PATH, &key, form).await.refused(422, "idempotency_key_unsupported");
}

#[tokio::test]
async fn a_test_says_how_it_went() {
    let (world, _) = world().await;
    let take = |headers: HeaderMap| async move {
        let signed =
            ["webhook-id", "webhook-timestamp", "webhook-signature"].iter().all(|name| headers.contains_key(*name));
        if signed { StatusCode::ACCEPTED } else { StatusCode::BAD_REQUEST }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(take))).await });
    let test = async |url: String| {
        let made = add(&world, &url).await;
        world.order(&format!("{PATH}/{}/test", text(&made["id"]))).await.expect(200)
    };
    assert_eq!(test(format!("{url}/hook")).await, json!({ "delivered": true, "status": 202 }));
    let failed = test(format!("{url}/other")).await;
    assert!(failed["delivered"] == false && text(&failed["error"]).contains("404"), "{failed}");
    let private = test("http://10.0.0.1/".to_owned()).await;
    assert!(text(&private["error"]).contains("webhooks.allow"), "{private}");
}

#[tokio::test]
async fn the_address_of_a_receiver_is_for_admins() {
    let (world, _) = world().await;
    let made = add(&world, "https://me:s3cret@hooks.example.com/services/T0/B0?key=k1").await;
    let id = text(&made["id"]);
    assert_eq!(made["url"], "https://me:s3cret@hooks.example.com/services/T0/B0?key=k1");
    let one = format!("{PATH}/{id}");
    let stream = format!("/v1/streams/ordo-subscription-{id}");
    for role in [Role::Viewer, Role::Operator, Role::HookManager] {
        let token = world.token(role.name(), role).await;
        for path in [PATH, &one, &stream, "/v1/events"] {
            let answer = world.request_as(&token, "GET", path, None).await;
            assert!(answer.text.contains("https://hooks.example.com/***"), "{role} at {path}: {}", answer.text);
            let shown = ["s3cret", "T0/B0", "k1"].iter().any(|part| answer.text.contains(part));
            assert!(!shown, "{role} at {path}: {}", answer.text);
        }
    }
    assert!(world.get(&stream).await.text.contains("s3cret"), "an admin sees it");
}
