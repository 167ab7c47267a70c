//! When a CronJob runs and by which rules, as fields of a job.

use ordo_model::Millis;
use ordo_model::limits::{ATTEMPTS_MAX, MISFIRE_AFTER, TIMEOUT_MAX};
use serde_json::{Map, Value, json};

/// All of this a CronJob decides, by itself or by the defaults of Kubernetes.
pub(super) const STATED: &[&str] =
    &["description", "tool_name", "tool_input", "trigger", "block", "misfire", "retry", "timeout"];

/// The default of Kubernetes.
const BACKOFF_LIMIT: u64 = 6;
/// Between attempts Kubernetes waits 10 s, then twice as long each time, at most 6 minutes.
const BACKOFF: &str = "10s";
const BACKOFF_MOST: &str = "6m";

pub(super) fn fields(spec: &Value, warnings: &mut Vec<String>) -> Result<Map<String, Value>, String> {
    let job = &spec["jobTemplate"]["spec"];
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("trigger", trigger(spec)?);
    put("block", json!(block(spec)?));
    put("misfire", misfire(spec)?);
    put("retry", retry(job, warnings)?);
    put("timeout", json!(timeout(job, warnings)?));
    Ok(fields)
}

fn trigger(spec: &Value) -> Result<Value, String> {
    let schedule = spec["schedule"].as_str().ok_or("has no spec.schedule")?.trim();
    let (prefix, expression) = zone_before(schedule);
    if let Some(length) = expression.strip_prefix("@every ") {
        return Ok(json!({ "type": "scheduled", "every": length.trim() }));
    }
    // Without a zone it is that of the controller, which is UTC wherever nobody changed it.
    let zone = spec["timeZone"].as_str().or(prefix).unwrap_or("UTC");
    Ok(json!({ "type": "scheduled", "cron": expression, "timezone": zone }))
}

/// `CRON_TZ=Europe/Berlin 0 2 * * *`: never official, often used.
fn zone_before(schedule: &str) -> (Option<&str>, &str) {
    let rest = schedule.strip_prefix("CRON_TZ=").or_else(|| schedule.strip_prefix("TZ="));
    match rest.and_then(|rest| rest.split_once(char::is_whitespace)) {
        Some((zone, expression)) => (Some(zone), expression.trim()),
        None => (None, schedule),
    }
}

fn block(spec: &Value) -> Result<&'static str, String> {
    match spec["concurrencyPolicy"].as_str() {
        None | Some("" | "Allow") => Ok("concurrent"),
        Some("Forbid") => Ok("discard"),
        Some("Replace") => Ok("cover"),
        Some(other) => Err(format!("concurrencyPolicy {other:?} is not known")),
    }
}

/// Kubernetes starts the newest missed one, if it is not later than its deadline.
fn misfire(spec: &Value) -> Result<Value, String> {
    let Some(seconds) = number(spec, "startingDeadlineSeconds")? else { return Ok(json!("fire_once_now")) };
    let deadline = Millis::from_secs(seconds);
    if deadline <= MISFIRE_AFTER {
        return Ok(json!("do_nothing"));
    }
    Ok(json!({ "fire_all": { "cap": 1, "window": deadline } }))
}

fn retry(job: &Value, warnings: &mut Vec<String>) -> Result<Value, String> {
    let limit = number(job, "backoffLimit")?.unwrap_or(BACKOFF_LIMIT);
    let most = u64::from(ATTEMPTS_MAX);
    if limit >= most {
        warnings.push(format!("backoffLimit {limit}: at most {most} attempts are made"));
    }
    let attempts = limit.saturating_add(1).min(most);
    Ok(json!({ "max_attempts": attempts, "backoff": BACKOFF, "max_backoff": BACKOFF_MOST }))
}

fn timeout(job: &Value, warnings: &mut Vec<String>) -> Result<Millis, String> {
    let Some(seconds) = number(job, "activeDeadlineSeconds")? else { return Ok(TIMEOUT_MAX) };
    if number(job, "backoffLimit")? != Some(0) {
        warnings.push("activeDeadlineSeconds becomes the timeout of each attempt, not of all together".to_owned());
    }
    Ok(Millis::from_secs(seconds).min(TIMEOUT_MAX))
}

fn number(object: &Value, name: &str) -> Result<Option<u64>, String> {
    match &object[name] {
        Value::Null => Ok(None),
        value => value.as_u64().map(Some).ok_or_else(|| format!("{name} must be a number from 0 up, not {value}")),
    }
}
