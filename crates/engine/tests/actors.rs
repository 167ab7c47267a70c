//! Who brought an event about, on a real engine: what was asked for carries its actor, everything else is Ordo's own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use ordo_engine::actor::actor_of;
use ordo_engine::audit::AuditFilter;
use ordo_engine::deliveries::{Arrival, Received};
use ordo_engine::testing::{World, manual};
use ordo_model::job::{Command, RunStatus};
use ordo_model::{Actor, ActorSource, EntityId, JobId, Kind};
use ordo_store::EventActor;
use serde_json::json;

fn ci() -> Actor {
    let actor = Actor::new("ci", ActorSource::Cli).with_request(Some("r-1".into()));
    actor.on_behalf_of(Some("ana".into())).unwrap()
}

/// The events of a stream with their actors, without the bookkeeping.
async fn recorded(world: &World, entity: EntityId) -> Vec<(String, Actor)> {
    let (events, _) = world.engine.queries().history(entity, 0, 100).await.unwrap();
    let shown = events.iter().filter(|event| event.kind != "Published");
    shown.map(|event| (event.kind.clone(), actor_of(event).unwrap())).collect()
}

#[tokio::test]
async fn what_somebody_asks_for_is_theirs_and_what_follows_by_itself_is_ordos() {
    let world = World::new().await;
    let definition = serde_json::from_value(manual("noop", &json!({}))).unwrap();
    let job = world.engine.signed_by(&ci()).schedule(definition, false).await.unwrap().job.id;
    let boss = Actor::new("boss", ActorSource::Page);
    let trigger = Command::Trigger { tool_input: None, traceparent: None };
    let run = world.engine.signed_by(&boss).submit(job, trigger).await.unwrap().run_begun().unwrap().id;
    assert!(matches!(world.over(run).await.status, RunStatus::Completed { .. }));
    let expected = [
        ("JobScheduled".to_owned(), ci()),
        ("JobTriggered".to_owned(), boss),
        ("JobStarted".to_owned(), Actor::ordo()),
        ("JobExecuted".to_owned(), Actor::ordo()),
    ];
    assert_eq!(recorded(&world, job.into()).await, expected);
    let world = world.kill().await;
    assert_eq!(recorded(&world, job.into()).await, expected, "the actor is as durable as its event");
    world.assert_clean().await;
}

#[tokio::test]
async fn what_ordo_does_by_itself_is_stored_without_a_byte() {
    let world = World::new().await;
    let job = world.add(manual("noop", &json!({}))).await.id;
    let (events, _) = world.engine.queries().history(job.into(), 0, 100).await.unwrap();
    assert!(events.iter().all(|event| event.actor == EventActor::Ordo), "{events:?}");
}

#[tokio::test]
async fn a_delivery_and_the_run_it_brings_about_are_the_hooks() {
    let world = World::new().await;
    let listener =
        json!({ "label": "listener", "tool_name": "noop", "trigger": { "type": "webhook", "hook": "push" } });
    let job: JobId = world.add(listener).await.id;
    let arrival = Arrival {
        hook: "push".into(),
        sender_id: None,
        replay_mark: None,
        headers: Vec::new(),
        content_type: None,
        body: Bytes::from_static(b"{}"),
        passes: true,
    };
    let hook = Actor::new("push", ActorSource::Hook).with_request(Some("r-2".into()));
    let Received::New(id) = world.engine.signed_by(&hook).receive(arrival).await.unwrap() else { panic!("it is new") };
    let by_hook = (String::from("JobTriggered"), Actor::new("push", ActorSource::Hook));
    world
        .until("the job was triggered", async || recorded(&world, job.into()).await.contains(&by_hook).then_some(()))
        .await;
    let delivered = recorded(&world, EntityId { kind: Kind::Delivery, id }).await;
    assert_eq!(delivered[0].1, hook, "{delivered:?}");
}

#[tokio::test]
#[should_panic(expected = "a command that nobody gives")]
async fn a_command_that_nobody_gives_is_a_bug() {
    let world = World::new().await;
    let job = world.add(manual("noop", &json!({}))).await.id;
    drop(world.engine.clone().unsigned().submit(job, Command::Pause { reason: None }).await);
}

#[tokio::test]
async fn the_audit_has_what_somebody_changed_and_nothing_that_ran() {
    let world = World::new().await;
    let definition = serde_json::from_value(manual("noop", &json!({}))).unwrap();
    let job = world.engine.signed_by(&ci()).schedule(definition, false).await.unwrap().job.id;
    let boss = Actor::new("boss", ActorSource::Page);
    let signed = world.engine.signed_by(&boss);
    signed.submit(job, Command::Pause { reason: None }).await.unwrap();
    signed.submit(job, Command::Resume).await.unwrap();
    let trigger = Command::Trigger { tool_input: None, traceparent: None };
    let run = signed.submit(job, trigger).await.unwrap().run_begun().unwrap().id;
    world.over(run).await;
    world.engine.submit(job, Command::Pause { reason: None }).await.unwrap();
    let queries = world.engine.queries();
    let all = queries.audit(&AuditFilter::default(), None, 10).await.unwrap().items;
    let shown: Vec<(&str, &str)> = all.iter().map(|one| (one.event.as_str(), one.actor.name.as_str())).collect();
    assert_eq!(shown, [("JobResumed", "boss"), ("JobPaused", "boss"), ("JobScheduled", "ci")]);
    assert!(all.iter().all(|one| one.entity == job.into() && one.name == "test"), "{all:?}");
    let by_ana = AuditFilter { actor: Some("ana".into()), ..AuditFilter::default() };
    assert_eq!(queries.audit(&by_ana, None, 10).await.unwrap().items.len(), 1, "whom it was done for counts too");
    let first = queries.audit(&AuditFilter::default(), None, 2).await.unwrap();
    let rest = queries.audit(&AuditFilter::default(), first.next.as_ref(), 2).await.unwrap();
    assert_eq!((first.items.len(), rest.items), (2, all[2..].to_vec()), "the cursor goes on");
    let of_hooks = AuditFilter { kind: Some(Kind::Hook), ..AuditFilter::default() };
    assert!(queries.audit(&of_hooks, None, 10).await.unwrap().items.is_empty());
    let before = AuditFilter { until: Some(all[0].at), ..AuditFilter::default() };
    assert!(queries.audit(&before, None, 10).await.unwrap().items.iter().all(|one| one.at < all[0].at));
    world.assert_clean().await;
}
