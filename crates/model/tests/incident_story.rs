//! Incidents as stories: started, worked on, escalated, ended, opened again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::incident::{
    By, Escalation, EscalationStep, Incident, IncidentCommand, IncidentEvent, IncidentRefusal, IncidentRole,
    IncidentSource, IncidentStatus, Link, Severity, StartIncident,
};
use ordo_model::limits::{INCIDENT_ACTIONS_MAX, INCIDENT_LINKS_MAX, INCIDENT_SNOOZE_MAX, OUTBOX_FLUSH_DELAY};
use ordo_model::object::Object;
use ordo_model::{JobId, Millis, Timestamp};
use uuid::Uuid;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_ms(1_000_000_000_000 + secs * 1_000).unwrap()
}

fn ana() -> By {
    By::new("ana", IncidentSource::Api)
}

#[derive(Default)]
struct IncidentStory {
    incident: Option<Incident>,
    events: Vec<(Timestamp, IncidentEvent)>,
}

impl IncidentStory {
    fn tell(&mut self, secs: i64, command: IncidentCommand) -> Result<usize, IncidentRefusal> {
        let events = Incident::decide(Uuid::nil(), self.incident.as_ref(), command, at(secs))?;
        for event in &events {
            self.incident = Some(Incident::apply(Uuid::nil(), self.incident.take(), event, at(secs)).unwrap());
            self.events.push((at(secs), event.clone()));
        }
        Ok(events.len())
    }

    fn started(escalation: Option<Escalation>) -> IncidentStory {
        let mut story = IncidentStory::default();
        story.tell(0, start(escalation)).unwrap();
        story
    }

    fn now(&self) -> &Incident {
        self.incident.as_ref().unwrap()
    }

    fn publish(&mut self, secs: i64) {
        let through = self.now().outbox.last_version().unwrap();
        self.tell(secs, IncidentCommand::Published { through }).unwrap();
    }

    fn move_to(&mut self, secs: i64, status: IncidentStatus) -> Result<usize, IncidentRefusal> {
        self.tell(secs, IncidentCommand::UpdateStatus { status, message: None, by: ana() })
    }
}

fn start(escalation: Option<Escalation>) -> IncidentCommand {
    IncidentCommand::Start(Box::new(StartIncident {
        title: "checkout is down".into(),
        description: String::new(),
        severity: Severity::Sev2,
        identifier: Some("checkout".into()),
        generation: 1,
        links: Vec::new(),
        escalation,
        by: ana(),
    }))
}

fn chain(ack_timeout: Option<Millis>) -> Option<Escalation> {
    let step = |secs, notify: &str| EscalationStep { after: Millis::from_secs(secs), notify: notify.into(), via: None };
    Some(Escalation { steps: vec![step(60, "ben"), step(300, "cleo")], ack_timeout })
}

#[test]
fn starting_what_is_there_finds_it_until_it_has_ended() {
    let mut story = IncidentStory::started(None);
    assert_eq!(story.tell(1, start(None)), Ok(0), "the same one");
    story.move_to(2, IncidentStatus::Resolved).unwrap();
    let refused = story.tell(3, start(None)).unwrap_err();
    assert_eq!(refused, IncidentRefusal::Ended { status: IncidentStatus::Resolved });
    assert_ne!(Incident::id("checkout", 1), Incident::id("checkout", 2));
    assert_eq!(Incident::id("checkout", 1), Incident::id("checkout", 1));
}

#[test]
fn every_change_is_in_the_outbox_with_an_alarm_until_it_was_handed_on() {
    let mut story = IncidentStory::started(None);
    assert_eq!(story.now().next_wake(OUTBOX_FLUSH_DELAY), Some(at(0).plus(OUTBOX_FLUSH_DELAY)));
    assert!(story.now().is_urgent());
    story.tell(5, IncidentCommand::SetSeverity { severity: Severity::Sev1, by: ana() }).unwrap();
    let cards: Vec<Severity> = story.now().outbox.entries().iter().map(|entry| entry.what.severity).collect();
    assert_eq!(cards, [Severity::Sev2, Severity::Sev1], "each as it looked then");
    assert_eq!(story.now().outbox.entries().iter().map(|entry| entry.version).collect::<Vec<_>>(), [1, 2]);
    story.publish(6);
    assert_eq!((story.now().next_wake(OUTBOX_FLUSH_DELAY), story.now().is_urgent()), (None, false));
    assert_eq!(story.now().published.unwrap().through, 2);
    assert_eq!(story.tell(7, IncidentCommand::Published { through: 2 }), Ok(0), "twice is once");
    assert_eq!(story.now().updated_at, at(5), "bookkeeping is no change");
}

