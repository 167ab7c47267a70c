//! The limits of the model in the description: which fields they hold for.
//!
//! Invariant: a row names a field that is there; the numbers themselves stand in the model alone.

use ordo_model::job::TAG_PATTERN;
use ordo_model::limits::{
    ACTOR_MAX_BYTES, AFTER_JOBS_MAX, ATTEMPTS_MAX, BATCH_JOBS_MAX, CATCH_UP_MAX, CONCURRENT_MAX, CRON_MAX_BYTES,
    EXCLUDED_DATES_MAX, EXCLUSIONS_MAX, EXECUTOR_CAPACITY_MAX, EXECUTOR_NAME_MAX_BYTES, EXECUTOR_TOOLS_MAX,
    FILTER_VALUES_MAX, GROUP_MAX_BYTES, HOOK_MAX_BYTES, IDENTIFIER_MAX_BYTES, INCIDENT_AFTER_MAX, INCIDENT_LINKS_MAX,
    INCIDENT_TEXT_MAX_BYTES, INCIDENT_TITLE_MAX_BYTES, KEY_CONCURRENCY_MAX, LABEL_MAX_BYTES, MONITOR_NAME_MAX_BYTES,
    NOTE_MAX_BYTES, PAYLOAD_MAX_BYTES, POLL_MAX, PRIORITY_MAX, RATE_LIMIT_MAX, REPORTS_MAX, RETENTION_RUNS_MAX,
    SECRET_MAX_BYTES, SUBSCRIPTION_EVENTS_MAX, SUBSCRIPTION_TEXT_MAX_BYTES, TAG_MAX_BYTES, TAGS_MAX,
    TOOL_NAME_MAX_BYTES,
};
use serde_json::{Value, json};

use super::schemas::Schemas;

enum Limit {
    /// At least one character, at most so many.
    Text(usize),
    /// May be empty.
    Long(usize),
    Number(u64, u64),
    /// At least one entry, at most so many.
    Some(usize),
    AtMost(usize),
    Pattern(&'static str),
    /// Each entry of a list.
    Each(&'static str, usize),
}

use Limit::{AtMost, Each, Long, Number, Pattern, Text};

#[rustfmt::skip]
const LIMITS: &[(&str, &str, Limit)] = &[
    ("Definition", "label", Text(LABEL_MAX_BYTES)),
    ("Definition", "description", Text(NOTE_MAX_BYTES)),
    ("Definition", "tool_name", Text(TOOL_NAME_MAX_BYTES)),
    ("Definition", "tags", AtMost(TAGS_MAX)),
    ("Definition", "tags", Each(TAG_PATTERN, TAG_MAX_BYTES)),
    ("Definition", "group", Text(GROUP_MAX_BYTES)),
    ("Definition", "priority", Number(0, PRIORITY_MAX as u64)),
    ("NewJobs", "jobs", AtMost(BATCH_JOBS_MAX)),
    ("ScheduledTrigger", "cron", Long(CRON_MAX_BYTES)),
    ("ScheduledTrigger", "exclude", AtMost(EXCLUSIONS_MAX)),
    ("WebhookTrigger", "hook", Text(HOOK_MAX_BYTES)),
    ("DatesExclusion", "dates", Limit::Some(EXCLUDED_DATES_MAX)),
    ("FireAll", "cap", Number(1, CATCH_UP_MAX as u64)),
    ("Concurrency", "max", Number(1, CONCURRENT_MAX as u64)),
    ("Retry", "max_attempts", Number(1, ATTEMPTS_MAX as u64)),
    ("Retention", "runs", Number(1, RETENTION_RUNS_MAX as u64)),
    ("ConcurrencyKey", "max", Number(1, KEY_CONCURRENCY_MAX as u64)),
    ("RateLimit", "limit", Number(1, RATE_LIMIT_MAX as u64)),
    ("AfterJobs", "jobs", Limit::Some(AFTER_JOBS_MAX)),
    ("IncidentPolicy", "after", Number(1, INCIDENT_AFTER_MAX as u64)),
    ("NewExecutor", "name", Text(EXECUTOR_NAME_MAX_BYTES)),
    ("NewExecutor", "group", Text(GROUP_MAX_BYTES)),
    ("NewExecutor", "tools", Limit::Some(EXECUTOR_TOOLS_MAX)),
    ("NewExecutor", "capacity", Number(1, EXECUTOR_CAPACITY_MAX as u64)),
    ("Heartbeat", "runs", AtMost(REPORTS_MAX)),
    ("Poll", "max", Number(1, POLL_MAX as u64)),
    ("ReportBatch", "reports", AtMost(REPORTS_MAX)),
    ("LogChunks", "chunks", AtMost(REPORTS_MAX)),
    ("LogChunk", "lines", AtMost(1_023)),
    ("NewHook", "slug", Pattern("^[A-Za-z0-9_-][A-Za-z0-9._-]*$")),
    ("NewHook", "max_bytes", Number(1, PAYLOAD_MAX_BYTES)),
    ("HookPatch", "max_bytes", Number(1, PAYLOAD_MAX_BYTES)),
    ("Filter", "one_of", Limit::Some(FILTER_VALUES_MAX)),
    ("NewIncident", "title", Text(INCIDENT_TITLE_MAX_BYTES)),
    ("NewIncident", "description", Long(INCIDENT_TEXT_MAX_BYTES)),
    ("NewIncident", "identifier", Text(IDENTIFIER_MAX_BYTES)),
    ("NewIncident", "links", AtMost(INCIDENT_LINKS_MAX)),
    ("NewIncident", "actor", Text(ACTOR_MAX_BYTES)),
    ("NewMonitor", "name", Pattern("^[A-Za-z0-9._-]+$")),
    ("NewMonitor", "name", Text(MONITOR_NAME_MAX_BYTES)),
    ("NewMonitor", "description", Text(INCIDENT_TEXT_MAX_BYTES)),
    ("NewSubscription", "events", Limit::Some(SUBSCRIPTION_EVENTS_MAX)),
    ("NewSubscription", "description", Long(SUBSCRIPTION_TEXT_MAX_BYTES)),
    ("SecretValue", "value", Text(SECRET_MAX_BYTES)),
    ("NewToken", "name", Pattern("^[A-Za-z0-9._@-]{1,128}$")),
];

pub(super) fn lay_over(schemas: &mut Schemas) {
    for (name, field, limit) in LIMITS {
        let all = if *name == "Definition" { &["Definition", "JobPatch"][..] } else { &[*name][..] };
        for name in all {
            let schema = schemas.get_mut(*name).and_then(|schema| schema["properties"].get_mut(*field));
            lay(schema.unwrap_or_else(|| panic!("{name} has no field {field}")), limit);
        }
    }
}

fn lay(schema: &mut Value, limit: &Limit) {
    let own = match schema.get_mut("anyOf").and_then(|all| all.get_mut(0)) {
        Some(first) => first,
        None => schema,
    };
    let (own, rules) = match limit {
        Each(pattern, max) => (&mut own["items"], json!({ "pattern": pattern, "maxLength": max })),
        Text(max) => (own, json!({ "minLength": 1, "maxLength": max })),
        Long(max) => (own, json!({ "maxLength": max })),
        Number(min, max) => (own, json!({ "minimum": min, "maximum": max })),
        Limit::Some(max) => (own, json!({ "minItems": 1, "maxItems": max })),
        AtMost(max) => (own, json!({ "maxItems": max })),
        Pattern(pattern) => (own, json!({ "pattern": pattern })),
    };
    for (key, value) in rules.as_object().into_iter().flatten() {
        own[key] = value.clone();
    }
}
