//! Chains: a job that runs when others have ended.
//!
//! Invariant: an end counts once. Under `all` the ends that have come are part of the job's state until the last one is
//! there; then they are the input of one run, and the next round begins with none.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::definition::Invalid;
use crate::id::{JobId, RunId};
use crate::limits::AFTER_JOBS_MAX;
use crate::text::is_default;
use crate::trace::TraceParent;

/// Which ends of which jobs bring a run about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "AfterForm")]
pub struct After {
    pub jobs: Vec<JobId>,
    pub mode: AfterMode,
    pub on: AfterOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterMode {
    /// One run when each of the jobs has ended since the last one.
    #[default]
    All,
    /// One run for each end of any of the jobs.
    Any,
}

/// Which ends count. A run that was skipped has not run, and never counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterOn {
    #[default]
    Success,
    Failure,
    /// Also a run that was cancelled.
    Either,
}

impl After {
    /// What it waits for, for people.
    pub fn describe(&self) -> String {
        let end = match self.on {
            AfterOn::Success => "completed",
            AfterOn::Failure => "failed",
            AfterOn::Either => "ended",
        };
        match (self.jobs.len(), self.mode) {
            (1, _) => format!("when the job before it has {end}"),
            (count, AfterMode::Any) => format!("whenever one of {count} jobs has {end}"),
            (count, AfterMode::All) => format!("when all of {count} jobs have {end}"),
        }
    }
}

impl AfterMode {
    pub const fn name(self) -> &'static str {
        match self {
            AfterMode::All => "all",
            AfterMode::Any => "any",
        }
    }
}

impl AfterOn {
    pub const fn name(self) -> &'static str {
        match self {
            AfterOn::Success => "success",
            AfterOn::Failure => "failure",
            AfterOn::Either => "either",
        }
    }

    pub fn takes(self, status: &str) -> bool {
        match self {
            AfterOn::Success => status == "completed",
            AfterOn::Failure => status == "failed",
            AfterOn::Either => ["completed", "failed", "cancelled"].contains(&status),
        }
    }
}

/// One job, several, or everything said.
enum AfterForm {
    One(JobId),
    Several(Vec<JobId>),
    Said(SaidForm),
}

impl<'de> Deserialize<'de> for AfterForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AfterForm, D::Error> {
        deserializer.deserialize_any(AfterVisitor)
    }
}

struct AfterVisitor;

impl<'de> Visitor<'de> for AfterVisitor {
    type Value = AfterForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the id of a job, a list of them, or {\"jobs\": [ids], \"mode\": …, \"on\": …}")
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<AfterForm, E> {
        id.parse().map(AfterForm::One).map_err(|_| E::custom("is no id of a job: an id is a UUID"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut ids: A) -> Result<AfterForm, A::Error> {
        let mut jobs = Vec::new();
        while let Some(id) = ids.next_element()? {
            jobs.push(id);
        }
        Ok(AfterForm::Several(jobs))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<AfterForm, A::Error> {
        SaidForm::deserialize(MapAccessDeserializer::new(fields)).map(AfterForm::Said)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidForm {
    jobs: Vec<JobId>,
    #[serde(default)]
    mode: AfterMode,
    #[serde(default)]
    on: AfterOn,
}

impl From<AfterForm> for After {
    fn from(form: AfterForm) -> After {
        let plain = |jobs| After { jobs, mode: AfterMode::All, on: AfterOn::Success };
        match form {
            AfterForm::One(job) => plain(vec![job]),
            AfterForm::Several(jobs) => plain(jobs),
            AfterForm::Said(SaidForm { jobs, mode, on }) => After { jobs, mode, on },
        }
    }
}

impl After {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        if self.jobs.is_empty() || self.jobs.len() > AFTER_JOBS_MAX {
            return Err(Invalid::new("after.jobs", format!("name between 1 and {AFTER_JOBS_MAX} jobs")));
        }
        let twice = self.jobs.iter().enumerate().find(|(place, job)| self.jobs[..*place].contains(job));
        twice.map_or(Ok(()), |(_, job)| Err(Invalid::new("after.jobs", format!("names {job} twice"))))
    }
}

/// How a run of another job ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpstreamEnd {
    pub job_id: JobId,
    pub label: String,
    pub run_id: RunId,
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Set when the result is too large to come along: it is read with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
    /// How many links of a chain lie behind it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub depth: u32,
}

/// The job's input with the ends that brought the run about, as `after`. An input that is no object stays as it is.
pub(super) fn input_with(input: &Value, ends: &[UpstreamEnd]) -> Value {
    let mut input = input.clone();
    if let Some(fields) = input.as_object_mut() {
        fields.insert("after".to_owned(), ends.iter().map(to_json).collect());
    }
    input
}

fn to_json(end: &UpstreamEnd) -> Value {
    let UpstreamEnd { job_id, label, run_id, status, result, result_bytes, reason, .. } = end;
    let mut to_json = json!({ "job_id": job_id, "label": label, "run_id": run_id, "status": status });
    if let Some(result) = result {
        to_json["result"] = result.clone();
    }
    if let Some(bytes) = result_bytes {
        to_json["result_bytes"] = Value::from(*bytes);
    }
    if let Some(reason) = reason {
        to_json["reason"] = Value::from(reason.as_str());
    }
    to_json
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_chain_is_written_short_or_in_full() {
        let id = JobId(Uuid::from_u128(7));
        let full = After { jobs: vec![id], mode: AfterMode::All, on: AfterOn::Success };
        for form in
            [json!(id), json!([id]), json!({ "jobs": [id] }), json!({ "jobs": [id], "mode": "all", "on": "success" })]
        {
            assert_eq!(serde_json::from_value::<After>(form).unwrap(), full);
        }
        let error = serde_json::from_value::<After>(json!({ "jobs": [id], "when": "all" })).unwrap_err();
        assert!(error.to_string().contains("when"), "{error}");
        let twice = After { jobs: vec![id, id], ..full };
        assert!(twice.validate().unwrap_err().message.contains("twice"));
    }

    #[test]
    fn ends_are_put_beside_what_the_job_says() {
        let id = JobId(Uuid::from_u128(7));
        let end = UpstreamEnd {
            job_id: id,
            label: "extract".into(),
            run_id: RunId(Uuid::from_u128(8)),
            status: "completed".into(),
            result: Some(json!({ "rows": 3 })),
            result_bytes: None,
            reason: None,
            traceparent: None,
            depth: 0,
        };
        let input = input_with(&json!({ "table": "t" }), std::slice::from_ref(&end));
        assert_eq!((&input["table"], &input["after"][0]["result"]["rows"]), (&json!("t"), &json!(3)));
        assert_eq!(input_with(&json!("text"), &[end]), json!("text"));
    }
}
