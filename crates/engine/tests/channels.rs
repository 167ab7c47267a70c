//! What people set up while the engine runs: escalation chains.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use ordo_engine::escalations::NamedEscalation;
use ordo_engine::testing::incidents::start;
use ordo_engine::testing::{World, manual, options};
use ordo_engine::{CommitExtras, EngineOptions};
use ordo_model::Kind;
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
