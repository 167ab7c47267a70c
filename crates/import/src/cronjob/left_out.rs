//! The fields of a CronJob for which Ordo has no counterpart.
//!
//! Invariant: at every level the fields that are carried over, or mean nothing outside a cluster, are named here; any
//! other field is reported, also one that Kubernetes does not have yet.

use serde_json::Value;

/// (where, the fields there that need no warning)
const LEVELS: [(&str, &[&str]); 4] = [
    (
        "/spec",
        &[
            "schedule",
            "timeZone",
            "concurrencyPolicy",
            "suspend",
            "startingDeadlineSeconds",
            "jobTemplate",
            "successfulJobsHistoryLimit",
            "failedJobsHistoryLimit",
        ],
    ),
    ("/spec/jobTemplate/spec", &["backoffLimit", "activeDeadlineSeconds", "template", "ttlSecondsAfterFinished"]),
    (
        "/spec/jobTemplate/spec/template/spec",
        &[
            "containers",
            "restartPolicy",
            "dnsPolicy",
            "schedulerName",
            "terminationGracePeriodSeconds",
            "imagePullSecrets",
        ],
    ),
    (
        "/spec/jobTemplate/spec/template/spec/containers/0",
        &[
            "name",
            "image",
            "imagePullPolicy",
            "command",
            "args",
            "env",
            "workingDir",
            "terminationMessagePath",
            "terminationMessagePolicy",
        ],
    ),
];

pub(super) fn warnings(document: &Value) -> Vec<String> {
    LEVELS.iter().flat_map(|(place, known)| unknown(document, place, known)).collect()
}

fn unknown(document: &Value, place: &str, known: &[&str]) -> Vec<String> {
    let Some(fields) = document.pointer(place).and_then(Value::as_object) else { return Vec::new() };
    let says_something = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    let left = fields.iter().filter(|(name, value)| !known.contains(&name.as_str()) && says_something(value));
    let path = place.trim_start_matches('/').replace('/', ".");
    // One pod that succeeds once is what a run is.
    let is_default = |name: &str, value: &Value| ["parallelism", "completions"].contains(&name) && *value == 1;
    left.filter(|(name, value)| !is_default(name, value))
        .map(|(name, _)| format!("{path}.{name} is left out"))
        .collect()
}
