//! What Slack's requests do to incidents.

use ordo_adapters::slack::events::{self, Mention, SlackEvent};
use ordo_adapters::slack::interactions::{Interaction, InteractionAction};
use ordo_adapters::slack::receiver;
use ordo_engine::SubmitError;
use ordo_engine::incidents::IncidentFilter;
use ordo_engine::testing::World;
use ordo_model::incident::{IncidentEvent, IncidentRefusal, IncidentSource, IncidentStatus, Severity};
use serde_json::json;
use uuid::Uuid;

fn mention(event: &str, ts: &str, thread: Option<&str>, text: &str) -> Mention {
    let mut event_body =
        json!({"type": "app_mention", "user": "U1", "channel": "C1", "ts": ts, "text": format!("<@UBOT> {text}")});
    if let Some(thread) = thread {
        event_body["thread_ts"] = thread.into();
    }
    let body = json!({"type": "event_callback", "event_id": event, "event": event_body});
    match events::read(body.to_string().as_bytes()).unwrap() {
        SlackEvent::Mention(mention) => mention,
        other => panic!("{other:?}"),
    }
}

fn press(incident: Uuid, deed: InteractionAction) -> Interaction {
    Interaction { incident, user: "U2".into(), deed }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_by_name_starts_the_incident_of_its_thread_once() {
    let world = World::new().await;
    let down = mention("Ev1", "17.5", None, "server down!");
    let id = receiver::mentioned(&world.engine, &down, None).await.unwrap().unwrap();
    assert_eq!(receiver::mentioned(&world.engine, &down, None).await.unwrap(), None, "Slack delivers again");
    let incident = world.read(id).await;
    assert_eq!((incident.title.as_str(), incident.description.as_str()), ("server down!", ""));
    assert_eq!((incident.started_by.actor.as_str(), incident.started_by.source), ("slack:U1", IncidentSource::Slack));
    assert_eq!(incident.identifier.as_deref(), Some("slack:C1:17.5"));

    let more = mention("Ev2", "18.0", Some("17.5"), "it is the database");
    assert_eq!(receiver::mentioned(&world.engine, &more, None).await.unwrap(), Some(id));
    assert_eq!(receiver::mentioned(&world.engine, &more, None).await.unwrap(), None);
    let timeline = world.engine.queries().timeline(id).await.unwrap();
    assert_eq!(timeline.len(), 2);
    assert!(matches!(&timeline[1].event, IncidentEvent::NoteAdded { text, .. } if text == "it is the database"));
    let all = world.engine.queries().incidents(&IncidentFilter::default(), None, 10).await.unwrap();
    assert_eq!(all.items.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_call_is_cut_into_a_title_and_a_description() {
    let world = World::new().await;
    let text = format!("checkout ä is down\nsince 12:00, {}", "x".repeat(20_000));
    let id = receiver::mentioned(&world.engine, &mention("Ev1", "1.0", None, &text), None).await.unwrap().unwrap();
    let incident = world.read(id).await;
    assert_eq!(incident.title, "checkout ä is down");
    assert!(incident.description.starts_with("checkout ä is down\nsince"));
    let silent = receiver::mentioned(&world.engine, &mention("Ev2", "2.0", None, ""), None).await.unwrap().unwrap();
    assert_eq!(world.read(silent).await.title, "An incident in Slack");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buttons_and_menus_change_the_incident_in_the_name_of_who_pressed_them() {
    let world = World::new().await;
    let id = world.incident("Checkout is down", None).await;
    for deed in [
        InteractionAction::Acknowledge,
        InteractionAction::AssignToMe,
        InteractionAction::Severity("sev1".into()),
        InteractionAction::Status("mitigating".into()),
        InteractionAction::Acknowledge,
    ] {
        receiver::pressed(&world.engine, &press(id, deed), None).await.unwrap();
    }
    let incident = world.read(id).await;
    assert_eq!(incident.acknowledged.as_ref().unwrap().by.actor, "slack:U2");
    assert_eq!(incident.assignee.as_deref(), Some("slack:U2"));
    assert_eq!((incident.severity, incident.status), (Severity::Sev1, IncidentStatus::Mitigating));
    assert_eq!(world.engine.queries().timeline(id).await.unwrap().len(), 5, "the second time changes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_possible_is_refused() {
    let world = World::new().await;
    let id = world.incident("Checkout is down", None).await;
    let refused = async |pressed: Interaction| match receiver::pressed(&world.engine, &pressed, None).await {
        Err(SubmitError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(press(Uuid::from_u128(9), InteractionAction::Acknowledge)).await,
        IncidentRefusal::NoSuchIncident
    );
    assert!(matches!(
        refused(press(id, InteractionAction::Severity("sev9".into()))).await,
        IncidentRefusal::Invalid(_)
    ));
    assert!(matches!(refused(press(id, InteractionAction::Status("gone".into()))).await, IncidentRefusal::Invalid(_)));
    receiver::pressed(&world.engine, &press(id, InteractionAction::Status("resolved".into())), None).await.unwrap();
    let ended = refused(press(id, InteractionAction::Acknowledge)).await;
    assert!(matches!(ended, IncidentRefusal::Ended { status: IncidentStatus::Resolved }));
}
