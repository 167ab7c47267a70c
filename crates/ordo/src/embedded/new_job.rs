//! A job that a program writes down.

use std::time::Duration;

use ordo_model::job::Definition;
use ordo_model::{Millis, Timestamp};
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
        let interval = Millis::from_ms(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX));
        self.with("trigger", json!({ "type": "scheduled", "every": interval }))
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

    /// Failed runs are tried so often in all, with this wait before the second try.
    #[must_use]
    pub fn attempts(self, attempts: u32, backoff: Duration) -> JobBuilder {
        let backoff = Millis::from_ms(u64::try_from(backoff.as_millis()).unwrap_or(u64::MAX));
        self.with("retry", json!({ "max_attempts": attempts, "backoff": backoff }))
    }

    /// Any other field of a job, as in the HTTP API.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> JobBuilder {
        self.fields.insert(field.to_owned(), value);
        self
    }
}

impl TryFrom<JobBuilder> for Definition {
    type Error = Error;

    fn try_from(job: JobBuilder) -> Result<Definition, Error> {
        match job.wrong {
            Some(wrong) => Err(Error::Invalid(wrong)),
            None => {
                serde_json::from_value(Value::Object(job.fields)).map_err(|error| Error::Invalid(error.to_string()))
            }
        }
    }
}
