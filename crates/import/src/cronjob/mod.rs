//! CronJobs of Kubernetes: one document, several, or a list, as files and `kubectl get -o yaml` have them.
//!
//! Invariant: every field of a CronJob is carried over, known to mean nothing here, or named in a warning.

mod container;
mod left_out;
mod references;
mod spec;

use serde_json::Value;

use super::draft::{Imported, JobDraft, Refused};

/// Why a file is no YAML.
pub type NotYaml = serde_saphyr::Error;

pub fn read(text: &str) -> Result<Imported, NotYaml> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    let mut reading = Imported::default();
    documents.iter().for_each(|document| add(document, &mut reading));
    Ok(reading)
}

fn add(document: &Value, reading: &mut Imported) {
    match (document["kind"].as_str(), document["items"].as_array()) {
        (Some(kind), Some(items)) if kind.ends_with("List") => items.iter().for_each(|item| add(item, reading)),
        (Some("CronJob"), _) => match draft(document) {
            Ok(draft) => reading.drafts.push(draft),
            Err(why) => reading.refused.push(Refused { place: place(document), why }),
        },
        (None, _) if document.is_null() => {}
        (kind, _) => {
            let (kind, name) = (kind.unwrap_or("a document without a kind"), name(document));
            reading.notes.push(format!("{} is left out: only CronJobs are imported", format!("{kind} {name}").trim()));
        }
    }
}

fn draft(document: &Value) -> Result<JobDraft, String> {
    let label = name(document);
    if label.is_empty() {
        return Err("has no metadata.name".to_owned());
    }
    let mut warnings = left_out::warnings(document);
    let mut fields = spec::fields(&document["spec"], &mut warnings)?;
    fields.insert("tool_name".to_owned(), Value::from("shell"));
    fields.insert("tool_input".to_owned(), container::input(pod(document), &mut warnings)?);
    if let Some(text) = description(document) {
        fields.insert("description".to_owned(), text.clone());
    }
    let held = document["spec"]["suspend"] == true;
    Ok(JobDraft { place: place(document), label, fields, stated: spec::STATED, held, warnings })
}

fn pod(document: &Value) -> &Value {
    &document["spec"]["jobTemplate"]["spec"]["template"]["spec"]
}

/// `namespace/name`, or the name alone.
fn name(document: &Value) -> String {
    let metadata = &document["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    match metadata["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

fn place(document: &Value) -> String {
    format!("CronJob {}", name(document)).trim().to_owned()
}

fn description(document: &Value) -> Option<&Value> {
    let annotations = document["metadata"]["annotations"].as_object()?;
    let texts = ["kubernetes.io/description", "description"].iter().filter_map(|name| annotations.get(*name));
    texts.into_iter().find(|text| text.as_str().is_some_and(|text| !text.trim().is_empty()))
}

#[cfg(test)]
mod tests;
