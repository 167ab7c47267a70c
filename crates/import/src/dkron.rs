//! Jobs of Dkron, as `GET /v1/jobs` of its API and the files people create jobs from have them.
//!
//! Invariant: every field of a job is carried over, known to be a record of its past, or named in a warning.

use std::collections::BTreeMap;

use ordo_model::Millis;
use ordo_model::limits::{ATTEMPTS_MAX, TIMEOUT_MAX};
use serde_json::{Map, Value, json};

use super::draft::{Imported, JobDraft, Refused, description, tell_apart};

const STATED: &[&str] = &["description", "tool_name", "tool_input", "trigger", "block", "misfire", "retry", "timeout"];

/// Carried over, or a record of what was.
const KNOWN: [&str; 27] = [
    "id",
    "name",
    "displayname",
    "schedule",
    "timezone",
    "owner",
    "owner_email",
    "disabled",
    "retries",
    "concurrency",
    "executor",
    "executor_config",
    "parent_job",
    "dependent_jobs",
    "starts_at",
    "expires_at",
    "command",
    "shell",
    "environment_variables",
    "success_count",
    "error_count",
    "last_success",
    "last_error",
    "status",
    "next",
    "metadata",
    "ephemeral",
];

/// The file is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotDkron(String);

pub fn read(text: &str) -> Result<Imported, NotDkron> {
    let jobs = match serde_json::from_str(text).map_err(|error| NotDkron(error.to_string()))? {
        Value::Array(jobs) => jobs,
        one => vec![one],
    };
    let mut reading = Imported::default();
    for (number, job) in (1..).zip(&jobs) {
        let place = match text_of(job, "name") {
            "" => format!("job {number}"),
            name => format!("job {name}"),
        };
        match draft(job) {
            Ok(draft) => reading.drafts.push(JobDraft { place, ..draft }),
            Err(why) => reading.refused.push(Refused { place, why }),
        }
    }
    tell_apart(&mut reading.drafts);
    Ok(reading)
}

fn text_of<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

fn draft(job: &Value) -> Result<JobDraft, String> {
    let label = text_of(job, "name").to_owned();
    if label.is_empty() {
        return Err("it has no name".to_owned());
    }
    let mut warnings = left_out(job);
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("trigger", trigger(job, &label, &mut warnings)?);
    let (tool, input, timeout) = does(job, &mut warnings)?;
    put("tool_name", json!(tool));
    put("tool_input", input);
    put("timeout", json!(timeout));
    put("block", json!(block(job)?));
    // Dkron forgets what fell into a time without a leader.
    put("misfire", json!("do_nothing"));
    let retries = job["retries"].as_u64().unwrap_or_default();
    put("retry", json!({ "max_attempts": (retries + 1).min(u64::from(ATTEMPTS_MAX)) }));
    if let Some(text) = about(job) {
        put("description", json!(text));
    }
    let held = job["disabled"] == true;
    Ok(JobDraft { place: String::new(), label, fields, stated: STATED, held, warnings })
}

fn left_out(job: &Value) -> Vec<String> {
    let says_something = |value: &Value| {
        !matches!(value, Value::Null) && *value != json!({}) && *value != json!([]) && *value != json!("")
    };
    let fields = job.as_object().into_iter().flatten();
    let mut warnings: Vec<String> = fields
        .filter(|(name, value)| !KNOWN.contains(&name.as_str()) && says_something(value))
        .map(|(name, _)| match name.as_str() {
            "tags" => "tags are left out: put executors into a group and the job with --group there".to_owned(),
            "processors" => "processors are left out: output is kept with each run".to_owned(),
            name => format!("{name} is left out"),
        })
        .collect();
    if job["ephemeral"] == true {
        warnings.push("ephemeral is left out: cancel the job when it is no longer wanted".to_owned());
    }
    warnings
}

fn trigger(job: &Value, label: &str, warnings: &mut Vec<String>) -> Result<Value, String> {
    let (schedule, parent) = (text_of(job, "schedule").trim(), text_of(job, "parent_job"));
    if !parent.is_empty() {
        warnings.push(format!("it runs after {parent}: once both are there, ordo job update {label} --after {parent}"));
        return Ok(json!({ "type": "manual" }));
    }
    let mut trigger = match schedule {
        "" | "@manually" => return Ok(json!({ "type": "manual" })),
        _ => scheduled(schedule, text_of(job, "timezone"))?,
    };
    for (theirs, ours) in [("starts_at", "start"), ("expires_at", "end")] {
        if !text_of(job, theirs).is_empty() && trigger.get("at").is_none() {
            trigger[ours] = job[theirs].clone();
        }
    }
    Ok(trigger)
}

