//! Schedules of GitHub Actions: each becomes a job that starts its workflow through GitHub's API.
//!
//! Invariant: what a workflow does stays at GitHub. A job calls its `workflow_dispatch`; a workflow that does not allow
//! that, or asks how it was started, is named in a warning.

use serde_json::{Map, Value, json};

use super::draft::{Imported, JobDraft, Refused, description, tell_apart};

const STATED: &[&str] = &["description", "tool_name", "tool_input", "trigger"];

/// Why a file is no YAML.
pub type NotWorkflow = serde_saphyr::Error;

/// What a workflow does not say about itself.
#[derive(Debug, Clone)]
pub struct WorkflowOrigin {
    /// `owner/name`
    pub repository: String,
    /// The branch or tag whose version of the workflow is started.
    pub reference: String,
    /// The secret with the token that may start workflows.
    pub secret: String,
    /// Where GitHub's API is: another one for GitHub Enterprise.
    pub api: String,
}

/// `file` is the workflow's name below `.github/workflows`.
pub fn read(file: &str, text: &str, origin: &WorkflowOrigin) -> Result<Imported, NotWorkflow> {
    let workflow: Value = serde_saphyr::from_str(text)?;
    let mut reading = Imported::default();
    // A reader of YAML 1.1 takes the bare word `on` for true.
    let on = ["on", "true"].iter().map(|key| &workflow[*key]).find(|on| !on.is_null()).unwrap_or(&Value::Null);
    let schedules = on["schedule"].as_array().map(Vec::as_slice).unwrap_or_default();
    if schedules.is_empty() {
        reading.notes.push(format!("{file} is left out: it has no schedule"));
    }
    let warnings = warnings(on, text);
    for (number, schedule) in (1..).zip(schedules) {
        let place = format!("{file}, schedule {number}");
        match draft(file, &workflow, schedule, origin) {
            Ok(draft) => reading.drafts.push(JobDraft { place, warnings: warnings.clone(), ..draft }),
            Err(why) => reading.refused.push(Refused { place, why }),
        }
    }
    tell_apart(&mut reading.drafts);
    Ok(reading)
}

fn draft(file: &str, workflow: &Value, schedule: &Value, origin: &WorkflowOrigin) -> Result<JobDraft, String> {
    let cron = schedule["cron"].as_str().ok_or("it has no cron")?.trim();
    // GitHub's clock is UTC unless a zone is named.
    let zone = schedule["timezone"].as_str().unwrap_or("UTC");
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("trigger", json!({ "type": "scheduled", "cron": cron, "timezone": zone }));
    put("tool_name", json!("http"));
    put("tool_input", call(file, origin));
    put("timeout", json!("1m"));
    put("retry", json!({ "max_attempts": 5, "backoff": "10s" }));
    if let Some(name) = workflow["name"].as_str() {
        put("description", json!(description(&format!("Workflow: {name}"))));
    }
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let label = format!("{}/{stem}", origin.repository);
    Ok(JobDraft { place: String::new(), label, fields, stated: STATED, held: false, warnings: Vec::new() })
}

fn call(file: &str, origin: &WorkflowOrigin) -> Value {
    let (api, repository) = (origin.api.trim_end_matches('/'), &origin.repository);
    json!({
        "method": "POST",
        "url": format!("{api}/repos/{repository}/actions/workflows/{file}/dispatches"),
        "headers": {
            "Accept": "application/vnd.github+json",
            "Authorization": { "secret": origin.secret, "prefix": "Bearer " },
            "User-Agent": "ordo",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        "body": { "ref": origin.reference },
    })
}

fn warnings(on: &Value, text: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let allows = match on {
        Value::Object(events) => events.contains_key("workflow_dispatch"),
        _ => false,
    };
    if !allows {
        warnings.push("the workflow cannot be started from outside: add workflow_dispatch: under on:".to_owned());
    }
    let required = on["workflow_dispatch"]["inputs"].as_object().into_iter().flatten();
    let required = required.filter(|(_, input)| input["required"] == true && input["default"].is_null());
    for (name, _) in required {
        warnings.push(format!("the input {name:?} is required: add it to tool_input.body.inputs"));
    }
    if text.contains("github.event.schedule") || text.contains("'schedule'") {
        warnings
            .push("the workflow asks whether it was started by its schedule: now it is a workflow_dispatch".to_owned());
    }
    warnings.push("take the schedule out of the workflow, or it runs twice; --held waits until you have".to_owned());
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIGHTLY: &str = r#"
name: Nightly
on:
  schedule:
    # Weekdays, after the American evening
    - cron: '30 5 * * 1-5'
    - cron: "0 9 * * 0"
  workflow_dispatch:
    inputs:
      level: { required: true }
jobs:
  build:
    if: github.event.schedule != '0 9 * * 0'
    runs-on: ubuntu-latest
    steps: [{ uses: actions/checkout@v4 }, { run: make nightly }]
"#;

    fn origin() -> WorkflowOrigin {
        WorkflowOrigin {
            repository: "acme/shop".into(),
            reference: "main".into(),
            secret: "github-token".into(),
            api: "https://api.github.com".into(),
        }
    }

    #[test]
    fn each_schedule_becomes_a_job_that_starts_the_workflow() {
        let reading = read("nightly.yml", NIGHTLY, &origin()).unwrap();
        let [weekdays, sunday] = reading.drafts.as_slice() else { panic!("{reading:?}") };
        assert_eq!((weekdays.label.as_str(), sunday.label.as_str()), ("acme/shop/nightly", "acme/shop/nightly (2)"));
        assert_eq!(weekdays.fields["trigger"], json!({"type": "scheduled", "cron": "30 5 * * 1-5", "timezone": "UTC"}));
        let input = &weekdays.fields["tool_input"];
        assert_eq!(input["url"], "https://api.github.com/repos/acme/shop/actions/workflows/nightly.yml/dispatches");
        assert_eq!(input["headers"]["Authorization"], json!({"secret": "github-token", "prefix": "Bearer "}));
        for said in ["\"level\"", "asks whether", "runs twice"] {
            assert!(weekdays.warnings.iter().any(|warning| warning.contains(said)), "{said}: {:#?}", weekdays.warnings);
        }
        weekdays.normal("2026-11-17T00:00:00Z".parse().unwrap()).unwrap();
    }

    #[test]
    fn what_has_no_schedule_or_cannot_be_started_is_named() {
        let none = read("ci.yaml", "on: [push, pull_request]\njobs: {}", &origin()).unwrap();
        assert_eq!(none.notes, ["ci.yaml is left out: it has no schedule"]);
        let closed = read("a.yml", "'on':\n  schedule: [{cron: '0 0 * * *'}, {every: 5m}]\n", &origin()).unwrap();
        assert!(closed.drafts[0].warnings[0].contains("workflow_dispatch"), "{closed:?}");
        assert_eq!(closed.refused[0].place, "a.yml, schedule 2");
        assert!(read("a.yml", "on: [", &origin()).is_err());
    }
}
