//! Every message as people read it.

use ordo_adapters::message::{EVENT_TYPES, event_type, words};
use ordo_model::incident::{By, Card, IncidentEvent, IncidentRole, IncidentSource, IncidentStatus, Link, Severity};
use ordo_model::job::{Notice, SkipReason, Timeliness};
use ordo_model::notification::{IncidentSubject, JobSubject, Message, Subject};
use ordo_model::schedule::Gap;
use ordo_model::{JobId, RunId, Timestamp};
use uuid::Uuid;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn run() -> RunId {
    RunId(Uuid::from_u128(0x7))
}

fn job(notice: Notice) -> Message {
    Message {
        version: 12,
        at: at("2026-11-15T02:12:05Z"),
        subject: Subject::Job {
            job: JobSubject {
                id: JobId(Uuid::from_u128(0x9)),
                label: "nightly-report".into(),
                tool_name: "shell".into(),
            },
            notice,
        },
    }
}

fn incident(event: &IncidentEvent) -> Message {
    let card = Card {
        severity: Severity::Sev2,
        status: IncidentStatus::Open,
        assignee: Some("slack:U2".into()),
        acknowledged_by: None,
    };
    let incident = IncidentSubject {
        id: Uuid::from_u128(0x5),
        title: "Checkout is down".into(),
        description: "500 for everybody".into(),
        identifier: None,
        card,
        links: Vec::new(),
        started_by: anna(),
        created_at: at("2026-11-15T02:00:00Z"),
    };
    Message {
        version: 3,
        at: at("2026-11-15T02:12:05Z"),
        subject: Subject::Incident { incident: Box::new(incident), event: Box::new(event.clone()) },
    }
}

fn anna() -> By {
    By::new("anna", IncidentSource::Api)
}

fn jobs() -> Vec<Message> {
    let failed =
        |failures_in_row| Notice::Failed { run_id: run(), reason: "exit code 1\ndisk full".into(), failures_in_row };
    let recovered = |failures, missed| Notice::Recovered { run_id: run(), failures, missed };
    let late = |timeliness| Notice::Late { run_id: run(), due_at: at("2026-11-15T02:00:00Z"), timeliness };
    let skipped = |reason, gap| Notice::Skipped { run_id: run(), reason, gap };
    let gap = |exact| Some(Gap { from: at("2026-11-14T00:00:00Z"), to: at("2026-11-15T02:00:00Z"), count: 27, exact });
    [
        failed(1),
        failed(2),
        failed(3),
        recovered(3, 0),
        recovered(1, 1),
        recovered(0, 2),
        late(Timeliness::Late),
        late(Timeliness::Misfire),
        skipped(SkipReason::Overlap, None),
        skipped(SkipReason::QueueFull, None),
        skipped(SkipReason::Misfire, gap(true)),
        skipped(SkipReason::CatchUpLimit, gap(false)),
        Notice::Overran { run_id: run(), started_at: at("2026-11-15T01:02:05Z") },
    ]
    .into_iter()
    .map(job)
    .collect()
}

fn incidents() -> Vec<Message> {
    let status = |status, message: Option<&str>| IncidentEvent::StatusUpdated {
        status,
        message: message.map(str::to_owned),
        escalate_at: None,
        by: anna(),
    };
    let assigned =
        |assignee: Option<&str>| IncidentEvent::AssigneeSet { assignee: assignee.map(str::to_owned), by: anna() };
    let by_job = By::new("nightly-report", IncidentSource::Job);
    let clock = By::new("escalation", IncidentSource::Escalation);
    let at = ordo_model::Timestamp::from_ms(1_763_200_000_000).unwrap();
    [
        IncidentEvent::IncidentStarted {
            title: "Checkout is down".into(),
            description: "500 for everybody".into(),
            severity: Severity::Sev2,
            identifier: None,
            generation: 0,
            links: Vec::new(),
            escalation: None,
            escalate_at: None,
            by: by_job,
        },
        IncidentEvent::SeveritySet { severity: Severity::Sev1, by: anna() },
        assigned(Some("slack:U2")),
        assigned(Some("anna")),
        assigned(None),
        status(IncidentStatus::Mitigating, None),
        status(IncidentStatus::Resolved, Some("rolled back")),
        status(IncidentStatus::Declined, None),
        status(IncidentStatus::Open, None),
        IncidentEvent::Acknowledged { expires_at: None, by: anna() },
        IncidentEvent::AcknowledgementExpired { escalate_at: None, by: clock.clone() },
        IncidentEvent::NoteAdded { text: "it is the database\nagain".into(), by: anna() },
        IncidentEvent::Linked { link: Link::Run { id: run() }, by: anna() },
        IncidentEvent::RoleSet { role: IncidentRole::Lead, person: Some("slack:U2".into()), by: anna() },
        IncidentEvent::RoleSet { role: IncidentRole::Communications, person: Some("anna".into()), by: anna() },
        IncidentEvent::ImpactDescribed { text: "no orders since 09:12".into(), by: anna() },
        IncidentEvent::Snoozed { until: at, by: anna() },
        IncidentEvent::SnoozeEnded { escalate_at: None, by: clock.clone() },
        IncidentEvent::Escalated { step: 1, notify: "slack:U7".into(), via: None, escalate_at: None, by: clock },
    ]
    .iter()
    .map(incident)
    .collect()
}

#[test]
fn messages_read_well() {
    let all: Vec<String> = jobs().iter().chain(&incidents()).map(|message| words(message).text()).collect();
    insta::assert_snapshot!("messages", all.join("────\n"));
}

#[test]
fn every_message_has_a_type_that_people_can_ask_for() {
    let mut seen: Vec<&str> = jobs().iter().chain(&incidents()).map(event_type).collect();
    seen.sort();
    seen.dedup();
    let mut known: Vec<&str> = EVENT_TYPES.to_vec();
    known.sort_unstable();
    assert_eq!(seen, known);
}

#[test]
fn a_title_of_many_lines_stays_one_line() {
    let mut message =
        incident(&IncidentEvent::NoteAdded { text: "x".into(), by: By::new("a\nb", IncidentSource::Api) });
    let Subject::Incident { incident, .. } = &mut message.subject else { panic!() };
    incident.title = "a\r\nb\u{7}c".into();
    assert_eq!(words(&message).line(), "a b c: a b added a note");
}
