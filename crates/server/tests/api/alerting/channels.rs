//! Channels: which there are, and a message to try one out.

use std::sync::Arc;

use ordo_engine::testing::recorder::Recorder;
use ordo_engine::{SendError, Sent};
use serde_json::json;

use ordo_server::testing::World;

#[tokio::test]
async fn a_channel_is_tried_out_once_and_says_how_it_went() {
    let world = World::new().await;
    let slack = Recorder::new("slack").shared();
    world.engine.senders().register(slack.clone());
    let listed = world.get("/v1/channels").await.expect(200);
    let one = &listed["items"][0];
    assert_eq!(
        (&one["name"], &one["section"], &one["defined_in"]),
        (&json!("slack"), &json!("slack"), &json!("configuration"))
    );
    slack
        .plan([Ok(Sent { note: Some("ok".to_owned()), remember: None }), Err(SendError::passing("channel_not_found"))]);
    let sent = world.order("/v1/channels/slack/test").await.expect(200);
    assert_eq!(sent, json!({ "delivered": true, "note": "ok", "error": null }));
    let failed = world.order("/v1/channels/slack/test").await.expect(200);
    assert_eq!(failed, json!({ "delivered": false, "note": null, "error": "channel_not_found" }));
    assert_eq!(slack.count(), 2, "nothing is tried again");
    let waiting = world.get("/v1/notifications?state=waiting").await.expect(200);
    assert_eq!(waiting["items"], json!([]), "and nothing is stored");
    assert_eq!(world.get("/v1/incidents").await.expect(200)["items"], json!([]));
    world.order("/v1/channels/pigeon/test").await.refused(404, "channel_not_found");
}

/// A subscription gets tests of its own form, not one that looks like an incident.
#[tokio::test]
async fn a_subscription_is_no_channel() {
    let world = World::new().await;
    let name = "webhook:0199c000-0000-7000-8000-000000000001";
    world.engine.senders().register(Arc::new(Recorder::new(name)));
    assert_eq!(world.get("/v1/channels").await.expect(200)["items"], json!([]));
    world.order(&format!("/v1/channels/{name}/test")).await.refused(404, "channel_not_found");
    assert_eq!(world.get("/v1/escalations").await.expect(200)["items"], json!([]));
}