fn scheduled(schedule: &str, zone: &str) -> Result<Value, String> {
    let interval = schedule.strip_prefix("@every ").map(str::trim);
    let once = schedule.strip_prefix("@at ").map(str::trim);
    let zone = if zone.is_empty() { "UTC" } else { zone };
    Ok(match (interval, once, schedule) {
        (Some(every), _, _) => json!({ "type": "scheduled", "every": every }),
        (_, Some(at), _) => json!({ "type": "scheduled", "at": at }),
        (_, _, "@minutely") => json!({ "type": "scheduled", "cron": "* * * * *", "timezone": zone }),
        (_, _, cron) if cron.starts_with('@') || cron.split_whitespace().count() == 6 => {
            json!({ "type": "scheduled", "cron": cron, "timezone": zone })
        }
        (_, _, other) => {
            return Err(format!("schedule {other:?} is none of Dkron's: it writes six fields, with seconds first"));
        }
    })
}

/// Tool, input and timeout.
fn does(job: &Value, warnings: &mut Vec<String>) -> Result<(&'static str, Value, Millis), String> {
    // Before executors were plugins, a job had its command by itself.
    let executor = match text_of(job, "executor") {
        "" if job["command"].is_string() => "shell",
        executor => executor,
    };
    let config = if job["executor_config"].is_object() { &job["executor_config"] } else { job };
    let input = match executor {
        "shell" => shell(config, warnings)?,
        "http" => http(config, warnings)?,
        "" => return Err("it has no executor".to_owned()),
        other => {
            return Err(format!("the executor {other:?} has no counterpart: write a worker that offers it as a tool"));
        }
    };
    let timeout = match config["timeout"].as_str().unwrap_or_default() {
        "" => TIMEOUT_MAX,
        // The HTTP executor counts seconds, the shell executor writes a unit.
        text => match text.parse::<u64>() {
            Ok(seconds) => Millis::from_secs(seconds),
            Err(_) => text.parse().map_err(|_| format!("timeout {text:?} is no length of time"))?,
        },
    };
    Ok((if executor == "shell" { "shell" } else { "http" }, input, timeout.min(TIMEOUT_MAX)))
}

fn is_true(value: &Value) -> bool {
    value == &json!(true) || value == &json!("true")
}

fn shell(config: &Value, warnings: &mut Vec<String>) -> Result<Value, String> {
    let command = text_of(config, "command");
    if command.is_empty() {
        return Err("it has no command".to_owned());
    }
    let mut input = if is_true(&config["shell"]) || command.contains(['"', '\'', '\\']) {
        json!({ "script": command })
    } else {
        let words: Vec<&str> = command.split_whitespace().collect();
        json!({ "command": words[0], "args": words[1..] })
    };
    let env = environment(config);
    if !env.is_empty() {
        input["env"] = json!(env);
    }
    if !text_of(config, "cwd").is_empty() {
        input["cwd"] = config["cwd"].clone();
    }
    unknown(config, &["command", "shell", "env", "cwd", "timeout"], warnings);
    Ok(input)
}

/// `A=1,B=2`, or a list from before executors were plugins.
fn environment(config: &Value) -> BTreeMap<String, String> {
    let listed = config["environment_variables"].as_array().map(Vec::as_slice).unwrap_or_default();
    let pairs = text_of(config, "env").split(',').chain(listed.iter().filter_map(Value::as_str));
    pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
        .collect()
}

fn http(config: &Value, warnings: &mut Vec<String>) -> Result<Value, String> {
    let mut input = json!({ "url": text_of(config, "url"), "method": text_of(config, "method") });
    if text_of(config, "url").is_empty() {
        return Err("it has no url".to_owned());
    }
    if text_of(config, "method").is_empty() {
        input["method"] = json!("GET");
    }
    if !text_of(config, "body").is_empty() {
        input["body"] = config["body"].clone();
    }
    let headers: Vec<String> = serde_json::from_str(text_of(config, "headers")).unwrap_or_default();
    let headers: Map<String, Value> = headers
        .iter()
        .filter_map(|header| header.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), json!(value.trim())))
        .collect();
    if !headers.is_empty() {
        input["headers"] = Value::Object(headers);
    }
    match text_of(config, "expectCode").parse::<u16>() {
        Ok(code) => input["expect"] = json!(code),
        Err(_) if text_of(config, "expectCode").is_empty() => {}
        Err(_) => warnings.push("expectCode is left out: any answer from 200 to 299 is success".to_owned()),
    }
    unknown(config, &["url", "method", "body", "headers", "expectCode", "timeout", "debug"], warnings);
    Ok(input)
}

fn unknown(config: &Value, known: &[&str], warnings: &mut Vec<String>) {
    // A job from before executors were plugins has its other fields here too.
    let is_known = |name: &str| known.contains(&name) || KNOWN.contains(&name);
    let fields = config.as_object().into_iter().flatten().filter(|(name, value)| !is_known(name) && !value.is_null());
    warnings.extend(
        fields.filter(|(name, _)| *name != "tags").map(|(name, _)| format!("executor_config.{name} is left out")),
    );
}

fn block(job: &Value) -> Result<&'static str, String> {
    match text_of(job, "concurrency") {
        "" | "allow" => Ok("concurrent"),
        "forbid" => Ok("discard"),
        other => Err(format!("concurrency {other:?} is not known")),
    }
}

