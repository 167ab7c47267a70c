//! One row of `xxl_job_info` as a job.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::Timestamp;
use ordo_model::limits::ATTEMPTS_MAX;
use serde_json::{Map, Value, json};

use super::XxlOrigin;
use super::dump::DumpRow;
use crate::draft::{JobDraft, description};
use crate::quartz::cron::translated;

const STATED: &[&str] =
    &["description", "tool_name", "tool_input", "trigger", "group", "routing", "block", "misfire", "timeout", "retry"];
/// XXL-JOB has jobs without a timeout; here every run ends some time.
const NO_TIMEOUT: &str = "1d";

pub(super) struct XxlJob {
    pub(super) id: i64,
    pub(super) draft: JobDraft,
    pub(super) children: Vec<i64>,
    pub(super) is_started: bool,
}

pub(super) fn draft(
    place: &str,
    row: &DumpRow,
    groups: &BTreeMap<i64, String>,
    named_as_children: &BTreeSet<i64>,
    origin: &XxlOrigin,
) -> Result<XxlJob, String> {
    let id = row.number("id").ok_or("has no id")?;
    let group = row.number("job_group").and_then(|group| groups.get(&group));
    let group =
        group.ok_or_else(|| format!("job {id} is of a group that is not in the dump: dump xxl_job_group too"))?;
    let handler = handler(id, row)?;
    let mut warnings = Vec::new();
    let mut fields = Map::new();
    if let Some(about) = row.text("job_desc") {
        fields.insert("description".into(), Value::from(description(about)));
    }
    fields.insert("tool_name".into(), json!("xxl"));
    let params = row.values.get("executor_param").cloned().flatten().unwrap_or_default();
    fields.insert("tool_input".into(), json!({ "handler": handler, "params": params, "job_id": id }));
    fields.insert("group".into(), json!(group));
    let mut trigger = trigger(row, origin, &mut warnings)?;
    let mut is_started = trigger["type"] == "manual" || row.number("trigger_status") == Some(1);
    if !is_started && named_as_children.contains(&id) {
        // There, a child runs after its parents also while its own schedule is stopped.
        let schedule = schedule(row).1.unwrap_or_default();
        warnings.push(format!("its own schedule ({schedule}) was stopped and is left out: it runs after its parents"));
        (trigger, is_started) = (json!({ "type": "manual" }), true);
    }
    fields.insert("trigger".into(), trigger);
    fields.insert("routing".into(), routing(row)?);
    fields.insert("block".into(), block(row)?);
    fields.insert("misfire".into(), misfire(row)?);
    fields.insert("timeout".into(), timeout(row, &mut warnings));
    fields.insert("retry".into(), retry(row, &mut warnings));
    if let Some(mail) = row.text("alarm_email") {
        fields.insert("on_failure".into(), json!({ "incident": { "resolve_on_recovery": true } }));
        warnings.push(format!(
            "mail went to {mail}: here a failure opens an incident, and whom that is mailed to stands in smtp.to"
        ));
    }
    let label = format!("{group}/{handler}-{id}");
    let draft = JobDraft { place: place.to_owned(), label, fields, stated: STATED, held: true, warnings };
    Ok(XxlJob { id, draft, children: children(row), is_started })
}

/// Code that stands in the console cannot be carried over.
fn handler(id: i64, row: &DumpRow) -> Result<String, String> {
    match row.text("glue_type").unwrap_or("BEAN") {
        "BEAN" => row.text("executor_handler").map(str::to_owned).ok_or_else(|| format!("job {id} has no handler")),
        glue => Err(format!(
            "job {id} ({}) is code in the console ({glue}): make it a handler of an executor, or a shell job",
            row.text("job_desc").unwrap_or_default()
        )),
    }
}

/// Its kind and what it says. Up to 2.2 there was only `job_cron`.
fn schedule(row: &DumpRow) -> (&str, Option<&str>) {
    let kind = row.text("schedule_type").unwrap_or(if row.text("job_cron").is_some() { "CRON" } else { "NONE" });
    (kind, row.text("schedule_conf").or_else(|| row.text("job_cron")))
}

