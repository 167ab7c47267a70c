//! What people set up while the engine runs: escalation chains and channels.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ordo_engine::channels::ChannelOpener;
use ordo_engine::escalations::NamedEscalation;
use ordo_engine::testing::incidents::start;
use ordo_engine::testing::recorder::Recorder;
use ordo_engine::testing::{World, manual, options};
use ordo_engine::{CommitExtras, EngineOptions, Sender};
use ordo_model::Kind;
use ordo_model::channel::{Channel, ChannelCommand, ChannelSettings, ChannelTarget};
use ordo_model::incident::{Escalation, EscalationChain, EscalationChainCommand, Incident, StartIncident};
use serde_json::json;

fn steps(lines: &[&str]) -> Escalation {
    Escalation { steps: lines.iter().map(|line| line.parse().unwrap()).collect(), ack_timeout: None }
}

async fn add(world: &World, name: &str, lines: &[&str]) {
    let command = EscalationChainCommand::Add { name: name.to_owned(), escalation: steps(lines) };
    world.engine.command::<EscalationChain>(EscalationChain::id(name), command).await.unwrap();
}

fn configured(name: &str, lines: &[&str]) -> EngineOptions {
    EngineOptions { escalations: BTreeMap::from([(name.to_owned(), steps(lines))]), ..options() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_the_store_is_taken_at_once_survives_a_crash_and_a_begun_incident_keeps_its_steps() {
    let world = World::new().await;
    assert_eq!(world.engine.escalation(None).await.unwrap(), None);
    add(&world, "default", &["ada", "1h bob"]).await;
    let escalation = world.engine.escalation(None).await.unwrap();
    assert_eq!(escalation, Some(steps(&["ada", "1h bob"])));
    let start = StartIncident { escalation, ..start("down", None) };
    let id = world.engine.start_incident(start, |_| CommitExtras::default()).await.unwrap().state.id;

    let change = EscalationChainCommand::Change { escalation: steps(&["cy"]) };
    world.engine.command::<EscalationChain>(EscalationChain::id("default"), change).await.unwrap();
    let world = world.kill().await;
    assert_eq!(world.engine.escalation(Some("default")).await.unwrap(), Some(steps(&["cy"])));
    assert_eq!(world.read(id).await.value.escalation.unwrap().policy, steps(&["ada", "1h bob"]));

    let remove = EscalationChainCommand::Remove;
    world.engine.command::<EscalationChain>(EscalationChain::id("default"), remove).await.unwrap();
    assert_eq!(world.engine.escalation(None).await.unwrap(), None);
    assert!(world.engine.escalation_chains().await.unwrap().is_empty());
    add(&world, "default", &["dan"]).await;
    assert_eq!(world.engine.escalation(None).await.unwrap(), Some(steps(&["dan"])), "the name is free again");
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_the_configuration_is_in_force_whatever_the_store_has_under_its_name() {
    let world = World::new().await;
    add(&world, "night", &["stored"]).await;
    add(&world, "day", &["stored"]).await;
    let world = world.restart_with(configured("night", &["configured"])).await;
    assert_eq!(world.engine.escalation(Some("night")).await.unwrap(), Some(steps(&["configured"])));
    let shown = |chain: &NamedEscalation| (chain.name().to_owned(), chain.stored().is_some(), chain.is_in_force());
    let all: Vec<_> = world.engine.escalation_chains().await.unwrap().iter().map(shown).collect();
    let expected = [("day", true, true), ("night", false, true), ("night", true, false)];
    assert_eq!(all, expected.map(|(name, stored, in_force)| (name.to_owned(), stored, in_force)));
    let world = world.restart_with(options()).await;
    assert_eq!(world.engine.escalation(Some("night")).await.unwrap(), Some(steps(&["stored"])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_incident_of_a_job_takes_the_chain_that_the_job_names_from_the_store() {
    let world = World::new().await;
    add(&world, "night", &["ada", "2h bob"]).await;
    let mut failing = manual("fail", &json!({}));
    failing["on_failure"] = json!({ "incident": { "severity": "sev2", "escalation": "night" } });
    let job = world.add(failing).await;
    world.trigger(job.id).await;
    let incident = world
        .until("the incident is there", async || {
            let all = world.engine.queries().store().entities(None, 1_000).await.unwrap();
            let (entity, _) = all.into_iter().find(|(entity, _)| entity.kind == Kind::Incident)?;
            world.engine.queries().object::<Incident>(entity.id).await.unwrap()
        })
        .await;
    assert_eq!(incident.value.escalation.unwrap().policy, steps(&["ada", "2h bob"]));
}

/// Makes recorders of channels, and remembers how often.
#[derive(Default)]
struct RecordingOpener(Mutex<Vec<(String, Arc<Recorder>)>>);

impl ChannelOpener for RecordingOpener {
    fn open(&self, channel: &Channel) -> Arc<dyn Sender> {
        let recorder = Recorder::new(channel.name.clone().leak()).shared();
        self.0.lock().unwrap().push((channel.name.clone(), recorder.clone()));
        recorder
    }
}

fn webhook(url: &str) -> ChannelSettings {
    let target = ChannelTarget::Webhook { url: url.to_owned(), secret: "key".to_owned() };
    ChannelSettings { target, events: vec!["*".parse().unwrap()], label: None, description: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sender_of_a_channel_is_made_once_for_each_version_and_found_again_after_a_crash() {
    let world = World::new().await;
    let opening = Arc::new(RecordingOpener::default());
    let made = || opening.0.lock().unwrap().len();
    world.engine.senders().open_channels_with(opening.clone());
    assert!(world.engine.sender("ops").await.unwrap().is_none());
    let order = async |world: &World, command| {
        world.engine.command::<Channel>(Channel::id("ops"), command).await.unwrap();
    };
    order(&world, ChannelCommand::Add { name: "ops".to_owned(), settings: webhook("https://a") }).await;
    for title in ["one", "two"] {
        let id = world.incident(title, None).await;
        world.published(id).await;
    }
    world.settled(2).await;
    assert_eq!(made(), 1, "it stands as it was");
    order(&world, ChannelCommand::Change { settings: webhook("https://b") }).await;
    assert!(world.engine.sender("ops").await.unwrap().is_some());
    assert_eq!(made(), 2);
    order(&world, ChannelCommand::Remove).await;
    assert!(world.engine.sender("ops").await.unwrap().is_none());
    order(&world, ChannelCommand::Add { name: "ops".to_owned(), settings: webhook("https://c") }).await;
    assert!(world.engine.sender("ops").await.unwrap().is_some());
    assert_eq!(made(), 3, "a name that is given again is another channel");

    let world = world.kill().await;
    world.engine.senders().open_channels_with(opening.clone());
    let id = world.incident("three", None).await;
    world.published(id).await;
    let all = world.settled(3).await;
    assert!(all.iter().all(|one| one.sender == "ops"));
    world.assert_clean().await;
}
