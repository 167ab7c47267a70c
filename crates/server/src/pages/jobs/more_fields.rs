//! The rest of the form of a job: alerts, its place in a chain, and the limits that only some jobs have.
//!
//! Invariant: a field that is left empty says nothing of the job; one that is emptied takes away what the job had.

use ordo_model::incident::Severity;
use ordo_model::job::{Definition, KeySource, Reaction};
use serde_json::{Map, Value, json};

use super::fields::{number, wrong};
use crate::http::problem::Problem;

/// Everything as text, as a form has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MoreFields {
    pub(crate) on_failure: AlertFields,
    pub(crate) on_missed: AlertFields,
    /// Jobs by id or label, one per line.
    pub(crate) after_jobs: String,
    pub(crate) after_mode: String,
    pub(crate) after_on: String,
    pub(crate) expire_after: String,
    pub(crate) concurrency_key: String,
    pub(crate) concurrency_max: String,
    pub(crate) rate_key: String,
    pub(crate) rate_limit: String,
    pub(crate) rate_per: String,
    /// As JSON: few have one.
    pub(crate) unique_key: String,
}

/// Whether an incident is opened, and which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AlertFields {
    /// Empty: none is opened.
    pub(crate) severity: String,
    pub(crate) after: String,
    pub(crate) resolve: bool,
    pub(crate) escalation: String,
}

impl AlertFields {
    fn read(line: &impl Fn(&str) -> String, name: &str) -> AlertFields {
        AlertFields {
            severity: line(&format!("{name}_severity")),
            after: line(&format!("{name}_after")),
            resolve: !line(&format!("{name}_resolve")).is_empty(),
            escalation: line(&format!("{name}_escalation")),
        }
    }

    fn of(reaction: Option<&Reaction>) -> AlertFields {
        let Some(Reaction { incident }) = reaction else { return AlertFields::blank() };
        AlertFields {
            severity: incident.severity.name().to_owned(),
            after: incident.after.to_string(),
            resolve: incident.resolve_on_recovery,
            escalation: incident.escalation.clone().unwrap_or_default(),
        }
    }

    fn blank() -> AlertFields {
        AlertFields { after: "1".into(), resolve: true, ..AlertFields::default() }
    }

    fn to_json(&self, field: &str) -> Result<Option<Value>, Problem> {
        if self.severity.is_empty() {
            return Ok(None);
        }
        let after = number(&self.after, &format!("{field}_after"))?;
        let mut incident = json!({ "severity": self.severity, "after": after, "resolve_on_recovery": self.resolve });
        if !self.escalation.is_empty() {
            incident["escalation"] = json!(self.escalation);
        }
        Ok(Some(json!({ "incident": incident })))
    }

    /// The severities, and which of them is chosen.
    pub(crate) fn severities(&self) -> Vec<(&'static str, bool)> {
        Severity::ALL.map(|one| (one.name(), one.name() == self.severity)).to_vec()
    }
}

impl MoreFields {
    pub(crate) fn blank() -> MoreFields {
        MoreFields {
            on_failure: AlertFields::blank(),
            on_missed: AlertFields::blank(),
            after_mode: "all".into(),
            after_on: "success".into(),
            ..MoreFields::default()
        }
    }

    pub(crate) fn read(pairs: &[(String, String)]) -> MoreFields {
        let text = |name: &str| pairs.iter().find(|(key, _)| key == name).map_or_else(String::new, |(_, v)| v.clone());
        let line = |name: &str| text(name).trim().to_owned();
        MoreFields {
            on_failure: AlertFields::read(&line, "failure"),
            on_missed: AlertFields::read(&line, "missed"),
            after_jobs: text("after_jobs").replace("\r\n", "\n").trim().to_owned(),
            after_mode: line("after_mode"),
            after_on: line("after_on"),
            expire_after: line("expire_after"),
            concurrency_key: line("concurrency_key"),
            concurrency_max: line("concurrency_max"),
            rate_key: line("rate_key"),
            rate_limit: line("rate_limit"),
            rate_per: line("rate_per"),
            unique_key: line("unique_key"),
        }
    }

    pub(crate) fn of(definition: &Definition) -> MoreFields {
        let mut fields = MoreFields {
            on_failure: AlertFields::of(definition.on_failure.as_ref()),
            on_missed: AlertFields::of(definition.on_missed.as_ref()),
            expire_after: definition.expire_after.map_or_else(String::new, |length| length.to_string()),
            ..MoreFields::blank()
        };
        if let Some(after) = &definition.after {
            fields.after_jobs = after.jobs.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n");
            (fields.after_mode, fields.after_on) = (after.mode.name().into(), after.on.name().into());
        }
        if let Some(limit) = &definition.concurrency_key {
            (fields.concurrency_key, fields.concurrency_max) = (key_text(&limit.key), limit.max.to_string());
        }
        if let Some(rate) = &definition.rate_limit {
            fields.rate_key = key_text(&rate.key);
            (fields.rate_limit, fields.rate_per) = (rate.limit.to_string(), rate.per.to_string());
        }
        if let Some(unique) = &definition.unique_key {
            fields.unique_key = serde_json::to_string(unique).unwrap_or_default();
        }
        fields
    }

