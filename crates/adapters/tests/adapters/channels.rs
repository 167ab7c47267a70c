//! Channels of the store, of each kind, against doubles of those they send to.

use std::sync::Arc;

use ordo_adapters::channel::ChannelTransport;
use ordo_adapters::slack::api::Api;
use ordo_adapters::webhook::signing::SigningKey;
use ordo_egress_guard::{Guard, Guarded};
use ordo_engine::EngineOptions;
use ordo_engine::clock::SystemClock;
use ordo_engine::secrets::{SecretText, Vault};
use ordo_engine::sender::Senders;
use ordo_engine::testing::incidents::{anna, is_delivered};
use ordo_engine::testing::{World, options};
use ordo_model::channel::{Channel, ChannelCommand, ChannelSettings, ChannelTarget};
use ordo_model::incident::{Escalation, IncidentCommand, Severity, StartIncident};
use ordo_model::notification::{Notification, NotificationCommand, NotificationState};

use crate::double::receiver::Receiver;
use crate::double::slack::{Slack, TOKEN};
use crate::double::smtp::Smtp;

/// A world whose channels may reach this machine, or not.
async fn world(allow: &[&str], slack: &str) -> World {
    let senders = Senders::default();
    let world = World::with(EngineOptions { senders: senders.clone(), ..options() }).await;
    let allow = allow.iter().map(|entry| entry.parse().unwrap()).collect();
    senders.open_channels_with(Arc::new(ChannelTransport {
        guarded: Guarded::new(Guard::new("webhooks.allow", allow)),
        vault: Vault::new(world.engine.queries().clone(), world.engine.secrets().keyring().clone()),
        clock: Arc::new(SystemClock),
        slack: Api::new(slack, "").unwrap(),
    }));
    world
}

const NO_SLACK: &str = "http://127.0.0.1:1/api";

async fn put(world: &World, secret: &str, value: &str) {
    world.engine.secrets().put(secret, &SecretText::new(value.to_owned())).await.unwrap();
}

fn settings(target: ChannelTarget, events: &[&str]) -> ChannelSettings {
    let events = events.iter().map(|text| text.parse().unwrap()).collect();
    ChannelSettings { target, events, label: None, description: None }
}

async fn add(world: &World, name: &str, target: ChannelTarget, events: &[&str]) {
    let command = ChannelCommand::Add { name: name.to_owned(), settings: settings(target, events) };
    world.engine.command::<Channel>(Channel::id(name), command).await.unwrap();
}

fn webhook(url: &str) -> ChannelTarget {
    ChannelTarget::Webhook { url: format!("{url}/hook"), secret: "key".to_owned() }
}

