//! The types of events that senders and subscriptions go by.

use ordo_model::incident::IncidentEvent;
use ordo_model::job::Notice;
use ordo_model::notification::{Message, Subject};

/// All of them, for people who choose.
pub const EVENT_TYPES: [&str; 18] = [
    "incident.started",
    "incident.severity_set",
    "incident.assignee_set",
    "incident.status_updated",
    "incident.acknowledged",
    "incident.acknowledgement_expired",
    "incident.note_added",
    "incident.linked",
    "incident.escalated",
    "incident.role_set",
    "incident.impact_described",
    "incident.snoozed",
    "incident.snooze_ended",
    "job.failed",
    "job.recovered",
    "job.late",
    "job.skipped",
    "job.overran",
];

/// The type of a message.
pub fn event_type(message: &Message) -> &'static str {
    match &message.subject {
        Subject::Incident { event, .. } => of_incident(event),
        Subject::Job { notice, .. } => of_job(notice),
    }
}

const fn of_incident(event: &IncidentEvent) -> &'static str {
    match event {
        IncidentEvent::IncidentStarted { .. } => "incident.started",
        IncidentEvent::SeveritySet { .. } => "incident.severity_set",
        IncidentEvent::AssigneeSet { .. } => "incident.assignee_set",
        IncidentEvent::StatusUpdated { .. } => "incident.status_updated",
        IncidentEvent::Acknowledged { .. } => "incident.acknowledged",
        IncidentEvent::AcknowledgementExpired { .. } => "incident.acknowledgement_expired",
        IncidentEvent::NoteAdded { .. } => "incident.note_added",
        IncidentEvent::Linked { .. } => "incident.linked",
        IncidentEvent::Escalated { .. } => "incident.escalated",
        IncidentEvent::RoleSet { .. } => "incident.role_set",
        IncidentEvent::ImpactDescribed { .. } => "incident.impact_described",
        IncidentEvent::Snoozed { .. } => "incident.snoozed",
        IncidentEvent::SnoozeEnded { .. } => "incident.snooze_ended",
        // What nobody is notified of.
        IncidentEvent::ActionAdded { .. } => "incident.action_added",
        IncidentEvent::ActionCompleted { .. } => "incident.action_completed",
        IncidentEvent::ActionReopened { .. } => "incident.action_reopened",
        IncidentEvent::PostmortemWritten { .. } => "incident.postmortem_written",
        IncidentEvent::Retitled { .. } => "incident.retitled",
        IncidentEvent::Remembered { .. } => "incident.remembered",
        IncidentEvent::ClockStepped { .. } => "incident.clock_stepped",
        IncidentEvent::Published { .. } => "incident.published",
    }
}

const fn of_job(notice: &Notice) -> &'static str {
    match notice {
        Notice::Failed { .. } => "job.failed",
        Notice::Recovered { .. } => "job.recovered",
        Notice::Late { .. } => "job.late",
        Notice::Skipped { .. } => "job.skipped",
        Notice::Overran { .. } => "job.overran",
        // For those who follow the job, not for people.
        Notice::Ended { .. } => "job.ended",
    }
}