    /// Adds what the fields say to the job as a client would write it down.
    pub(crate) fn put_into(&self, job: &mut Map<String, Value>) -> Result<(), Problem> {
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                job.insert(name.to_owned(), value);
            }
        };
        put("on_failure", self.on_failure.to_json("failure")?);
        put("on_missed", self.on_missed.to_json("missed")?);
        put("expire_after", given(&self.expire_after).map(Value::from));
        if let Some(key) = given(&self.concurrency_key) {
            put(
                "concurrency_key",
                Some(json!({ "key": key, "max": number(&self.concurrency_max, "concurrency_max")? })),
            );
        }
        if let Some(key) = given(&self.rate_key) {
            let limit = number(&self.rate_limit, "rate_limit")?;
            put("rate_limit", Some(json!({ "key": key, "limit": limit, "per": self.rate_per })));
        }
        if let Some(text) = given(&self.unique_key) {
            let unread = |error: serde_json::Error| wrong("unique_key", &format!("is not JSON: {error}"));
            put("unique_key", Some(serde_json::from_str(text).map_err(unread)?));
        }
        let jobs: Vec<&str> = self.named_before().collect();
        if !jobs.is_empty() {
            put("after", Some(json!({ "jobs": jobs, "mode": self.after_mode, "on": self.after_on })));
        }
        Ok(())
    }

    /// The jobs before it, as they were typed.
    pub(crate) fn named_before(&self) -> impl Iterator<Item = &str> {
        self.after_jobs.lines().map(str::trim).filter(|line| !line.is_empty())
    }

    /// Whether anything here says something: then the section is shown open.
    pub(crate) fn is_used(&self) -> bool {
        *self != MoreFields::blank()
    }
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn key_text(key: &KeySource) -> String {
    key.clone().into()
}

/// The field of the form that a field of the job stands in.
pub(crate) fn field_of(field: &str) -> Option<&'static str> {
    const PLACES: [(&str, &str); 16] = [
        ("on_failure.incident.escalation", "failure_escalation"),
        ("on_failure", "failure_after"),
        ("failure_after", "failure_after"),
        ("on_missed.incident.escalation", "missed_escalation"),
        ("on_missed", "missed_after"),
        ("missed_after", "missed_after"),
        ("after", "after_jobs"),
        ("expire_after", "expire_after"),
        ("concurrency_key.max", "concurrency_max"),
        ("concurrency_max", "concurrency_max"),
        ("concurrency_key", "concurrency_key"),
        ("rate_limit.key", "rate_key"),
        ("rate_limit.per", "rate_per"),
        ("rate_limit", "rate_limit"),
        ("unique_key", "unique_key"),
        ("after_jobs", "after_jobs"),
    ];
    let fits = |place: &&(&str, &str)| field == place.0 || field.starts_with(&format!("{}.", place.0));
    PLACES.iter().find(fits).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_job_has_comes_back_as_it_was() {
        let text = r#"{"label":"a","tool_name":"noop","trigger":{"type":"manual"},"expire_after":"5m",
            "on_failure":{"incident":{"severity":"sev1","after":3,"resolve_on_recovery":true,"escalation":"ops"}},
            "on_missed":{"incident":{"severity":"sev4"}},"concurrency_key":{"key":"/tenant","max":2},
            "rate_limit":{"key":"label","limit":5,"per":"1m"},
            "after":{"jobs":["018f0000-0000-7000-8000-000000000001"],"mode":"any","on":"either"}}"#;
        let definition: Definition = serde_json::from_str(text).unwrap();
        let mut job = json!({ "label": "a", "tool_name": "noop", "trigger": { "type": "manual" } });
        MoreFields::of(&definition).put_into(job.as_object_mut().unwrap()).unwrap();
        assert_eq!(serde_json::from_value::<Definition>(job).unwrap(), definition);
    }

    #[test]
    fn an_empty_form_says_nothing() {
        let mut job = Map::new();
        MoreFields::blank().put_into(&mut job).unwrap();
        assert!(job.is_empty() && !MoreFields::blank().is_used());
    }

    #[test]
    fn what_is_wrong_is_shown_at_its_field() {
        assert_eq!(field_of("on_failure.incident.after"), Some("failure_after"));
        assert_eq!((field_of("after.jobs"), field_of("rate_limit.per")), (Some("after_jobs"), Some("rate_per")));
        assert_eq!(field_of("label"), None);
    }
}
