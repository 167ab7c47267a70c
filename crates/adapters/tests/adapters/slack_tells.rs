//! What Slack shows: one card kept up to date, the timeline in its thread, whatever goes wrong on the way.

use std::sync::Arc;
use std::time::Duration;

use ordo_adapters::slack::api::Api;
use ordo_adapters::slack::sender::SlackSender;
use ordo_engine::testing::World;
use ordo_engine::testing::incidents::{anna, is_delivered, sending};
use ordo_model::Millis;
use ordo_model::incident::{IncidentCommand, IncidentStatus, Severity};
use serde_json::Value;

use crate::double::Mischief;
use crate::double::slack::{Slack, TOKEN};

fn sender(url: &str, token: &str, channel: &str) -> SlackSender {
    let events = vec!["incident.*".parse().unwrap()];
    SlackSender { name: "slack".into(), api: Api::new(url, token).unwrap(), channel: channel.into(), events }
}

async fn world() -> (Slack, World) {
    let (slack, url) = Slack::start().await;
    (slack, World::notifying(sender(&url, TOKEN, "#ops")).await)
}

fn only(mut cards: Vec<Value>) -> Value {
    assert_eq!(cards.len(), 1, "{cards:#?}");
    cards.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incident_has_one_card_that_follows_it_and_a_thread_with_its_timeline() {
    let (slack, world) = world().await;
    let id = world.incident("Checkout is down", None).await;
    world.change(id, IncidentCommand::SetSeverity { severity: Severity::Sev1, by: anna() }).await;
    world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    world.change(id, IncidentCommand::AddNote { text: "rolled back <@U1>".into(), by: anna() }).await;
    let resolved = IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by: anna() };
    world.change(id, resolved).await;
    assert!(world.settled(5).await.iter().all(is_delivered));

    let card = only(slack.cards());
    let began = world.read(id).await.created_at;
    let shown = serde_json::to_string_pretty(&card["blocks"]).unwrap().replace(&id.to_string(), "[incident]");
    let shown = shown.replace(&(began.ms() / 1_000).to_string(), "[seconds]");
    let shown = shown.replace(&began.to_jiff().strftime("%Y-%m-%d %H:%M").to_string(), "[time]");
    insta::assert_snapshot!("card_resolved", shown);
    let thread = slack.thread(card["ts"].as_str().unwrap());
    insta::assert_json_snapshot!("thread", thread);
    let (methods, channels): (Vec<_>, Vec<_>) =
        slack.calls().into_iter().map(|(method, arguments)| (method, arguments["channel"].clone())).unzip();
    assert_eq!(methods[0], "chat.postMessage");
    assert_eq!(methods.iter().filter(|method| *method == "chat.update").count(), 4);
    assert_eq!(channels[0], "#ops");
    assert!(channels[1..].iter().all(|channel| channel == "C0PS"), "after the first, by its id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_card_is_found_again_after_a_restart() {
    let (slack, world) = world().await;
    let id = world.incident("Checkout is down", None).await;
    world.settled(1).await;
    let before = only(slack.cards());
    let world = world.restart().await;
    world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    world.settled(2).await;
    let after = only(slack.cards());
    assert_eq!(after["ts"], before["ts"]);
    assert!(after["blocks"].to_string().contains("by anna"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incident_that_began_in_a_thread_is_reported_there() {
    let (slack, world) = world().await;
    let id = world.incident("server down!", Some("slack:C123:17.5")).await;
    world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    world.settled(2).await;
    let card = only(slack.cards());
    assert_eq!((card["channel"].as_str(), card["thread_ts"].as_str()), (Some("C123"), Some("17.5")));
    assert_eq!(slack.thread("17.5").len(), 2, "the card and a line of the timeline");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_wrong_the_card_is_right_in_the_end() {
    let (slack, world) = world().await;
    slack.plan(&[Mischief::Status(500), Mischief::Cut, Mischief::Slow(Duration::from_millis(50))]);
    let id = world.incident("Checkout is down", None).await;
    world.change(id, IncidentCommand::SetSeverity { severity: Severity::Sev1, by: anna() }).await;
    let notifications = world.settled(2).await;
    assert!(notifications.iter().all(is_delivered));
    let first = notifications.iter().find(|notification| notification.message.version == 1).unwrap();
    assert_eq!(first.attempts, 3, "{first:?}");
    assert!(only(slack.cards())["blocks"].to_string().contains("sev1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_answer_was_lost_is_made_again() {
    let (slack, world) = world().await;
    let id = world.incident("Checkout is down", None).await;
    world.settled(1).await;
    slack.plan(&[Mischief::CutAfter]);
    world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    assert!(world.settled(2).await.iter().all(is_delivered));
    let card = only(slack.cards());
    assert_eq!(slack.thread(card["ts"].as_str().unwrap()).len(), 1, "an update may be made twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slack_is_left_alone_for_as_long_as_it_asks() {
    let (slack, url) = Slack::start().await;
    let world = World::standing(sending(&[Arc::new(sender(&url, TOKEN, "#ops"))])).await;
    slack.plan(&[Mischief::Busy(3)]);
    world.incident("Checkout is down", None).await;
    let has_failed = async || world.notifications().await.pop().filter(|notification| notification.attempts == 1);
    world.until("the first try is recorded", has_failed).await;
    world.advance(Millis::from_ms(2_999)).await;
    assert_eq!(slack.requests(), 1, "three seconds are not over");
    world.advance(Millis::from_ms(1)).await;
    let notifications = world.settled(1).await;
    assert_eq!((notifications[0].attempts, slack.requests()), (2, 2));
    assert!(notifications[0].last_error.as_ref().unwrap().contains("wait 3s"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_never_work_is_given_up_at_once_with_what_to_do() {
    let (slack, url) = Slack::start().await;
    let world = World::notifying(sender(&url, "xoxb-wrong", "#ops")).await;
    world.incident("Checkout is down", None).await;
    let notification = world.settled(1).await.remove(0);
    assert!(!is_delivered(&notification) && notification.attempts == 1);
    assert!(notification.last_error.unwrap().contains("the token is not one of this app"));
    assert!(slack.calls().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_that_somebody_deleted_is_posted_anew() {
    let (slack, world) = world().await;
    let id = world.incident("Checkout is down", None).await;
    world.settled(1).await;
    slack.forget();
    world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    assert!(world.settled(2).await.iter().all(is_delivered));
    assert!(only(slack.cards())["blocks"].to_string().contains("by anna"));
    let remembered = async || world.read(id).await.remembered.get("slack").cloned();
    let remembered = world.until("it is remembered", remembered).await;
    assert_eq!(remembered["ts"], only(slack.cards())["ts"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_that_grows_when_it_is_escaped_is_still_taken() {
    let (slack, world) = world().await;
    world.incident(&"<&>".repeat(54), None).await;
    let notification = world.settled(1).await.remove(0);
    assert!(is_delivered(&notification), "{:?}", notification.last_error);
    assert!(only(slack.cards())["blocks"][0]["text"]["text"].as_str().unwrap().ends_with("…"));
}
