//! The routes that Slack calls: open, but only to whoever signs as Slack does.

use axum::body::Body;
use axum::http::Request;
use ordo_adapters::slack::signature::SigningSecret;
use ordo_engine::incidents::IncidentFilter;
use ordo_model::incident::IncidentStatus;
use ordo_server::Adapters;
use serde_json::{Value, json};

use ordo_server::testing::{TestResponse, World};

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

async fn world() -> World {
    let slack = Some(SigningSecret::new(SECRET));
    World::new().await.adapted(Adapters { slack, ..Adapters::default() })
}

/// A request without a token, signed `skew` seconds from now.
async fn say(world: &World, path: &str, body: String, secret: &str, skew: i64) -> TestResponse {
    let timestamp = (world.engine.clock().now().ms() / 1_000 + skew).to_string();
    let signature = SigningSecret::new(secret).sign(&timestamp, body.as_bytes());
    let request = Request::post(path)
        .header("host", "ordo.example.com")
        .header("x-slack-request-timestamp", timestamp)
        .header("x-slack-signature", signature)
        .header("x-slack-retry-num", "1");
    world.send(request.body(Body::from(body)).unwrap()).await
}

async fn event(world: &World, body: Value) -> TestResponse {
    say(world, "/slack/events", body.to_string(), SECRET, 0).await
}

fn mention(id: &str) -> Value {
    let event =
        json!({"type": "app_mention", "user": "U1", "channel": "C1", "ts": "17.5", "text": "<@UB> server down!"});
    json!({"type": "event_callback", "event_id": id, "event": event})
}

#[tokio::test]
async fn the_challenge_is_answered() {
    let world = world().await;
    let answer =
        event(&world, json!({"type": "url_verification", "challenge": "3eZb", "token": "x"})).await.expect(200);
    assert_eq!(answer["challenge"], "3eZb");
}

#[tokio::test]
async fn a_mention_starts_one_incident_however_often_it_is_delivered() {
    let world = world().await;
    for _ in 0..3 {
        event(&world, mention("Ev1")).await.expect(200);
    }
    let found = world.engine.queries().incidents(&IncidentFilter::default(), None, 10).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.items[0].title, "server down!");
    assert_eq!(world.engine.queries().timeline(found.items[0].id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_button_changes_its_incident_and_what_cannot_be_is_not_asked_again() {
    let world = world().await;
    event(&world, mention("Ev1")).await.expect(200);
    let found = world.engine.queries().incidents(&IncidentFilter::default(), None, 1).await.unwrap();
    let id = found.items[0].id;
    let press = async |action: &str, value: String| {
        let action = json!({"action_id": action, "value": value, "selected_option": {"value": value}});
        let payload = json!({"type": "block_actions", "user": {"id": "U7"}, "actions": [action]}).to_string();
        let form: String = form_urlencoded::byte_serialize(payload.as_bytes()).collect();
        say(&world, "/slack/interaction", format!("payload={form}"), SECRET, 0).await.expect(200)
    };
    press("ordo_acknowledge", id.to_string()).await;
    press("ordo_status", format!("{id}:resolved")).await;
    press("ordo_status", format!("{id}:mitigating")).await;
    press("ordo_acknowledge", uuid::Uuid::nil().to_string()).await;
    let newest = world.engine.queries().newest_of("slack:C1:17.5").await.unwrap().unwrap();
    assert_eq!(newest.status, IncidentStatus::Resolved);
    assert_eq!(newest.acknowledged.as_ref().unwrap().by.actor, "slack:U7");
}

#[tokio::test]
async fn whoever_does_not_sign_as_slack_does_is_refused() {
    let world = world().await;
    let body = mention("Ev1").to_string();
    for path in ["/slack/events", "/slack/interaction"] {
        say(&world, path, body.clone(), "another", 0).await.refused(401, "slack_signature_invalid");
        say(&world, path, body.clone(), SECRET, 302).await.refused(401, "slack_signature_invalid");
        say(&world, path, body.clone(), SECRET, -302).await.refused(401, "slack_signature_invalid");
        let bare = Request::post(path).body(Body::from(body.clone())).unwrap();
        world.send(bare).await.refused(401, "slack_signature_invalid");
    }
    assert!(world.engine.queries().incidents(&IncidentFilter::default(), None, 1).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn what_is_no_request_of_slacks_is_refused_although_it_is_signed() {
    let world = world().await;
    for path in ["/slack/events", "/slack/interaction"] {
        say(&world, path, "nonsense".into(), SECRET, 0).await.refused(422, "invalid_body");
    }
}

#[tokio::test]
async fn without_a_secret_nothing_is_believed() {
    let world = World::new().await;
    let answer = event(&world, mention("Ev1")).await.refused(404, "slack_not_configured");
    assert!(answer["detail"].as_str().unwrap().contains("slack.signing_secret"));
}
