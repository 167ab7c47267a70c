//! The protocol of executors that dial in: small enough for curl.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ordo_model::job::{Definition, ShardPosition};
use ordo_model::{FencingToken, JobId, Millis, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// How many runs an executor takes at once unless it says.
pub const CAPACITY_DEFAULT: u32 = 16;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Executor)]
pub struct ExecutorView {
    pub id: Uuid,
    pub name: String,
    pub group: String,
    pub tools: BTreeSet<String>,
    pub capacity: u32,
    #[schema(required)]
    pub version: Option<String>,
    pub state: ExecutorState,
    pub running: usize,
    pub registered_at: Timestamp,
    pub seen_at: Timestamp,
    /// The name of the token that it belongs to; left out of the server's own and of those that came by its socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_by: Option<String>,
    /// Whether it lives in the server.
    pub in_process: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorState {
    Alive,
    Draining,
    Lost,
    Left,
}

/// An executor, or a new generation of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewExecutor {
    pub name: String,
    #[serde(default = "default_group")]
    pub group: String,
    pub tools: BTreeSet<String>,
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

fn default_group() -> String {
    Definition::DEFAULT_GROUP.to_owned()
}

fn default_capacity() -> u32 {
    CAPACITY_DEFAULT
}

/// Its id, and how often to let itself be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Registered {
    pub id: Uuid,
    pub heartbeat_ms: u64,
    pub lease_ms: u64,
}

/// What the executor runs: the lease of each is renewed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Heartbeat {
    pub runs: Vec<HeldRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldRun {
    pub run_id: RunId,
    pub token: FencingToken,
}

/// What to end, and what is no longer the executor's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatAnswer {
    pub cancel: Vec<RunId>,
    pub lost: Vec<RunId>,
    /// True when the executor should finish what it has, and leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drain: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Poll {
    /// One when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<usize>,
    /// At most a minute is waited.
    pub wait_ms: u64,
    /// The executor confirms runs where the answer asks for it: whoever falls silent with its request open does not keep
    /// them from others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
}

/// What was started for the executor: it must be reported, or given back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Assignments {
    pub runs: Vec<Assignment>,
    /// Runs of the executor that should end, as in the answer to a heartbeat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancel: Vec<RunId>,
    /// True when these runs are to be named in a heartbeat before they are begun, and only those begun that its answer does
    /// not list as lost. Only said to executors that offered it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    /// True when the executor should finish what it has, and leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drain: bool,
}

/// One attempt for the executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Assignment {
    pub run_id: RunId,
    pub job_id: JobId,
    pub label: String,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// Sent back with every word about the attempt.
    pub token: FencingToken,
    /// The nominal time; null when a person or a program asked for the run.
    #[schema(required)]
    pub scheduled_for: Option<Timestamp>,
    pub timeout: Millis,
    pub tool_name: String,
    pub tool_input: Value,
    /// What a webhook brought; null for other runs.
    #[schema(required)]
    pub payload: Option<HookPayload>,
    /// The trace context of the attempt (W3C), for what it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Its share, where the run goes to all executors.
    #[schema(required)]
    pub shard: Option<ShardPosition>,
}

/// One call of a hook, as it came.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HookPayload {
    pub hook: String,
    pub delivery: Uuid,
    /// Names and values, without credentials.
    #[schema(value_type = Vec<Vec<String>>)]
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// How the body is written: text as it is, anything else in base64.
    pub encoding: PayloadEncoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayloadEncoding {
    Text,
    Base64,
}

impl HookPayload {
    pub fn new(hook: String, delivery: Uuid, headers: Vec<(String, String)>, body: &[u8]) -> HookPayload {
        let (body, encoding) = match std::str::from_utf8(body) {
            Ok(text) => (text.to_owned(), PayloadEncoding::Text),
            Err(_) => (BASE64_STANDARD.encode(body), PayloadEncoding::Base64),
        };
        HookPayload { hook, delivery, headers, body, encoding }
    }

    /// The body, byte by byte as it came. None: it is no base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self.encoding {
            PayloadEncoding::Text => Some(self.body.clone().into_bytes()),
            PayloadEncoding::Base64 => BASE64_STANDARD.decode(&self.body).ok(),
        }
    }

    /// The first header of that name; case does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }
}

/// What others sent may be private: only its size is shown.
impl std::fmt::Debug for HookPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let HookPayload { hook, delivery, body, .. } = self;
        f.debug_struct("HookPayload")
            .field("hook", hook)
            .field("delivery", delivery)
            .field("chars", &body.len())
            .finish_non_exhaustive()
    }
}

/// Whether an executor has left, or has runs to finish first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutorLeaving {
    pub state: LeavingState,
    pub running: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeavingState {
    Left,
    Draining,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_written_byte_by_byte_and_read_without_case() {
        let payload =
            |body: &[u8]| HookPayload::new("gh".into(), Uuid::nil(), vec![("X-Event".into(), "push".into())], body);
        assert_eq!((payload(b"hi").body.as_str(), payload(b"hi").bytes().unwrap()), ("hi", b"hi".to_vec()));
        assert_eq!((payload(&[255, 0]).body.as_str(), payload(&[255, 0]).bytes().unwrap()), ("/wA=", vec![255, 0]));
        assert_eq!(payload(b"").header("x-event"), Some("push"));
        assert!(!format!("{:?}", payload(b"private")).contains("private"));
    }
}
