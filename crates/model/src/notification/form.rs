//! How a message is written down: `version`, `at`, the event's name and data, and what it is about.
//!
//! Invariant: the form never changes, because streams hold messages of every version of Ordo. A message that was written
//! and read again is the same one; what cannot be read as an event is refused, not passed on as a name.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::message::{IncidentSubject, JobSubject, Message, Subject};
use crate::incident::IncidentEvent;
use crate::job::Notice;
use crate::time::Timestamp;

#[derive(Serialize, Deserialize)]
pub(super) struct MessageForm {
    version: u64,
    at: Timestamp,
    event: String,
    data: Value,
    subject: SubjectForm,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SubjectForm {
    Incident(Box<IncidentSubject>),
    Job {
        #[serde(flatten)]
        job: JobSubject,
        notice: Notice,
    },
}

#[derive(Debug, thiserror::Error)]
#[error("the event {event:?} of a message cannot be read: {why}")]
pub(super) struct UnreadableMessage {
    event: String,
    why: serde_json::Error,
}

impl From<Message> for MessageForm {
    fn from(message: Message) -> MessageForm {
        let (event, data) = (message.event().to_owned(), message.details());
        let subject = match message.subject {
            Subject::Incident { incident, .. } => SubjectForm::Incident(incident),
            Subject::Job { job, notice } => SubjectForm::Job { job, notice },
        };
        MessageForm { version: message.version, at: message.at, event, data, subject }
    }
}

impl TryFrom<MessageForm> for Message {
    type Error = UnreadableMessage;

    fn try_from(form: MessageForm) -> Result<Message, UnreadableMessage> {
        let MessageForm { version, at, event, data, subject } = form;
        let subject = match subject {
            SubjectForm::Incident(incident) => {
                let read = IncidentEvent::deserialize(json!({ "type": event, "data": data }));
                Subject::Incident { incident, event: Box::new(read.map_err(|why| UnreadableMessage { event, why })?) }
            }
            SubjectForm::Job { job, notice } => Subject::Job { job, notice },
        };
        Ok(Message { version, at, subject })
    }
}

/// What the event carries, without its name.
pub(super) fn details(subject: &Subject) -> Value {
    let written = match subject {
        Subject::Incident { event, .. } => serde_json::to_value(event).map(|mut form| form["data"].take()),
        Subject::Job { notice, .. } => serde_json::to_value(notice),
    };
    written.expect("an event is plain data")
}