/// Why it was given up.
fn reason(notification: &Notification) -> &str {
    assert!(matches!(notification.state, NotificationState::DeadLettered { .. }), "{notification:?}");
    notification.last_error.as_deref().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_signed_with_the_key_that_the_secret_has_at_that_moment() {
    let world = world(&["127.0.0.1"], NO_SLACK).await;
    let (receiver, url) = Receiver::start().await;
    let keys = [SigningKey::random().unwrap().reveal(), SigningKey::random().unwrap().reveal()];
    receiver.trusts(&[&keys[0], &keys[1]]);
    put(&world, "key", &keys[0]).await;
    add(&world, "ops", webhook(&url), &["incident.*"]).await;
    let id = world.incident("Checkout is down", None).await;
    world.settled(1).await;
    put(&world, "key", &keys[1]).await;
    world.change(id, IncidentCommand::SetSeverity { severity: Severity::Sev1, by: anna() }).await;
    assert!(world.settled(2).await.iter().all(is_delivered));
    let signed: Vec<Vec<bool>> = receiver.taken().into_iter().map(|taken| taken.signed_by).collect();
    assert_eq!(signed, [[true, false], [false, true]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_that_is_changed_is_sent_through_as_it_is_then() {
    let world = world(&["127.0.0.1"], NO_SLACK).await;
    let ((first, first_url), (second, second_url)) = (Receiver::start().await, Receiver::start().await);
    put(&world, "key", &SigningKey::random().unwrap().reveal()).await;
    add(&world, "ops", webhook(&first_url), &["incident.*"]).await;
    let id = world.incident("Checkout is down", None).await;
    world.settled(1).await;
    let change = ChannelCommand::Change { settings: settings(webhook(&second_url), &["incident.severity_set"]) };
    world.engine.command::<Channel>(Channel::id("ops"), change).await.unwrap();
    world.change(id, IncidentCommand::Acknowledge { by: anna() }).await;
    world.change(id, IncidentCommand::SetSeverity { severity: Severity::Sev1, by: anna() }).await;
    world.published(id).await;
    world.settled(2).await;
    assert_eq!((first.taken().len(), second.taken().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_broken_channel_cannot_send_is_kept_with_the_reason_and_goes_out_when_it_is_repaired() {
    let world = world(&["127.0.0.1"], NO_SLACK).await;
    let (receiver, url) = Receiver::start().await;
    put(&world, "key", &SigningKey::random().unwrap().reveal()).await;
    add(&world, "ops", webhook(&url), &["incident.*"]).await;
    world.engine.secrets().remove("key").await.unwrap();
    world.incident("Checkout is down", None).await;
    let dead = world.settled(1).await.remove(0);
    assert!(reason(&dead).contains("ordo secret set key"), "{dead:?}");
    put(&world, "key", "not a key").await;
    let id = Notification::id(&dead.message, "ops");
    world.engine.command::<Notification>(id, NotificationCommand::Replay).await.unwrap();
    let dead = world.until("it is given up again", async || {
        let one = world.engine.queries().object::<Notification>(id).await.unwrap().unwrap().value;
        (!one.is_waiting() && reason(&one).contains("cannot be used")).then_some(one)
    });
    assert_eq!(dead.await.attempts, 1);
    put(&world, "key", &SigningKey::random().unwrap().reveal()).await;
    world.engine.command::<Notification>(id, NotificationCommand::Replay).await.unwrap();
    world.until("it is delivered", async || (receiver.taken().len() == 1).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_of_this_machine_are_not_reached_unless_the_configuration_allows_it() {
    let world = world(&[], NO_SLACK).await;
    let ((receiver, url), (smtp, server)) = (Receiver::start().await, Smtp::start().await);
    put(&world, "key", &SigningKey::random().unwrap().reveal()).await;
    put(&world, "address", &format!("{url}/hook")).await;
    add(&world, "signed", webhook(&url), &["incident.*"]).await;
    add(&world, "lines", ChannelTarget::SlackWebhook { secret: "address".to_owned() }, &["incident.*"]).await;
    add(&world, "mail", mail(&server), &["incident.*"]).await;
    world.incident("Checkout is down", None).await;
    for dead in world.settled(3).await {
        assert!(reason(&dead).contains("webhooks.allow in the configuration can allow it"), "{dead:?}");
    }
    assert!(receiver.taken().is_empty() && smtp.mails().is_empty());
}

fn mail(server: &str) -> ChannelTarget {
    ChannelTarget::Email {
        server: server.to_owned(),
        from: "Ordo <ordo@example.com>".to_owned(),
        to: vec!["ops@example.com".to_owned()],
        secret: None,
    }
}

/// An incident with a chain of one step.
async fn escalated(world: &World, step: &str) {
    let escalation = Some(Escalation { steps: vec![step.parse().unwrap()], ack_timeout: None });
    let start = StartIncident { escalation, ..ordo_engine::testing::incidents::start("Checkout is down", None) };
    world.engine.start_incident(start, |_| ordo_engine::CommitExtras::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_of_a_chain_sends_mail_through_the_channel_that_it_names() {
    let world = world(&["127.0.0.1"], NO_SLACK).await;
    let (smtp, server) = Smtp::start().await;
    add(&world, "on-call", mail(&server), &[]).await;
    escalated(&world, "lead@example.com via on-call").await;
    let sent = world.settled(1).await.remove(0);
    assert!(is_delivered(&sent), "{sent:?}");
    let mails = smtp.mails();
    assert_eq!((mails.len(), mails[0].to.as_slice()), (1, ["lead@example.com".to_owned()].as_slice()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slack_channel_shows_a_card_and_says_where_the_step_sends_it() {
    let (slack, url) = Slack::start().await;
    let world = world(&[], &url).await;
    put(&world, "token", TOKEN).await;
    let target = ChannelTarget::Slack { channel: "#ops".to_owned(), secret: "token".to_owned() };
    add(&world, "ops", target, &["incident.*"]).await;
    escalated(&world, "C0NCALL12 via ops").await;
    assert!(world.settled(2).await.iter().all(is_delivered));
    assert_eq!(slack.cards().len(), 1);
    let posted: Vec<_> = slack.calls().into_iter().map(|(_, message)| message["channel"].clone()).collect();
    assert!(posted.contains(&"C0NCALL12".into()), "{posted:?}");
    put(&world, "token", "xoxb-revoked").await;
    world.incident("Search is down", None).await;
    let all = world.settled(3).await;
    let dead = all.iter().find(|notification| !is_delivered(notification)).unwrap();
    assert!(reason(dead).contains("invalid_auth") && !reason(dead).contains("xoxb"), "{dead:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_that_is_removed_gives_up_what_waits_for_it_and_a_new_one_of_its_name_takes_it() {
    let world = world(&["127.0.0.1"], NO_SLACK).await;
    let (receiver, url) = Receiver::start().await;
    put(&world, "key", &SigningKey::random().unwrap().reveal()).await;
    receiver.answers(503);
    add(&world, "ops", webhook(&url), &["incident.*"]).await;
    let incident = world.incident("Checkout is down", None).await;
    world.change(incident, IncidentCommand::Acknowledge { by: anna() }).await;
    let tried = async || world.notifications().await.iter().any(|one| one.attempts == 1).then_some(());
    world.until("the first was tried", tried).await;
    world.engine.command::<Channel>(Channel::id("ops"), ChannelCommand::Remove).await.unwrap();
    let why = ordo_engine::channels::gone("ops");
    assert_eq!(world.engine.give_up_waiting("ops", &why).await.unwrap(), 2);
    for dead in world.settled(2).await {
        assert!(reason(&dead).contains("no channel \"ops\" any more"), "{dead:?}");
    }
    receiver.answers(204);
    add(&world, "ops", webhook(&url), &["incident.*"]).await;
    for dead in world.notifications().await {
        let id = Notification::id(&dead.message, "ops");
        world.engine.command::<Notification>(id, NotificationCommand::Replay).await.unwrap();
    }
    world
        .until("both are delivered", async || {
            let all = world.notifications().await;
            all.iter().all(is_delivered).then_some(())
        })
        .await;
    world.assert_clean().await;
}
