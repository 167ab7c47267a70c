//! An incident written down for those who want to learn from it: a Markdown document, complete without any tool.
//!
//! Invariant: follows from the incident and its timeline alone. Whatever people typed cannot change the document's form,
//! except the analysis, which they write in Markdown for this document.

use std::collections::BTreeSet;
use std::fmt::Write;

use jiff::tz::TimeZone;
use uuid::Uuid;

use super::Incident;
use super::event::IncidentEvent;
use super::words::{By, IncidentRole, IncidentStatus, Link};
use crate::time::{Millis, Timestamp};

/// What the analysis begins with as long as nobody has written it.
pub const POSTMORTEM_DRAFT: &str = "### What happened\n\n\n### Why it happened\n\n\n### What went well\n\n\n\
     ### What we change\n\n";

/// Notes that begin with one of these are things to do.
const ACTION_MARKS: [&str; 3] = ["action:", "action item:", "to do:"];

/// The document. Times are shown in the zone.
pub fn postmortem(id: Uuid, incident: &Incident, timeline: &[(Timestamp, IncidentEvent)], zone: &TimeZone) -> String {
    let mut text = format!("# {}\n\n", plain(&incident.title));
    summary(&mut text, id, incident, zone);
    impact(&mut text, incident, timeline);
    analysis(&mut text, timeline);
    text.push_str("\n## Timeline\n\n");
    for (at, event) in timeline {
        line(&mut text, &time(*at, zone), event);
    }
    people(&mut text, incident, timeline);
    actions(&mut text, incident, timeline);
    text
}

fn summary(text: &mut String, id: Uuid, incident: &Incident, zone: &TimeZone) {
    text.push_str("## Summary\n\n");
    let mut row = |name: &str, value: String| put(text, format_args!("- **{name}:** {value}\n"));
    row("Incident", format!("`{id}`"));
    row("Status", incident.status.name().to_owned());
    row("Severity", incident.severity.name().to_owned());
    row("Started", format!("{} by {}", time(incident.created_at, zone), plain(&incident.started_by.to_string())));
    if let Some(at) = incident.ended_at {
        row("Ended", time(at, zone));
    }
    if let Some(name) = &incident.assignee {
        row("Assignee", plain(name));
    }
    for (role, person) in &incident.roles {
        let name = match role {
            IncidentRole::Lead => "Lead",
            IncidentRole::Communications => "Communications",
        };
        row(name, plain(person));
    }
    for link in &incident.links {
        match link {
            Link::Job { id } => row("Job", format!("`{id}`")),
            Link::Run { id } => row("Run", format!("`{id}`")),
        }
    }
    if !incident.description.is_empty() {
        put(text, format_args!("\n{}\n", quoted(&incident.description)));
    }
}

fn impact(text: &mut String, incident: &Incident, timeline: &[(Timestamp, IncidentEvent)]) {
    text.push_str("\n## Impact\n\n");
    let after = |wanted: fn(&IncidentEvent) -> bool| {
        timeline.iter().find(|(_, event)| wanted(event)).map(|(at, _)| at.since(incident.created_at))
    };
    let acknowledged = after(|event| matches!(event, IncidentEvent::Acknowledged { .. }));
    let mitigating =
        after(|event| matches!(event, IncidentEvent::StatusUpdated { status: IncidentStatus::Mitigating, .. }));
    let mut row = |name: &str, length: Option<Millis>, otherwise: &str| {
        let value = length.map_or_else(|| otherwise.to_owned(), |length| seconds(length).to_string());
        put(text, format_args!("- {name}: {value}\n"));
    };
    row("Time until somebody acknowledged it", acknowledged, "nobody did");
    row("Time until it was being mitigated", mitigating, "not recorded");
    row("Duration", incident.ended_at.map(|at| at.since(incident.created_at)), "it has not ended");
    put(text, format_args!("- Who was affected, and how: {}\n", plain(&incident.impact)));
}

/// The latest text that people wrote for it.
fn analysis(text: &mut String, timeline: &[(Timestamp, IncidentEvent)]) {
    let written = timeline.iter().rev().find_map(|(_, event)| match event {
        IncidentEvent::PostmortemWritten { text, .. } => Some(text.trim()),
        _ => None,
    });
    if let Some(written) = written.filter(|written| !written.is_empty()) {
        put(text, format_args!("\n## Analysis\n\n{written}\n"));
    }
}