fn trigger(row: &DumpRow, origin: &XxlOrigin, warnings: &mut Vec<String>) -> Result<Value, String> {
    match schedule(row) {
        ("NONE", _) => Ok(json!({ "type": "manual" })),
        ("CRON", Some(expression)) => {
            Ok(json!({ "type": "scheduled", "cron": translated(expression)?, "timezone": origin.zone }))
        }
        ("FIX_RATE", Some(seconds)) => {
            let seconds: u64 = seconds.parse().map_err(|_| format!("{seconds:?} is no number of seconds"))?;
            let mut trigger = json!({ "type": "scheduled", "every": format!("{seconds}s") });
            if let Some(next) = next_time(row) {
                trigger["start"] = json!(next);
            }
            Ok(trigger)
        }
        ("FIX_DELAY", Some(seconds)) => {
            warnings
                .push("it waited after each end (FIX_DELAY); here it is due at even times, one run at a time".into());
            Ok(json!({ "type": "scheduled", "every": format!("{seconds}s") }))
        }
        (kind, conf) => Err(format!("schedule {kind} {conf:?} is not known")),
    }
}

fn next_time(row: &DumpRow) -> Option<Timestamp> {
    let ms = row.number("trigger_next_time").or_else(|| row.number("trigger_last_time")).filter(|ms| *ms > 0)?;
    Timestamp::from_ms(ms).ok()
}

fn routing(row: &DumpRow) -> Result<Value, String> {
    let name = match row.text("executor_route_strategy").unwrap_or("FIRST") {
        "FIRST" => "first",
        "LAST" => "last",
        "ROUND" => "round",
        "RANDOM" => "random",
        "CONSISTENT_HASH" => "consistent_hash",
        "LEAST_FREQUENTLY_USED" => "lfu",
        "LEAST_RECENTLY_USED" => "lru",
        "FAILOVER" => "failover",
        "BUSYOVER" => "busyover",
        "SHARDING_BROADCAST" => "sharding_broadcast",
        other => return Err(format!("route strategy {other} is not known")),
    };
    Ok(json!(name))
}

fn block(row: &DumpRow) -> Result<Value, String> {
    match row.text("executor_block_strategy").unwrap_or("SERIAL_EXECUTION") {
        "SERIAL_EXECUTION" => Ok(json!("serial")),
        "DISCARD_LATER" => Ok(json!("discard")),
        "COVER_EARLY" => Ok(json!("cover")),
        other => Err(format!("block strategy {other} is not known")),
    }
}

fn misfire(row: &DumpRow) -> Result<Value, String> {
    match row.text("misfire_strategy").unwrap_or("DO_NOTHING") {
        "DO_NOTHING" => Ok(json!("do_nothing")),
        "FIRE_ONCE_NOW" => Ok(json!("fire_once_now")),
        other => Err(format!("misfire strategy {other} is not known")),
    }
}

fn timeout(row: &DumpRow, warnings: &mut Vec<String>) -> Value {
    match row.number("executor_timeout").filter(|seconds| *seconds > 0) {
        Some(seconds) => json!(format!("{seconds}s")),
        None => {
            warnings.push(format!("it had no timeout; here a run ends after {NO_TIMEOUT}: --timeout says otherwise"));
            json!(NO_TIMEOUT)
        }
    }
}

/// XXL-JOB tries again at once.
fn retry(row: &DumpRow, warnings: &mut Vec<String>) -> Value {
    let again = row.number("executor_fail_retry_count").and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
    let attempts = again.saturating_add(1);
    if attempts > ATTEMPTS_MAX {
        warnings.push(format!("it was tried {attempts} times; here at most {ATTEMPTS_MAX} times"));
    }
    json!({ "max_attempts": attempts.min(ATTEMPTS_MAX), "backoff": "1s" })
}

pub(super) fn children(row: &DumpRow) -> Vec<i64> {
    let named = row.text("child_jobid").unwrap_or_default();
    named.split(',').filter_map(|id| id.trim().parse().ok()).collect()
}
