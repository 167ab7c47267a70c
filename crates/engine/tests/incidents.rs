//! Incidents on a real store: acknowledged when durable, sent in order, to each sender by itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use ordo_engine::incidents::IncidentFilter;
use ordo_engine::object_queries::IndexRange;
use ordo_engine::testing::incidents::{anna, note, sending, start};
use ordo_engine::testing::recorder::Recorder;
use ordo_engine::testing::{World, manual};
use ordo_engine::{CommitExtras, EngineOptions, SendError, Sender, Sent};
use ordo_model::incident::{
    By, Escalation, EscalationStep, Incident, IncidentCommand, IncidentEvent, IncidentSource, IncidentStatus, Severity,
    StartIncident,
};
use ordo_model::notification::{Notification, NotificationCommand};
use ordo_model::object::Object;
use ordo_model::silence::{Silence, SilenceCommand};
use ordo_model::{EntityId, Kind, Millis};
use ordo_store::Direction;
use serde_json::json;
use uuid::Uuid;

fn options(senders: &[&Arc<Recorder>]) -> EngineOptions {
    let senders: Vec<Arc<dyn Sender>> = senders.iter().map(|sender| Arc::clone(sender) as Arc<dyn Sender>).collect();
    sending(&senders)
}

async fn world(senders: &[&Arc<Recorder>]) -> World {
    World::with(options(senders)).await
}

async fn begin(world: &World, identifier: Option<&str>) -> Uuid {
    world.incident("checkout is down", identifier).await
}

