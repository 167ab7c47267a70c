//! What a service does, run by the shell tool.

use std::collections::BTreeMap;

use ordo_model::Millis;
use ordo_model::limits::{ATTEMPTS_MAX, TIMEOUT_MAX};
use serde_json::{Map, Value, json};

use super::command::{self, ExecLine};
use super::unit::{UnitName, Units};
use super::{left_out, span};
use crate::draft::description;

/// A timer and its service decide all of this.
pub(super) const STATED: &[&str] =
    &["description", "tool_name", "tool_input", "trigger", "block", "misfire", "retry", "timeout"];

/// How often systemd starts a unit again before it gives up, unless told otherwise.
const START_LIMIT_BURST: u64 = 5;
const RESTART_SEC: Millis = Millis::from_ms(100);
const SERVICE: &str = "Service";
const UNIT: &str = "Unit";

pub(super) struct Does {
    /// All fields of a job but its label, its trigger and its misfire policy.
    pub(super) fields: Map<String, Value>,
    pub(super) warnings: Vec<String>,
}

pub(super) fn read(units: &Units, name: &UnitName) -> Result<Does, String> {
    let mut warnings = left_out::of_service(units, name);
    let mut fields = Map::new();
    let mut put = |field: &str, value: Value| drop(fields.insert(field.to_owned(), value));
    put("tool_name", json!("shell"));
    put("tool_input", input(units, name, &mut warnings)?);
    // A unit that is still active is left alone by its timer.
    put("block", json!("discard"));
    put("timeout", json!(timeout(units, name)?));
    if let Some(retry) = retry(units, name, &mut warnings)? {
        put("retry", retry);
    }
    if let Some(text) = units.value(name, UNIT, "Description") {
        put("description", json!(description(&command::resolved(text, name).unwrap_or_else(|_| text.to_owned()))));
    }
    Ok(Does { fields, warnings })
}

fn input(units: &Units, name: &UnitName, warnings: &mut Vec<String>) -> Result<Value, String> {
    let lines = |key: &str| -> Result<Vec<ExecLine>, String> {
        let read = units.values(name, SERVICE, key).into_iter().map(|line| command::parse(line, name));
        let read: Result<Vec<Vec<ExecLine>>, String> = read.collect();
        read.map(|lines| lines.concat()).map_err(|why| format!("{name}: {key}= {why}"))
    };
    let (condition, before) = (lines("ExecCondition")?, lines("ExecStartPre")?);
    let (main, after) = (lines("ExecStart")?, lines("ExecStartPost")?);
    if main.is_empty() {
        return Err(format!("{name} has no ExecStart="));
    }
    let all = || condition.iter().chain(&before).chain(&main).chain(&after);
    if all().any(|line| line.has_rights) {
        warnings.push("+ and ! before a program are left out: it runs with the rights of the daemon".to_owned());
    }
    let mut input = match main.as_slice() {
        [only] if all().count() == 1 && !only.may_fail && !only.has_variables => direct(only),
        _ => json!({ "script": script(&condition, &[before, main, after].concat()) }),
    };
    let env = environment(units, name)?;
    if !env.is_empty() {
        input["env"] = json!(env);
    }
    if let Some(folder) = folder(units, name, warnings)? {
        input["cwd"] = json!(folder);
    }
    Ok(input)
}

fn direct(line: &ExecLine) -> Value {
    let mut input = json!({ "command": line.words[0] });
    if line.words.len() > 1 {
        input["args"] = json!(line.words[1..]);
    }
    input
}

/// Each line only if those before it succeeded; a condition that does not hold ends the run well.
fn script(condition: &[ExecLine], lines: &[ExecLine]) -> String {
    let mut script = vec!["set -e".to_owned()];
    script.extend(condition.iter().map(|line| format!("{} || exit 0", line.in_shell())));
    script.extend(lines.iter().map(ExecLine::in_shell));
    script.join("\n")
}

fn environment(units: &Units, name: &UnitName) -> Result<BTreeMap<String, String>, String> {
    let mut env = BTreeMap::new();
    for line in units.values(name, SERVICE, "Environment") {
        for word in command::split(line).map_err(|why| format!("{name}: Environment= {why}"))? {
            let word = command::resolved(&word, name).map_err(|why| format!("{name}: Environment= {why}"))?;
            if let Some((key, value)) = word.split_once('=') {
                env.insert(key.to_owned(), value.to_owned());
            }
        }
    }
    Ok(env)
}

fn folder(units: &Units, name: &UnitName, warnings: &mut Vec<String>) -> Result<Option<String>, String> {
    let Some(folder) = units.value(name, SERVICE, "WorkingDirectory") else { return Ok(None) };
    let folder = folder.strip_prefix('-').unwrap_or(folder);
    if folder == "~" {
        warnings.push("WorkingDirectory=~ is left out: the home is that of another user".to_owned());
        return Ok(None);
    }
    command::resolved(folder, name).map(Some).map_err(|why| format!("{name}: WorkingDirectory= {why}"))
}

/// A oneshot has no limit unless one is set, and neither has any other service once it runs.
fn timeout(units: &Units, name: &UnitName) -> Result<Millis, String> {
    let is_oneshot = units.value(name, SERVICE, "Type") == Some("oneshot");
    let keys: &[&str] = if is_oneshot { &["TimeoutStartSec", "TimeoutSec"] } else { &["RuntimeMaxSec"] };
    let Some(text) = keys.iter().find_map(|key| units.value(name, SERVICE, key)) else { return Ok(TIMEOUT_MAX) };
    let length = span::parse(text).map_err(|why| format!("{name}: {why}"))?;
    // Zero switches the limit off.
    Ok(length.filter(|length| length.ms() > 0).unwrap_or(TIMEOUT_MAX).min(TIMEOUT_MAX))
}

fn retry(units: &Units, name: &UnitName, warnings: &mut Vec<String>) -> Result<Option<Value>, String> {
    let restart = units.value(name, SERVICE, "Restart").unwrap_or("no");
    match restart {
        "no" | "on-success" => return Ok(None),
        "on-failure" => {}
        other => warnings.push(format!("Restart={other} becomes a retry after a failure")),
    }
    let burst = units.value(name, UNIT, "StartLimitBurst");
    let limit = match burst.map(str::parse::<u64>) {
        Some(Ok(limit)) => limit.max(1),
        Some(Err(_)) | None => {
            warnings.push(format!(
                "Restart={restart} starts it again without end; here {START_LIMIT_BURST} attempts are made"
            ));
            START_LIMIT_BURST
        }
    };
    let pause = match units.value(name, SERVICE, "RestartSec") {
        Some(text) => span::parse(text).map_err(|why| format!("{name}: {why}"))?.unwrap_or(RESTART_SEC),
        None => RESTART_SEC,
    };
    Ok(Some(json!({ "max_attempts": limit.min(u64::from(ATTEMPTS_MAX)), "backoff": pause, "max_backoff": pause })))
}
