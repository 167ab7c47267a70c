//! The timeline of an incident as a story: one sentence per event, repetitions folded into one, and one line that says
//! whether people heard of it.
//!
//! Invariant: nothing is left out. What is folded stands behind the line that stands for it.

use std::collections::BTreeMap;

use ordo_engine::Versioned;
use ordo_engine::incidents::Happened;
use ordo_model::Timestamp;
use ordo_model::incident::{By, IncidentEvent, IncidentRole, IncidentStatus, Link};
use ordo_model::notification::{Notification, NotificationState};

use crate::pages::incidents::incident::notification_state;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::{Times, length};
use crate::pages::runs::outcome::Badge;
use crate::pages::runs::row::short_id;

pub(crate) struct StoryStep {
    pub(crate) version: u64,
    pub(crate) class: &'static str,
    pub(crate) at: Html,
    /// How long after the start.
    pub(crate) after: Option<String>,
    pub(crate) who: String,
    /// Where it came from: a page, the command line, a job.
    pub(crate) way: &'static str,
    pub(crate) text: String,
    /// What somebody said.
    pub(crate) quote: Option<String>,
    /// What happened again, folded: when, and what was said.
    pub(crate) repeats: Vec<(Html, String)>,
    pub(crate) delivery: Option<DeliveryLine>,
}

/// Whether people heard of it, in one line; the rest on demand.
pub(crate) struct DeliveryLine {
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) text: String,
    pub(crate) rows: Vec<DeliveryRow>,
}

pub(crate) struct DeliveryRow {
    pub(crate) sender: String,
    pub(crate) state: Badge,
    pub(crate) at: Html,
    pub(crate) error: Option<String>,
    /// Where to have it tried again.
    pub(crate) replay: Option<String>,
}

/// The steps, oldest first.
pub(crate) fn story(
    ctx: &PageContext,
    started_at: Timestamp,
    timeline: &[Happened],
    notifications: &[Versioned<Notification>],
) -> Vec<StoryStep> {
    let times = ctx.times();
    let mut sent: BTreeMap<u64, Vec<&Versioned<Notification>>> = BTreeMap::new();
    for notification in notifications {
        sent.entry(notification.message.version).or_default().push(notification);
    }
    let groups = timeline.chunk_by(is_repetition);
    groups.map(|group| step(ctx, started_at, group, &sent, &times)).collect()
}

/// Whether the second says again what the first said: both are notes that nobody wrote by hand.
fn is_repetition(first: &Happened, second: &Happened) -> bool {
    let is_automatic = |happened: &Happened| match &happened.event {
        IncidentEvent::NoteAdded { by, .. } => (!by.source.is_person()).then(|| by.clone()),
        _ => None,
    };
    is_automatic(first).is_some_and(|by| is_automatic(second) == Some(by))
}

fn step(
    ctx: &PageContext,
    started_at: Timestamp,
    group: &[Happened],
    sent: &BTreeMap<u64, Vec<&Versioned<Notification>>>,
    times: &Times,
) -> StoryStep {
    // A group has at least one event; the newest says how things stand.
    let (newest, first) = (&group[group.len() - 1], &group[0]);
    let (class, text, quote) = described(&newest.event, times);
    let elapsed = newest.at.ms() - started_at.ms();
    let repeats = match group {
        [_] => Vec::new(),
        many => {
            many.iter().map(|one| (times.short(one.at), described(&one.event, times).2.unwrap_or_default())).collect()
        }
    };
    let text = if repeats.is_empty() { text } else { format!("reported {} times", group.len()) };
    let all: Vec<&Versioned<Notification>> =
        group.iter().filter_map(|one| sent.get(&one.version)).flatten().copied().collect();
    StoryStep {
        version: first.version,
        class,
        at: times.short(newest.at),
        after: (elapsed > 0).then(|| length(elapsed)),
        who: newest.event.by().map_or_else(String::new, By::to_string),
        way: newest.event.by().map_or("", |by| by.source.name()),
        text,
        quote,
        repeats,
        delivery: delivery(ctx, &all, times),
    }
}