#[test]
fn what_follows_the_end_is_recorded_and_told_to_nobody_until_it_is_opened_again() {
    for end in [IncidentStatus::Resolved, IncidentStatus::Declined] {
        let mut story = IncidentStory::started(None);
        story.move_to(1, end).unwrap();
        story.publish(2);
        let note = |text: &str| IncidentCommand::AddNote { text: text.into(), by: ana() };
        assert_eq!(story.tell(3, note("too late")), Ok(1), "it is recorded");
        assert_eq!((story.now().outbox.len(), story.now().updated_at), (0, at(3)), "and not sent");
        story.move_to(4, IncidentStatus::Open).unwrap();
        story.tell(5, note("in time")).unwrap();
        assert_eq!(story.now().outbox.entries().iter().map(|entry| entry.version).collect::<Vec<_>>(), [5, 6]);
    }
}

#[test]
fn what_happens_again_is_noted_and_the_title_follows() {
    let mut story = IncidentStory::started(None);
    let again = |title: &str, text: &str| IncidentCommand::Repeat { title: title.into(), text: text.into(), by: ana() };
    assert_eq!(story.tell(1, again("failed 3 times in a row", "exit 1")), Ok(2));
    assert_eq!(story.now().title, "failed 3 times in a row");
    assert_eq!(story.now().outbox.len(), 2, "its start and the note; the title alone is no news");
    assert_eq!(story.tell(2, again("failed 3 times in a row", "exit 1")), Ok(1), "the same title is not set twice");
    assert!(story.tell(3, again("", "exit 1")).is_err(), "a title says something");
}

#[test]
fn a_status_moves_as_people_work_and_says_where_it_may_go() {
    let mut story = IncidentStory::started(None);
    assert_eq!(story.move_to(1, IncidentStatus::Open), Ok(0));
    for status in [
        IncidentStatus::Mitigating,
        IncidentStatus::Resolved,
        IncidentStatus::Open,
        IncidentStatus::Declined,
        IncidentStatus::Open,
    ] {
        story.move_to(1, status).unwrap();
    }
    story.move_to(2, IncidentStatus::Resolved).unwrap();
    assert_eq!(story.now().ended_at, Some(at(2)));
    for (from, to) in
        [(IncidentStatus::Resolved, IncidentStatus::Mitigating), (IncidentStatus::Resolved, IncidentStatus::Declined)]
    {
        let refused = story.move_to(3, to).unwrap_err();
        assert_eq!(refused, IncidentRefusal::NoSuchMove { from, to });
        assert!(refused.to_string().ends_with("only open"), "{refused}");
    }
    story.move_to(4, IncidentStatus::Open).unwrap();
    assert_eq!(story.now().ended_at, None);
}

#[test]
fn saying_the_same_again_changes_nothing() {
    let mut story = IncidentStory::started(None);
    let set = |name: Option<&str>| IncidentCommand::SetAssignee { assignee: name.map(String::from), by: ana() };
    assert_eq!(story.tell(1, set(Some("ben"))), Ok(1));
    assert_eq!(story.tell(2, set(Some("ben"))), Ok(0));
    assert_eq!(story.tell(3, set(None)), Ok(1));
    assert_eq!(story.tell(4, IncidentCommand::SetSeverity { severity: Severity::Sev2, by: ana() }), Ok(0));
    assert_eq!(story.tell(5, IncidentCommand::Acknowledge { by: ana() }), Ok(1));
    assert_eq!(story.tell(6, IncidentCommand::Acknowledge { by: ana() }), Ok(0));
    let link = Link::Job { id: JobId(Uuid::nil()) };
    assert_eq!(story.tell(7, IncidentCommand::Link { link, by: ana() }), Ok(1));
    assert_eq!(story.tell(8, IncidentCommand::Link { link, by: ana() }), Ok(0));
}

#[test]
fn nobody_reacts_and_one_after_another_is_notified() {
    let mut story = IncidentStory::started(chain(None));
    story.publish(0);
    assert_eq!(story.now().next_turn(), Some(at(60)));
    assert_eq!(story.tell(59, IncidentCommand::Wake), Ok(0));
    story.tell(60, IncidentCommand::Wake).unwrap();
    let (_, escalated) = story.events.last().unwrap();
    assert!(matches!(escalated, IncidentEvent::Escalated { notify, step: 0, .. } if notify == "ben"));
    story.publish(60);
    assert_eq!(story.now().next_turn(), Some(at(360)), "counted from the step before");
    story.tell(360, IncidentCommand::Wake).unwrap();
    story.publish(361);
    assert_eq!(story.now().next_turn(), None, "there is nobody left to notify");
}

#[test]
fn an_acknowledgement_stops_the_escalation() {
    let mut story = IncidentStory::started(chain(None));
    story.tell(10, IncidentCommand::Acknowledge { by: ana() }).unwrap();
    story.publish(10);
    assert_eq!(story.now().next_turn(), None);
    assert_eq!(story.tell(60, IncidentCommand::Wake), Ok(0));
}

