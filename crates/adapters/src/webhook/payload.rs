//! The body of a webhook: `type`, `timestamp` and `data`, as the standard asks for.

use ordo_model::Timestamp;
use ordo_model::notification::{Message, Subject};
use serde_json::{Value, json};

use crate::message::{event_type, words};

/// The type of a message that only tries the way.
pub const TEST: &str = "test";

/// What happened, what it is about as it looked then, and one line for people.
pub fn body(message: &Message) -> Vec<u8> {
    let mut data = json!({
        "stream": message.entity().to_string(),
        "version": message.version,
        "event": message.event(),
        "details": message.details(),
        "text": words(message).line(),
    });
    match &message.subject {
        Subject::Incident { incident, .. } => data["incident"] = json!(incident),
        Subject::Job { job, .. } => data["job"] = json!(job),
    }
    envelope(event_type(message), message.at, &data)
}

pub fn test_body(subscription: uuid::Uuid, at: Timestamp) -> Vec<u8> {
    envelope(TEST, at, &json!({ "subscription": subscription, "text": "Ordo can reach you." }))
}

fn envelope(name: &str, at: Timestamp, data: &Value) -> Vec<u8> {
    json!({ "type": name, "timestamp": at, "data": data }).to_string().into_bytes()
}