fn entity(id: Uuid) -> EntityId {
    EntityId { kind: Kind::Incident, id }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_goes_to_every_sender_in_order_and_once() {
    let (slack, inbox_signal) = (Recorder::new("slack").shared(), Recorder::new("inbox_signal").shared());
    let world = world(&[&slack, &inbox_signal]).await;
    let id = begin(&world, None).await;
    for command in [
        IncidentCommand::SetSeverity { severity: Severity::Sev1, by: anna() },
        note("looking"),
        IncidentCommand::Acknowledge { by: anna() },
        IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by: anna() },
    ] {
        world.engine.command::<Incident>(id, command).await.unwrap();
    }
    let expected = ["IncidentStarted", "SeveritySet", "NoteAdded", "Acknowledged", "StatusUpdated"];
    for sender in [&slack, &inbox_signal] {
        sender.until(|sender| sender.count() >= 5).await;
        assert_eq!(sender.delivered_events(), expected);
        let keys: std::collections::BTreeSet<String> = sender.tries().into_iter().map(|one| one.key).collect();
        assert_eq!(keys.len(), 5, "one key for each event");
    }
    let incident = world.published(id).await;
    assert!(incident.published.unwrap().through >= 5);
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_identifier_has_one_incident_at_a_time() {
    let world = world(&[]).await;
    let starts = (0..50).map(|_| begin(&world, Some("thread-1")));
    let mut ids = futures_util::future::join_all(starts).await;
    ids.dedup();
    assert_eq!(ids.len(), 1, "whoever starts it meets the others");
    let resolve = IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by: anna() };
    world.engine.command::<Incident>(ids[0], resolve).await.unwrap();
    let starts = (0..50).map(|_| begin(&world, Some("thread-1")));
    let mut next = futures_util::future::join_all(starts).await;
    next.dedup();
    assert_eq!(next.len(), 1);
    assert_ne!(next[0], ids[0], "the one that ended keeps its own story");
    let newest = world.engine.queries().newest_of("thread-1").await.unwrap().unwrap();
    assert_eq!((newest.id, newest.generation), (next[0], 2));
    world.published(next[0]).await;
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_sender_is_tried_again_and_then_parks_its_notification_in_nobodys_way() {
    let (good, bad) = (Recorder::new("good").shared(), Recorder::new("bad").shared());
    bad.plan((0..4).map(|_| Err(SendError::passing("502"))));
    let world = world(&[&good, &bad]).await;
    let id = begin(&world, None).await;
    world.engine.command::<Incident>(id, note("second")).await.unwrap();
    good.until(|good| good.delivered_events().len() == 2).await;
    bad.until(|bad| bad.delivered_events() == ["NoteAdded"]).await;
    let attempts: Vec<u32> = bad.tries().iter().map(|one| one.attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4, 1], "the first was given up before the second was tried");
    let dead_lettered = async || {
        let section = IndexRange { index: 0, prefix: &[2], after: None, order: Direction::Ascending, limit: 10 };
        let found = world.engine.queries().objects::<Notification>(&section).await.unwrap().items;
        (!found.is_empty()).then_some(found)
    };
    let dead_lettered = world.until("one is dead-lettered", dead_lettered).await;
    assert_eq!((dead_lettered.len(), dead_lettered[0].sender.as_str()), (1, "bad"));
    assert_eq!(dead_lettered[0].last_error.as_deref(), Some("502"));
    world.engine.command::<Notification>(dead_lettered[0].id, NotificationCommand::Replay).await.unwrap();
    bad.until(|bad| bad.delivered_events() == ["NoteAdded", "IncidentStarted"]).await;
    let keys: Vec<String> = bad.tries().into_iter().filter(|one| one.version == 1).map(|one| one.key).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "one key, however often it is tried");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_asks_for_time_gets_it_and_one_that_refuses_is_not_asked_again() {
    let slack = Recorder::new("slack").shared();
    slack.plan([
        Err(SendError::passing("429").after(Millis::from_ms(400))),
        Ok(Sent::default()),
        Err(SendError::permanent("no such channel")),
    ]);
    let world = World::standing(options(&[&slack])).await;
    let id = begin(&world, None).await;
    let has_failed = async || world.notifications().await.pop().filter(|notification| notification.attempts == 1);
    world.until("the first try is recorded", has_failed).await;
    world.advance(Millis::from_ms(399)).await;
    assert_eq!(slack.count(), 1, "it is left alone for as long as it asks");
    world.advance(Millis::from_ms(1)).await;
    slack.until(|slack| slack.delivered_events().len() == 1).await;
    world.engine.command::<Incident>(id, note("never heard")).await.unwrap();
    world.engine.command::<Incident>(id, note("heard")).await.unwrap();
    slack.until(|slack| slack.count() == 4).await;
    let versions: Vec<u64> = slack.tries().iter().map(|one| one.version).collect();
    assert!(versions[2] < versions[3], "{versions:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_is_reminded_of_what_it_asked_to_keep() {
    let slack = Recorder::new("slack").shared();
    slack.plan([Ok(Sent { note: None, remember: Some(json!({ "ts": "17.3" })) })]);
    let world = world(&[&slack]).await;
    let id = begin(&world, None).await;
    world.engine.command::<Incident>(id, note("more")).await.unwrap();
    slack.until(|slack| slack.count() == 2).await;
    let tries = slack.tries();
    assert_eq!((tries[0].remembered.clone(), tries[1].remembered.clone()), (None, Some(json!({ "ts": "17.3" }))));
    world.published(id).await;
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_acknowledged_is_lost_when_the_process_is_killed() {
    let slack = Recorder::new("slack").shared();
    slack.close();
    let mut world = world(&[&slack]).await;
    let mut ids = Vec::new();
    for round in 0..3 {
        for _ in 0..20 {
            ids.push(begin(&world, None).await);
        }
        for id in &ids {
            world.engine.command::<Incident>(*id, note(&format!("round {round}"))).await.unwrap();
        }
        // It dies while it sends.
        slack.until(|slack| slack.came() > 0).await;
        world = world.kill().await;
    }
    assert_eq!(slack.count(), 0, "no try came to its end");
    slack.open();
    let wanted: usize = 20 * (4 + 3 + 2);
    slack.until(|slack| slack.delivered().values().map(|v| distinct(v)).sum::<usize>() == wanted).await;
    for id in &ids {
        world.published(*id).await;
        let versions = &slack.delivered()[&entity(*id)];
        assert!(versions.is_sorted(), "{versions:?}");
    }
    world.assert_clean().await;
}

fn distinct(versions: &[u64]) -> usize {
    versions.iter().collect::<std::collections::BTreeSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incidents_are_listed_newest_first_by_what_they_are() {
    let world = world(&[]).await;
    let mut ids = Vec::new();
    for number in 0..7 {
        let severity = if number % 2 == 0 { Severity::Sev1 } else { Severity::Sev4 };
        let start = StartIncident { severity, ..start("checkout is down", None) };
        ids.push(world.engine.start_incident(start, |_| CommitExtras::default()).await.unwrap().state.id);
    }
    let resolve = IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by: anna() };
    world.engine.command::<Incident>(ids[0], resolve).await.unwrap();
    let list = async |filter: IncidentFilter| -> Vec<Uuid> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = world.engine.queries().incidents(&filter, after.as_ref(), 2).await.unwrap();
            found.extend(page.items.iter().map(|incident| incident.id));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    let all = list(IncidentFilter::default()).await;
    assert_eq!(all.len(), 7);
    let open = list(IncidentFilter { status: Some(IncidentStatus::Open), ..Default::default() }).await;
    assert_eq!(open.len(), 6);
    assert!(!open.contains(&ids[0]));
    let severity = Some(Severity::Sev1);
    assert_eq!(list(IncidentFilter { severity, ..Default::default() }).await.len(), 4);
    let both = IncidentFilter { severity, status: Some(IncidentStatus::Open), ..Default::default() };
    assert_eq!(list(both).await.len(), 3);
    for id in ids {
        world.published(id).await;
    }
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_reacts_and_the_next_one_is_notified_until_somebody_does() {
    let slack = Recorder::new("slack").shared();
    let world = world(&[&slack]).await;
    let step = |ms, notify: &str| EscalationStep { after: Millis::from_ms(ms), notify: notify.into(), via: None };
    let escalation =
        Escalation { steps: vec![step(50, "ben"), step(50, "cleo"), step(60_000, "dora")], ack_timeout: None };
    let start = StartIncident { escalation: Some(escalation), ..start("checkout is down", None) };
    let id = world.engine.start_incident(start, |_| CommitExtras::default()).await.unwrap().state.id;
    slack.until(|slack| slack.count() == 3).await;
    assert_eq!(slack.delivered_events(), ["IncidentStarted", "Escalated", "Escalated"]);
    let committed = world.engine.command::<Incident>(id, IncidentCommand::Acknowledge { by: anna() }).await.unwrap();
    assert_eq!(committed.state.next_turn(), None);
    let timeline = world.engine.queries().timeline(id).await.unwrap();
    let notified: Vec<String> = timeline
        .iter()
        .filter_map(|line| match &line.event {
            IncidentEvent::Escalated { notify, .. } => Some(notify.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(notified, ["ben", "cleo"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snoozed_incident_is_quiet_until_its_alarm_and_escalates_then() {
    let slack = Recorder::new("slack").shared();
    let world = world(&[&slack]).await;
    let step = EscalationStep { after: Millis::from_ms(200), notify: "ben".into(), via: None };
    let escalation = Escalation { steps: vec![step], ack_timeout: None };
    let start = StartIncident { escalation: Some(escalation), ..start("checkout is down", None) };
    let id = world.engine.start_incident(start, |_| CommitExtras::default()).await.unwrap().state.id;
    let until = world.engine.clock().now().plus(Millis::from_ms(600));
    world.change(id, IncidentCommand::Snooze { until, by: anna() }).await;
    let by = || By::new("nightly", IncidentSource::Job);
    world.change(id, IncidentCommand::Repeat { title: "again".into(), text: "again".into(), by: by() }).await;
    slack.until(|slack| slack.delivered_events().contains(&"Escalated".to_owned())).await;
    assert_eq!(slack.delivered_events(), ["IncidentStarted", "Snoozed", "SnoozeEnded", "Escalated"]);
    let timeline = world.engine.queries().timeline(id).await.unwrap();
    let quiet: Vec<&str> = timeline.iter().filter(|line| !line.is_sent).map(|line| line.event.name()).collect();
    assert_eq!(quiet, ["NoteAdded"], "what was held back is in the timeline");
    assert!(timeline.iter().find(|line| !line.is_sent).unwrap().published_at.is_none());
    let escalated = timeline.iter().find(|line| line.event.name() == "Escalated").unwrap();
    assert!(escalated.at >= until.plus(Millis::from_ms(200)), "counted from the end of the snooze");
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silence_holds_back_what_it_matches_until_it_ends_by_itself() {
    let slack = Recorder::new("slack").shared();
    let world = world(&[&slack]).await;
    let until = world.engine.clock().now().plus(Millis::from_ms(400));
    let add =
        SilenceCommand::Add { matching: "check*".parse().unwrap(), until, reason: "maintenance".into(), by: anna() };
    let silence = ordo_engine::clock::new_id();
    world.engine.command::<Silence>(silence, add).await.unwrap();
    let hushed = begin(&world, Some("checkout")).await;
    begin(&world, Some("payments")).await;
    slack.until(|slack| slack.count() == 1).await;
    world
        .until("the silence is over", async || {
            world.engine.queries().silences().await.unwrap().is_empty().then_some(())
        })
        .await;
    world.change(hushed, note("looking")).await;
    slack.until(|slack| slack.count() == 2).await;
    assert_eq!(slack.delivered_events(), ["IncidentStarted", "NoteAdded"]);
    let about = world.engine.queries().notifications_about(entity(hushed), None, 10).await.unwrap().items;
    let states: Vec<&str> = about.iter().map(|one| one.state.name()).collect();
    assert_eq!(states.last(), Some(&"silenced"), "what nobody heard of is listed as such: {states:?}");
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incidents_like_this_one_are_found_by_identifier_then_by_title() {
    let world = world(&[]).await;
    let first = begin(&world, Some("checkout")).await;
    world
        .change(first, IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by: anna() })
        .await;
    let alike = world.incident("checkout is down again", None).await;
    world.incident("the backup is late", None).await;
    let now = begin(&world, Some("checkout")).await;
    let incident = world.read(now).await;
    let found = world.engine.queries().similar(&incident, 5).await.unwrap();
    assert_eq!(found.iter().map(|other| other.id).collect::<Vec<_>>(), [first, alike]);
    // Neither has an identifier, as incidents that people start.
    let again = world.incident("the backup is late", None).await;
    let found = world.engine.queries().similar(&world.read(again).await, 5).await.unwrap();
    assert_eq!(found.iter().map(|other| other.title.as_str()).collect::<Vec<_>>(), ["the backup is late"]);
    world.change(now, IncidentCommand::WritePostmortem { text: "one".into(), by: anna() }).await;
    world.change(now, IncidentCommand::WritePostmortem { text: "two".into(), by: anna() }).await;
    assert_eq!(world.engine.queries().postmortem(&world.read(now).await).await.unwrap(), "two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_keeps_failing_opens_one_incident_and_its_recovery_resolves_it() {
    let slack = Recorder::new("slack").shared();
    let world = world(&[&slack]).await;
    let mut form = manual("flaky", &json!({ "times": 4 }));
    form["on_failure"] = json!({ "incident": { "severity": "high", "after": 2, "resolve_on_recovery": true } });
    let job = world.add(form).await;
    for _ in 0..4 {
        let run = world.trigger(job.id).await;
        world.over(run).await;
    }
    let identifier = format!("job:{}", job.id);
    slack.until(|slack| slack.delivered_events().iter().filter(|event| *event == "NoteAdded").count() == 2).await;
    let incident = world.engine.queries().newest_of(&identifier).await.unwrap().unwrap();
    assert_eq!((incident.severity, incident.status, incident.generation), (Severity::Sev2, IncidentStatus::Open, 1));
    assert!(incident.title.contains("failed 4 times in a row"), "{}", incident.title);
    let run = world.trigger(job.id).await;
    world.over(run).await;
    slack.until(|slack| slack.delivered_events().contains(&"StatusUpdated".to_owned())).await;
    let incident = world.engine.queries().newest_of(&identifier).await.unwrap().unwrap();
    assert_eq!(incident.status, IncidentStatus::Resolved);
    let events: BTreeMap<String, usize> =
        slack.delivered_events().into_iter().fold(BTreeMap::new(), |mut all, event| {
            *all.entry(event).or_default() += 1;
            all
        });
    assert_eq!((events["JobFailed"], events["JobRecovered"], events["IncidentStarted"]), (4, 1, 1));
    world.published(incident.id).await;
    world.assert_clean().await;
}
