//! A job that a program writes down.

use std::time::Duration;

use ordo_model::job::{Block, Definition, Misfire};
use ordo_model::{JobId, Millis, Timestamp, strict};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Error;

/// A job to be scheduled. Without a trigger it runs only when it is triggered.
#[derive(Debug, Clone)]
pub struct JobBuilder {
    fields: Map<String, Value>,
    wrong: Option<String>,
}

impl JobBuilder {
    /// A job of this name that uses this tool.
    pub fn new(label: impl Into<String>, tool: impl Into<String>) -> JobBuilder {
        let job = JobBuilder { fields: Map::new(), wrong: None };
        job.with("label", json!(label.into()))
            .with("tool_name", json!(tool.into()))
            .with("trigger", json!({ "type": "manual" }))
    }

    /// What the tool is given.
    #[must_use]
    pub fn input(mut self, input: &impl Serialize) -> JobBuilder {
        match serde_json::to_value(input) {
            Ok(input) => self.with("tool_input", input),
            Err(error) => {
                self.wrong = Some(format!("the input cannot be written down: {error}"));
                self
            }
        }
    }

    /// Fires again and again, the first time after one interval.
    #[must_use]
    pub fn every(self, interval: Duration) -> JobBuilder {
        self.with("trigger", json!({ "type": "scheduled", "every": millis(interval) }))
    }

    /// Fires once.
    #[must_use]
    pub fn at(self, at: Timestamp) -> JobBuilder {
        self.with("trigger", json!({ "type": "scheduled", "at": at }))
    }

    /// Fires by a cron expression in an IANA time zone.
    #[must_use]
    pub fn cron(self, expression: &str, timezone: &str) -> JobBuilder {
        self.with("trigger", json!({ "type": "scheduled", "cron": expression, "timezone": timezone }))
    }

    /// A description for people.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> JobBuilder {
        self.with("description", json!(text.into()))
    }

    /// How long one attempt may take; an hour without it.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> JobBuilder {
        self.with("timeout", json!(millis(timeout)))
    }

    /// 0 to 9: among waiting runs the highest goes first.
    #[must_use]
    pub fn priority(self, priority: u8) -> JobBuilder {
        self.with("priority", json!(priority))
    }

    /// What to do when it is due while it still runs.
    #[must_use]
    pub fn block(self, block: Block) -> JobBuilder {
        self.with("block", json!(block))
    }

    /// What to do about occurrences that were missed.
    #[must_use]
    pub fn misfire(self, misfire: Misfire) -> JobBuilder {
        self.with("misfire", json!(misfire))
    }

    /// Running it twice does no harm: an attempt that a crash cut off is tried again.
    #[must_use]
    pub fn idempotent(self) -> JobBuilder {
        self.with("idempotent", json!(true))
    }

    /// Runs when this job has completed; the outcome is the field `after` of its input.
    #[must_use]
    pub fn after(self, job: JobId) -> JobBuilder {
        self.with("after", json!({ "jobs": [job] }))
    }

    /// How many finished runs are kept, and for how long.
    #[must_use]
    pub fn keep(self, runs: u32, age: Duration) -> JobBuilder {
        self.with("retention", json!({ "runs": runs, "age": millis(age) }))
    }

    /// Failed runs are tried so often in all, with this wait before the second try.
    #[must_use]
    pub fn attempts(self, attempts: u32, backoff: Duration) -> JobBuilder {
        self.with("retry", json!({ "max_attempts": attempts, "backoff": millis(backoff) }))
    }

    /// Any other field of a job, as in the HTTP API.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> JobBuilder {
        self.fields.insert(field.to_owned(), value);
        self
    }
}

fn millis(length: Duration) -> Millis {
    Millis::from_ms(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

impl TryFrom<JobBuilder> for Definition {
    type Error = Error;

    fn try_from(job: JobBuilder) -> Result<Definition, Error> {
        match job.wrong {
            Some(wrong) => Err(Error::Invalid(wrong)),
            None => {
                strict::from_value(Value::Object(job.fields)).map_err(|misread| Error::Invalid(misread.to_string()))
            }
        }
    }
}