fn described(event: &IncidentEvent, times: &Times) -> (&'static str, String, Option<String>) {
    let plain = |class, text: String| (class, text, None);
    match event {
        IncidentEvent::IncidentStarted { severity, by, .. } if by.source.is_person() => {
            plain("failed", format!("started this incident as {severity}"))
        }
        IncidentEvent::IncidentStarted { severity, .. } => {
            plain("failed", format!("opened this incident as {severity}"))
        }
        IncidentEvent::SeveritySet { severity, .. } => plain("late", format!("set the severity to {severity}")),
        IncidentEvent::AssigneeSet { assignee: Some(name), by } if name == by.person() => {
            plain("running", "took it".to_owned())
        }
        IncidentEvent::AssigneeSet { assignee: Some(name), .. } => plain("running", format!("assigned it to {name}")),
        IncidentEvent::AssigneeSet { assignee: None, .. } => plain("quiet", "left it without an assignee".to_owned()),
        IncidentEvent::StatusUpdated { status, message, .. } => {
            let class = if status.is_ended() { "completed" } else { "running" };
            (class, moved(*status).to_owned(), message.clone())
        }
        IncidentEvent::Acknowledged { .. } => plain("running", "acknowledged it".to_owned()),
        IncidentEvent::AcknowledgementExpired { .. } => {
            plain("failed", "found it acknowledged, but not over in time".to_owned())
        }
        IncidentEvent::NoteAdded { text, by } if by.source.is_person() => {
            ("quiet", "wrote".to_owned(), Some(text.clone()))
        }
        IncidentEvent::NoteAdded { text, .. } => ("failed", "reported".to_owned(), Some(text.clone())),
        IncidentEvent::Linked { link: Link::Job { id }, .. } => {
            plain("quiet", format!("linked job {}", short_id(&id.to_string())))
        }
        IncidentEvent::Linked { link: Link::Run { id }, .. } => {
            plain("quiet", format!("linked run {}", short_id(&id.to_string())))
        }
        IncidentEvent::Escalated { step, notify, .. } => {
            plain("failed", format!("called {notify}: nobody had reacted (step {})", step + 1))
        }
        IncidentEvent::RoleSet { role, person: Some(person), .. } => {
            plain("running", format!("made {person} {}", duty(*role)))
        }
        IncidentEvent::RoleSet { role, person: None, .. } => plain("quiet", format!("left nobody as {}", duty(*role))),
        IncidentEvent::ImpactDescribed { text, .. } if text.is_empty() => {
            plain("quiet", "took back the description of the impact".to_owned())
        }
        IncidentEvent::ImpactDescribed { text, .. } => ("late", "described the impact".to_owned(), Some(text.clone())),
        IncidentEvent::ActionAdded { text, .. } => ("quiet", "added an action item".to_owned(), Some(text.clone())),
        IncidentEvent::ActionCompleted { number, .. } => plain("completed", format!("completed action item {number}")),
        IncidentEvent::ActionReopened { number, .. } => plain("quiet", format!("reopened action item {number}")),
        IncidentEvent::PostmortemWritten { .. } => plain("quiet", "wrote the postmortem".to_owned()),
        IncidentEvent::Snoozed { until, .. } => {
            plain("skipped", format!("snoozed it until {}", times.absolute(*until)))
        }
        IncidentEvent::SnoozeEnded { by, .. } if by.source.is_person() => {
            plain("running", "ended the snooze".to_owned())
        }
        IncidentEvent::SnoozeEnded { .. } => plain("late", "goes on: the snooze is over".to_owned()),
        IncidentEvent::Retitled { .. }
        | IncidentEvent::Remembered { .. }
        | IncidentEvent::ClockStepped { .. }
        | IncidentEvent::Published { .. } => plain("quiet", String::new()),
    }
}

const fn moved(status: IncidentStatus) -> &'static str {
    match status {
        IncidentStatus::Open => "reopened it",
        IncidentStatus::Mitigating => "started mitigating",
        IncidentStatus::Resolved => "resolved it",
        IncidentStatus::Declined => "declined it: not an incident",
    }
}

pub(crate) const fn duty(role: IncidentRole) -> &'static str {
    match role {
        IncidentRole::Lead => "the lead",
        IncidentRole::Communications => "responsible for communications",
    }
}

fn delivery(ctx: &PageContext, all: &[&Versioned<Notification>], times: &Times) -> Option<DeliveryLine> {
    let count = |wanted: fn(&NotificationState) -> bool| all.iter().filter(|one| wanted(&one.state)).count();
    let failed = count(|state| matches!(state, NotificationState::DeadLettered { .. }));
    let waiting = count(|state| matches!(state, NotificationState::Waiting { .. }));
    let silenced = count(|state| matches!(state, NotificationState::Silenced { .. }));
    let delivered = count(|state| matches!(state, NotificationState::Delivered { .. }));
    let (class, icon, text) = match (failed, waiting, silenced, delivered) {
        (0, 0, 0, 0) => return None,
        (0, 0, 0, _) => ("completed", "completed", format!("delivered to {}", senders(all))),
        (0, 0, _, 0) => ("skipped", "skipped", "silenced: nobody was notified".to_owned()),
        (0, 0, _, _) => ("skipped", "skipped", format!("{delivered} delivered, {silenced} silenced")),
        (0, _, _, _) => ("pending", "pending", format!("{waiting} of {} on the way", all.len())),
        (_, _, _, _) => ("failed", "failed", format!("{failed} of {} not delivered", all.len())),
    };
    let row = |one: &&Versioned<Notification>| {
        let is_dead = matches!(one.state, NotificationState::DeadLettered { .. });
        DeliveryRow {
            sender: one.sender.clone(),
            state: notification_state(&one.state),
            at: times.relative(one.written_at),
            error: one.last_error.clone(),
            replay: (is_dead && ctx.viewer.may_operate).then(|| ctx.link(&format!("/notifications/{}/replay", one.id))),
        }
    };
    Some(DeliveryLine { class, icon, text, rows: all.iter().map(row).collect() })
}

fn senders(all: &[&Versioned<Notification>]) -> String {
    let mut names: Vec<&str> = all.iter().map(|one| one.sender.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("{} receivers", many.len()),
    }
}
