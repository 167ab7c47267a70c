//! The shapes of the protocol.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::work::Cancel;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Registered {
    pub(super) id: String,
    pub(super) heartbeat_ms: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Beat {
    pub(super) cancel: Vec<String>,
    pub(super) lost: Vec<String>,
    #[serde(default)]
    pub(super) drain: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Polled {
    pub(super) runs: Vec<Assigned>,
    #[serde(default)]
    pub(super) drain: bool,
}

/// A run that was handed to this executor. It must be done, failed or given back.
#[derive(Debug, Clone, Deserialize)]
pub struct Assigned {
    /// The run.
    pub run_id: String,
    /// Its job.
    pub job_id: String,
    /// The label of its job.
    pub label: String,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// The fencing token: grows with every attempt of a job.
    pub token: u64,
    /// The nominal time; None when a person or a program asked for the run.
    pub scheduled_for: Option<String>,
    /// How long it may take, as the server writes it.
    pub timeout: String,
    /// The tool that is asked for.
    pub tool_name: String,
    /// What the tool is given.
    pub tool_input: Value,
    /// What a webhook brought, for a run that one brought about.
    #[serde(default)]
    pub payload: Option<Payload>,
    /// The trace context of this attempt (W3C), to be handed on to what it calls.
    #[serde(default)]
    pub traceparent: Option<String>,
    /// Its share, where the run goes to all executors.
    pub shard: Option<Shard>,
    /// Says when to stop.
    #[serde(skip)]
    pub cancel: Cancel,
}

/// One call of a hook, as it came.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Payload {
    /// The slug of the hook.
    pub hook: String,
    /// The delivery.
    pub delivery: String,
    /// Those that the sender sent, without credentials.
    pub headers: Vec<(String, String)>,
    /// Text as it is, anything else in base64: see `encoding`, or let [`Payload::bytes`] do it.
    pub body: String,
    /// `text` or `base64`.
    pub encoding: String,
}

impl Payload {
    /// The body, byte by byte as it came. None: it is written in a way that this version does not know.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self.encoding.as_str() {
            "text" => Some(self.body.clone().into_bytes()),
            "base64" => BASE64_STANDARD.decode(&self.body).ok(),
            _ => None,
        }
    }

    /// The first header of that name; case does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }
}

/// What others sent may be private: only its size is shown.
impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Payload { hook, delivery, body, .. } = self;
        f.debug_struct("Payload").field("hook", hook).field("delivery", delivery).field("chars", &body.len()).finish()
    }
}

/// One share of a run that goes to all executors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub total: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_payload_is_told_byte_by_byte_and_read_without_case() {
        let payload = |body: &str, encoding: &str| {
            let told = json!({ "hook": "gh", "delivery": "1", "headers": [["X-Event", "push"]],
                "body": body, "encoding": encoding });
            serde_json::from_value::<Payload>(told).unwrap()
        };
        assert_eq!(payload("hi", "text").bytes().unwrap(), b"hi");
        assert_eq!(payload("/wA=", "base64").bytes().unwrap(), [255, 0]);
        assert_eq!((payload("?", "base64").bytes(), payload("hi", "morse").bytes()), (None, None));
        assert_eq!(payload("", "text").header("x-event"), Some("push"));
        assert!(!format!("{:?}", payload("private", "text")).contains("private"));
    }
}
