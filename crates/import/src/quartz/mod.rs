//! Jobs and triggers of Quartz, as its XML files (`job-scheduling-data`) have them, of Quartz.NET too.
//!
//! Invariant: each trigger becomes one job. What a class does stays in the application: the class is the tool, offered
//! by an executor of the group that was asked for.

mod cron;
mod trigger;
mod xml;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::draft::{Imported, JobDraft, Refused, description, tell_apart};
use trigger::Plan;
use xml::Element;

pub use xml::NotXml;

const STATED: &[&str] = &["description", "tool_name", "tool_input", "trigger", "misfire", "priority"];
/// Quartz's own job for a program of the system.
const NATIVE_JOB: &str = "org.quartz.jobs.NativeJob";
const NATIVE_JOB_OF_OLD: &str = "org.quartz.jobs.ee.NativeJob";
const DEFAULT_GROUP: &str = "DEFAULT";

/// What the file does not say.
#[derive(Debug, Clone)]
pub struct QuartzOrigin {
    /// The group whose executors offer the classes as tools.
    pub group: String,
    /// For triggers without a time zone: that of the machine Quartz ran on.
    pub zone: String,
}

pub fn read(text: &str, origin: &QuartzOrigin) -> Result<Imported, NotXml> {
    let root = xml::parse(text)?;
    let jobs: Vec<&Element> = root.descendants("job").into_iter().filter(|job| job.child("name").is_some()).collect();
    let details: BTreeMap<String, &Element> = jobs.iter().map(|job| (key(job, "name", "group"), *job)).collect();
    let triggers: Vec<&Element> = root.descendants("trigger").into_iter().flat_map(|outer| &outer.children).collect();
    let mut reading = Imported::default();
    for trigger in &triggers {
        let place = format!("trigger {}", key(trigger, "name", "group"));
        let job = key(trigger, "job-name", "job-group");
        let several = triggers.iter().filter(|other| key(other, "job-name", "job-group") == job).count() > 1;
        match details.get(&job) {
            None => reading.refused.push(Refused { place, why: format!("its job {job:?} is not in the file") }),
            Some(detail) => match draft(detail, Some(trigger), several, origin) {
                Ok(draft) => reading.drafts.push(JobDraft { place, ..draft }),
                Err(why) => reading.refused.push(Refused { place, why }),
            },
        }
    }
    let has_trigger = |name: &String| triggers.iter().any(|other| key(other, "job-name", "job-group") == *name);
    for (name, detail) in details.iter().filter(|(name, _)| !has_trigger(name)) {
        let place = format!("job {name}");
        match draft(detail, None, false, origin) {
            Ok(draft) => reading.drafts.push(JobDraft { place, ..draft }),
            Err(why) => reading.refused.push(Refused { place, why }),
        }
    }
    note(&mut reading);
    tell_apart(&mut reading.drafts);
    Ok(reading)
}

fn note(reading: &mut Imported) {
    if !reading.drafts.is_empty() {
        reading.notes.push(
            "@DisallowConcurrentExecution stands in the classes, not in the file: the jobs may overlap as Quartz lets \
             them; where a class forbids it: ordo job update LABEL --block serial"
                .to_owned(),
        );
    }
}

/// `group/name`; the group that Quartz gives by itself is left out.
fn key(element: &Element, name: &str, group: &str) -> String {
    let text = |child: &str| element.text(child).unwrap_or_default();
    match text(group) {
        "" | DEFAULT_GROUP => text(name).to_owned(),
        group => format!("{group}/{}", text(name)),
    }
}

fn draft(
    detail: &Element,
    trigger: Option<&Element>,
    several: bool,
    origin: &QuartzOrigin,
) -> Result<JobDraft, String> {
    let label = match trigger.filter(|_| several) {
        Some(trigger) => format!("{} ({})", key(detail, "name", "group"), trigger.text("name").unwrap_or_default()),
        None => key(detail, "name", "group"),
    };
    let plan = match trigger {
        Some(trigger) => trigger::plan(trigger, &origin.zone)?,
        None => Plan {
            warnings: vec!["it has no trigger: it runs only when triggered by hand".to_owned()],
            ..Plan::manual()
        },
    };
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("trigger", plan.trigger);
    put("misfire", plan.misfire);
    put("block", json!("concurrent"));
    let mut warnings = plan.warnings;
    does(detail, trigger, origin, &mut warnings)?.into_iter().for_each(|(name, value)| put(name, value));
    if let Some(priority) = plan.priority {
        put("priority", json!(priority));
    }
    if detail.text("recover").or_else(|| detail.text("requests-recovery")) == Some("true") {
        put("idempotent", json!(true));
    }
    let texts = [detail.text("description"), trigger.and_then(|trigger| trigger.text("description"))];
    let text = texts.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        put("description", json!(description(&text)));
    }
    Ok(JobDraft { place: String::new(), label, fields, stated: STATED, held: false, warnings })
}

/// The class is the tool and its data the input; a native job is a command.
fn does(
    detail: &Element,
    trigger: Option<&Element>,
    origin: &QuartzOrigin,
    warnings: &mut Vec<String>,
) -> Result<Vec<(&'static str, Value)>, String> {
    let class = detail.text("job-class").or_else(|| detail.text("job-type")).filter(|class| !class.is_empty());
    let class = class.ok_or("its job has no job-class")?;
    // Of `MyApp.Report, MyApp` the assembly means nothing to others.
    let class = class.split(',').next().unwrap_or(class).trim();
    let mut data = data_of(detail);
    data.extend(trigger.map(data_of).unwrap_or_default());
    if [NATIVE_JOB, NATIVE_JOB_OF_OLD].contains(&class) {
        return native(&data, warnings);
    }
    Ok(vec![("tool_name", json!(class)), ("tool_input", Value::Object(data)), ("group", json!(origin.group))])
}

/// What a trigger brings along goes before what its job has.
fn data_of(element: &Element) -> Map<String, Value> {
    let entries = element.child("job-data-map").map(|map| map.children.as_slice()).unwrap_or_default();
    let pair = |entry: &Element| Some((entry.text("key")?.to_owned(), json!(entry.text("value").unwrap_or_default())));
    entries.iter().filter_map(pair).collect()
}

fn native(data: &Map<String, Value>, warnings: &mut Vec<String>) -> Result<Vec<(&'static str, Value)>, String> {
    let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("command").is_empty() {
        return Err("its native job has no command".to_owned());
    }
    if text("waitForProcess") == "false" {
        warnings.push("waitForProcess is left out: a run ends when its command does".to_owned());
    }
    let script = format!("{} {}", text("command"), text("parameters"));
    Ok(vec![("tool_name", json!("shell")), ("tool_input", json!({ "script": script.trim() }))])
}

#[cfg(test)]
mod tests;