#[test]
fn an_acknowledgement_that_leads_nowhere_runs_out() {
    let mut story = IncidentStory::started(chain(Some(Millis::from_secs(600))));
    story.tell(10, IncidentCommand::Acknowledge { by: ana() }).unwrap();
    story.publish(10);
    assert_eq!(story.now().next_turn(), Some(at(610)));
    story.tell(610, IncidentCommand::Wake).unwrap();
    assert!(story.now().acknowledged.is_none());
    story.publish(610);
    assert_eq!(story.now().next_turn(), Some(at(670)), "the chain begins anew");
    story.move_to(620, IncidentStatus::Resolved).unwrap();
    story.publish(620);
    assert_eq!(story.now().next_turn(), None, "an ended incident troubles nobody");
    let refused = story.tell(621, IncidentCommand::Acknowledge { by: ana() }).unwrap_err();
    assert!(matches!(refused, IncidentRefusal::Ended { .. }));
    story.move_to(700, IncidentStatus::Open).unwrap();
    story.publish(700);
    assert_eq!(story.now().next_turn(), Some(at(760)), "opened again, it escalates again");
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let mut story = IncidentStory::default();
    let note = |text: &str| IncidentCommand::AddNote { text: text.into(), by: ana() };
    assert_eq!(story.tell(0, note("hello")), Err(IncidentRefusal::NoSuchIncident));
    let IncidentCommand::Start(good) = start(None) else { unreachable!() };
    let bad = [
        ("title", StartIncident { title: " ".into(), ..*good.clone() }),
        ("identifier", StartIncident { identifier: Some("x".repeat(201)), ..*good.clone() }),
        (
            "escalation.steps",
            StartIncident { escalation: Some(Escalation { steps: vec![], ack_timeout: None }), ..*good.clone() },
        ),
        ("actor", StartIncident { by: By::new("", IncidentSource::Api), ..*good.clone() }),
    ];
    for (field, start) in bad {
        match story.tell(0, IncidentCommand::Start(Box::new(start))) {
            Err(IncidentRefusal::Invalid(invalid)) => assert_eq!(invalid.field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    story.tell(1, IncidentCommand::Start(good)).unwrap();
    assert!(matches!(story.tell(2, note("")), Err(IncidentRefusal::Invalid(_))));
    for number in 0..INCIDENT_LINKS_MAX as u128 {
        let link = Link::Job { id: JobId(Uuid::from_u128(number)) };
        story.tell(3, IncidentCommand::Link { link, by: ana() }).unwrap();
    }
    let link = Link::Job { id: JobId(Uuid::max()) };
    assert_eq!(story.tell(4, IncidentCommand::Link { link, by: ana() }), Err(IncidentRefusal::TooManyLinks));
}

#[test]
fn the_events_alone_give_the_same_incident() {
    let mut story = IncidentStory::started(chain(Some(Millis::from_secs(5))));
    story.tell(1, IncidentCommand::Acknowledge { by: ana() }).unwrap();
    story.tell(9, IncidentCommand::Wake).unwrap();
    let remember = IncidentCommand::Remember { sender: "slack".into(), value: serde_json::json!({ "ts": "1.2" }) };
    story.tell(10, remember).unwrap();
    story.move_to(11, IncidentStatus::Declined).unwrap();
    story.publish(12);
    let mut folded = None;
    for (at, event) in &story.events {
        let text = serde_json::to_string(event).unwrap();
        folded = Some(Incident::apply(Uuid::nil(), folded, &serde_json::from_str(&text).unwrap(), *at).unwrap());
    }
    assert_eq!(folded, story.incident);
    let text = serde_json::to_string(story.now()).unwrap();
    assert_eq!(&serde_json::from_str::<Incident>(&text).unwrap(), story.now());
}

fn machine() -> By {
    By::new("nightly", IncidentSource::Job)
}

fn repeat(text: &str) -> IncidentCommand {
    IncidentCommand::Repeat { title: "nightly failed".into(), text: text.into(), by: machine() }
}

#[test]
fn while_snoozed_only_what_people_do_is_sent_and_nothing_escalates() {
    let mut story = IncidentStory::started(chain(None));
    story.publish(1);
    assert_eq!(story.tell(2, IncidentCommand::Snooze { until: at(600), by: ana() }), Ok(1));
    story.publish(3);
    assert_eq!(story.now().next_turn(), Some(at(600)), "its alarm is the end of the snooze, not the escalation");
    assert_eq!(story.tell(61, IncidentCommand::Wake), Ok(0), "an alarm that rings early does nothing");
    story.tell(70, repeat("run 2 failed")).unwrap();
    assert!(story.now().outbox.is_empty(), "the repetition is in the timeline and goes to nobody");
    story.tell(80, IncidentCommand::AddNote { text: "I know".into(), by: ana() }).unwrap();
    assert_eq!(story.now().outbox.len(), 1, "what people do is sent");
    story.publish(81);
    assert_eq!(story.tell(600, IncidentCommand::Wake), Ok(1));
    assert_eq!(story.now().snoozed, None);
    assert_eq!(story.now().next_turn(), Some(at(660)), "it escalates from the first step again");
    assert_eq!(story.now().outbox.len(), 1, "people hear that the quiet is over");
    story.publish(601);
    story.tell(610, repeat("run 3 failed")).unwrap();
    assert_eq!(story.now().outbox.len(), 1, "repetitions are sent again");
}

#[test]
fn a_snooze_ends_with_its_incident_by_hand_or_never_begins() {
    let mut story = IncidentStory::started(chain(None));
    story.tell(1, IncidentCommand::Acknowledge { by: ana() }).unwrap();
    story.tell(2, IncidentCommand::Snooze { until: at(600), by: ana() }).unwrap();
    assert_eq!(story.tell(3, IncidentCommand::EndSnooze { by: ana() }), Ok(1));
    assert_eq!(story.now().next_turn(), None, "somebody has acknowledged it: it does not escalate");
    assert_eq!(story.tell(4, IncidentCommand::EndSnooze { by: ana() }), Ok(0));
    story.tell(5, IncidentCommand::Snooze { until: at(600), by: ana() }).unwrap();
    story.publish(6);
    let done = |by| IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by };
    story.tell(7, done(machine())).unwrap();
    assert_eq!((story.now().snoozed.clone(), story.now().next_turn()), (None, None));
    assert_eq!(story.now().outbox.len(), 1, "that it is over is sent, whoever ended it");
    let late = IncidentCommand::Snooze { until: at(600), by: ana() };
    assert_eq!(story.tell(8, late), Err(IncidentRefusal::Ended { status: IncidentStatus::Resolved }));
    story.move_to(9, IncidentStatus::Open).unwrap();
    for until in [at(9), at(9).plus(INCIDENT_SNOOZE_MAX).plus(Millis::from_ms(1))] {
        let refused = story.tell(9, IncidentCommand::Snooze { until, by: ana() });
        assert!(matches!(refused, Err(IncidentRefusal::Invalid(_))), "{until}");
    }
}

#[test]
fn roles_impact_and_action_items_are_kept_and_follow_ups_are_sent_to_nobody() {
    let mut story = IncidentStory::started(None);
    let lead = |person: Option<&str>| IncidentCommand::SetRole {
        role: IncidentRole::Lead,
        person: person.map(str::to_owned),
        by: ana(),
    };
    assert_eq!((story.tell(1, lead(Some("ben"))), story.tell(2, lead(Some("ben")))), (Ok(1), Ok(0)));
    assert_eq!(story.now().roles.get(&IncidentRole::Lead).map(String::as_str), Some("ben"));
    story.tell(3, lead(None)).unwrap();
    assert!(story.now().roles.is_empty());
    let impact = |text: &str| IncidentCommand::DescribeImpact { text: text.into(), by: ana() };
    story.tell(4, impact("orders wait")).unwrap();
    assert_eq!(story.tell(5, impact("orders wait")), Ok(0));
    assert_eq!(story.now().impact, "orders wait");
    story.publish(6);
    let add = |text: &str| IncidentCommand::AddAction { text: text.into(), owner: Some("cleo".into()), by: ana() };
    story.tell(7, add("alert on lag")).unwrap();
    story.tell(8, add("write the runbook")).unwrap();
    let set = |number, is_done| IncidentCommand::SetAction { number, is_done, by: ana() };
    assert_eq!((story.tell(9, set(2, true)), story.tell(10, set(2, true))), (Ok(1), Ok(0)));
    assert_eq!(story.tell(11, set(3, true)), Err(IncidentRefusal::NoSuchAction { number: 3 }));
    let done: Vec<bool> = story.now().actions.iter().map(|item| item.done_at.is_some()).collect();
    assert_eq!(done, [false, true]);
    story.tell(12, set(2, false)).unwrap();
    story.tell(13, IncidentCommand::WritePostmortem { text: "### Why\n\nthe disk".into(), by: ana() }).unwrap();
    assert!(story.now().outbox.is_empty(), "what is left to do is read where it is written");
    assert_eq!(story.now().postmortem.as_ref().map(|edit| edit.version), Some(story.now().version));
    for number in 3..=INCIDENT_ACTIONS_MAX {
        story.tell(14, add(&format!("item {number}"))).unwrap();
    }
    assert_eq!(story.tell(15, add("one more")), Err(IncidentRefusal::TooManyActions));
}