fn line(text: &mut String, at: &str, event: &IncidentEvent) {
    let said = match event {
        IncidentEvent::IncidentStarted { title, severity, .. } => format!("started as {severity}: {}", plain(title)),
        IncidentEvent::SeveritySet { severity, .. } => format!("set the severity to {severity}"),
        IncidentEvent::AssigneeSet { assignee: Some(name), .. } => format!("assigned it to {}", plain(name)),
        IncidentEvent::AssigneeSet { assignee: None, .. } => "assigned it to nobody".to_owned(),
        IncidentEvent::StatusUpdated { status, message, .. } => {
            let message = message.as_ref().map(|message| format!(": {}", plain(message))).unwrap_or_default();
            format!("set the status to {status}{message}")
        }
        IncidentEvent::Acknowledged { .. } => "acknowledged it".to_owned(),
        IncidentEvent::AcknowledgementExpired { .. } => "the acknowledgement ran out".to_owned(),
        IncidentEvent::NoteAdded { text, .. } => plain(text),
        IncidentEvent::Linked { link: Link::Job { id }, .. } => format!("linked job `{id}`"),
        IncidentEvent::Linked { link: Link::Run { id }, .. } => format!("linked run `{id}`"),
        IncidentEvent::Escalated { step, notify, .. } => format!("step {}: notified {}", step + 1, plain(notify)),
        IncidentEvent::RoleSet { role, person: Some(person), .. } => format!("made {} {role}", plain(person)),
        IncidentEvent::RoleSet { role, person: None, .. } => format!("left the role {role} empty"),
        IncidentEvent::ImpactDescribed { text, .. } => format!("described the impact: {}", plain(text)),
        IncidentEvent::ActionAdded { number, text, .. } => format!("added action item {number}: {}", plain(text)),
        IncidentEvent::ActionCompleted { number, .. } => format!("completed action item {number}"),
        IncidentEvent::ActionReopened { number, .. } => format!("reopened action item {number}"),
        IncidentEvent::Snoozed { until, .. } => format!("snoozed it until {until}"),
        IncidentEvent::SnoozeEnded { .. } => "the snooze ended".to_owned(),
        IncidentEvent::PostmortemWritten { .. }
        | IncidentEvent::Retitled { .. }
        | IncidentEvent::Remembered { .. }
        | IncidentEvent::ClockStepped { .. }
        | IncidentEvent::Published { .. } => return,
    };
    let who = event.by().map(|by| format!("**{}** ({})", plain(&by.to_string()), by.source.name())).unwrap_or_default();
    put(text, format_args!("- {at} {who}: {said}\n"));
}

fn people(text: &mut String, incident: &Incident, timeline: &[(Timestamp, IncidentEvent)]) {
    let acted = timeline.iter().filter_map(|(_, event)| event.by()).filter(|by| by.source.is_person());
    let mut names: BTreeSet<&str> = acted.map(By::person).collect();
    names.extend(incident.assignee.as_deref().into_iter().chain(incident.roles.values().map(String::as_str)));
    text.push_str("\n## Responders\n\n");
    if names.is_empty() {
        text.push_str("Nobody.\n");
    }
    names.iter().for_each(|name| put(text, format_args!("- {}\n", plain(name))));
}

fn actions(text: &mut String, incident: &Incident, timeline: &[(Timestamp, IncidentEvent)]) {
    text.push_str("\n## Action items\n\n");
    let before = text.len();
    for item in &incident.actions {
        let mark = if item.done_at.is_some() { 'x' } else { ' ' };
        let owner = item.owner.as_ref().map(|owner| format!(" ({})", plain(owner))).unwrap_or_default();
        put(text, format_args!("- [{mark}] {}{owner}\n", plain(&item.text)));
    }
    for (_, event) in timeline {
        let IncidentEvent::NoteAdded { text: note, .. } = event else { continue };
        let lower = note.to_ascii_lowercase();
        if let Some(mark) = ACTION_MARKS.iter().find(|mark| lower.starts_with(**mark)) {
            put(text, format_args!("- [ ] {}\n", plain(&note[mark.len()..])));
        }
    }
    if text.len() == before {
        text.push_str("- [ ] \n");
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(arguments).unwrap_or(());
}

fn time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_jiff().to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

fn seconds(length: Millis) -> Millis {
    Millis::from_secs(length.ms() / 1_000)
}

/// On one line, and without meaning to Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if matches!(c, '\\' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {}", plain(line))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::{IncidentCommand, IncidentSource, Severity, StartIncident};
    use super::*;
    use crate::object::Object;

    #[test]
    fn the_document_tells_the_whole_story() {
        let at = |secs: i64| Timestamp::from_ms(1_763_200_000_000 + secs * 1_000).unwrap();
        let ana = || By::new("ana", IncidentSource::Api);
        let start = StartIncident {
            title: "checkout *down*".into(),
            description: "first\n# second".into(),
            severity: Severity::Sev1,
            identifier: None,
            generation: 0,
            links: Vec::new(),
            escalation: None,
            by: By::new("nightly", IncidentSource::Job),
        };
        let commands = [
            (0, IncidentCommand::Start(Box::new(start))),
            (65, IncidentCommand::Acknowledge { by: ana() }),
            (70, IncidentCommand::AddNote { text: "Action: add a test".into(), by: ana() }),
            (90, IncidentCommand::UpdateStatus { status: IncidentStatus::Resolved, message: None, by: ana() }),
        ];
        let (mut incident, mut timeline) = (None, Vec::new());
        for (secs, command) in commands {
            for event in Incident::decide(Uuid::nil(), incident.as_ref(), command, at(secs)).unwrap() {
                incident = Some(Incident::apply(Uuid::nil(), incident, &event, at(secs)).unwrap());
                timeline.push((at(secs), event));
            }
        }
        let zone = crate::zones::current().get("Europe/Berlin").unwrap();
        let text = postmortem(Uuid::nil(), &incident.unwrap(), &timeline, &zone);
        for wanted in [
            "# checkout \\*down\\*\n",
            "> \\# second",
            "- Time until somebody acknowledged it: 1m5s",
            "- Duration: 1m30s",
            "2025-11-15 10:46:40 CET **nightly** (job): started as sev1",
            "**ana** (api): set the status to resolved",
            "## Responders\n\n- ana\n",
            "- [ ] add a test",
        ] {
            assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
        }
    }
}