fn about(job: &Value) -> Option<String> {
    let (name, owner, mail) = (text_of(job, "displayname"), text_of(job, "owner"), text_of(job, "owner_email"));
    let owner = [owner, mail].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
    let mut lines: Vec<String> = Some(name.to_owned()).filter(|name| !name.is_empty()).into_iter().collect();
    lines.extend((!owner.is_empty()).then(|| format!("Owner: {owner}")));
    let pairs = job["metadata"].as_object().into_iter().flatten();
    lines.extend(pairs.filter_map(|(key, value)| Some(format!("{key}: {}", value.as_str()?))));
    (!lines.is_empty()).then(|| description(&lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the API of Dkron 3 and 4 writes jobs.
    const EXPORTED: &str = r#"[
      {"id": "backup", "name": "backup", "displayname": "Nightly backup", "timezone": "Europe/Berlin",
       "schedule": "0 30 2 * * *", "owner": "Ops", "owner_email": "ops@example.org",
       "success_count": 41, "error_count": 0, "last_success": "2026-11-16T01:30:04Z", "last_error": null,
       "disabled": false, "tags": {"role": "db:1"}, "metadata": {"team": "storage"}, "retries": 2,
       "dependent_jobs": ["verify"], "parent_job": "", "processors": {"log": {"forward": "true"}},
       "concurrency": "forbid", "executor": "shell",
       "executor_config": {"command": "/usr/local/bin/backup --all", "env": "TARGET=s3,LEVEL=9", "cwd": "/srv", "timeout": "2h"},
       "status": "success", "next": "2026-11-17T01:30:00Z", "ephemeral": false, "expires_at": null, "starts_at": null},
      {"name": "verify", "schedule": "@manually", "parent_job": "backup", "executor": "shell",
       "executor_config": {"shell": "true", "command": "verify | tee /tmp/out", "allowed_exitcodes": "0, 2"}},
      {"name": "ping", "schedule": "@every 90s", "disabled": true, "executor": "http",
       "executor_config": {"method": "POST", "url": "https://example.org/ping", "headers": "[\"X-Key: 1\"]",
                           "body": "{}", "timeout": "10", "expectCode": "204", "debug": "true"}},
      {"name": "queue", "schedule": "@every 1m", "executor": "kafka", "executor_config": {"topic": "t"}},
      {"name": "five", "schedule": "*/5 * * * *", "executor": "shell", "executor_config": {"command": "x"}}
    ]"#;

    #[test]
    fn exported_jobs_become_jobs() {
        let reading = read(EXPORTED).unwrap();
        let [backup, verify, ping] = reading.drafts.as_slice() else { panic!("{reading:?}") };
        assert_eq!(
            Value::Object(backup.fields.clone()),
            json!({
                "description": "Nightly backup\nOwner: Ops, ops@example.org\nteam: storage",
                "trigger": {"type": "scheduled", "cron": "0 30 2 * * *", "timezone": "Europe/Berlin"},
                "tool_name": "shell",
                "tool_input": {"command": "/usr/local/bin/backup", "args": ["--all"], "cwd": "/srv",
                               "env": {"TARGET": "s3", "LEVEL": "9"}},
                "timeout": "2h", "block": "discard", "misfire": "do_nothing", "retry": {"max_attempts": 3}
            })
        );
        assert!(backup.warnings.iter().any(|warning| warning.contains("--group")), "{:?}", backup.warnings);
        assert!(backup.warnings.iter().any(|warning| warning.contains("processors")), "{:?}", backup.warnings);
        assert_eq!(verify.fields["trigger"], json!({"type": "manual"}));
        assert_eq!(verify.fields["tool_input"], json!({"script": "verify | tee /tmp/out"}));
        assert!(verify.warnings[0].contains("--after backup"), "{:?}", verify.warnings);
        assert!(verify.warnings.iter().any(|warning| warning.contains("allowed_exitcodes")));
        assert_eq!((ping.held, &ping.fields["timeout"]), (true, &json!("10s")));
        assert_eq!(
            ping.fields["tool_input"],
            json!({"url": "https://example.org/ping", "method": "POST", "headers": {"X-Key": "1"}, "body": "{}",
                   "expect": 204})
        );
        let refused: Vec<_> = reading.refused.iter().map(|refused| refused.place.as_str()).collect();
        assert_eq!(refused, ["job queue", "job five"]);
        let now = "2026-11-17T00:00:00Z".parse().unwrap();
        for draft in &reading.drafts {
            draft.normal(now).unwrap();
        }
    }

    #[test]
    fn a_job_from_before_executors_were_plugins_is_read_too() {
        let old = r#"{"name": "old", "schedule": "@hourly", "command": "date", "shell": true, "tags": {"role": "web"},
                      "environment_variables": ["A=1"]}"#;
        let reading = read(old).unwrap();
        assert_eq!(reading.drafts[0].fields["tool_input"], json!({"script": "date", "env": {"A": "1"}}));
        assert!(read("name: x").is_err());
    }
}
