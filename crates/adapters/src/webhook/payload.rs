//! The body of a webhook: `type`, `timestamp` and `data`, as the standard asks for.

use ordo_model::Timestamp;
use ordo_model::notification::{IncidentSubject, JobSubject, Message, Subject};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::message::{event_type, words};

/// The type of a message that only tries the way.
pub const TEST: &str = "test";

#[derive(Serialize)]
struct WebhookBody<'a, T> {
    r#type: &'a str,
    timestamp: Timestamp,
    data: T,
}

/// What happened, what it is about as it looked then, and one line for people.
#[derive(Serialize)]
struct WebhookData<'a> {
    stream: String,
    version: u64,
    event: &'a str,
    details: Value,
    text: String,
    #[serde(flatten)]
    subject: WebhookSubject<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum WebhookSubject<'a> {
    Incident(&'a IncidentSubject),
    Job(&'a JobSubject),
}

#[derive(Serialize)]
struct TestData {
    subscription: Uuid,
    text: &'static str,
}

pub fn body(message: &Message) -> Vec<u8> {
    let data = WebhookData {
        stream: message.entity().to_string(),
        version: message.version,
        event: message.event(),
        details: message.details(),
        text: words(message).line(),
        subject: match &message.subject {
            Subject::Incident { incident, .. } => WebhookSubject::Incident(incident),
            Subject::Job { job, .. } => WebhookSubject::Job(job),
        },
    };
    written(&WebhookBody { r#type: event_type(message), timestamp: message.at, data })
}

pub fn test_body(subscription: Uuid, at: Timestamp) -> Vec<u8> {
    let data = TestData { subscription, text: "Ordo can reach you." };
    written(&WebhookBody { r#type: TEST, timestamp: at, data })
}

fn written<T: Serialize>(body: &WebhookBody<'_, T>) -> Vec<u8> {
    serde_json::to_vec(body).expect("a message is plain data")
}
