//! What a file asks for against the jobs there are: new, changed, the same, or no longer asked for.

use std::collections::BTreeMap;

use ordo_model::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error;
use ordo_import::{Imported, JobDraft};

/// Which jobs of the server belong to the file.
#[derive(Debug, Clone)]
pub(super) enum ImportScope {
    /// All whose label begins so: one that is no longer in the file is reported.
    Beginning(String),
    /// Only those the file names.
    Named,
}

/// Printed as it is for programs.
#[derive(Debug, Serialize)]
pub(super) struct ImportItem {
    pub(super) place: String,
    pub(super) label: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    #[serde(flatten)]
    pub(super) act: Act,
}

#[derive(Debug, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(super) enum Act {
    /// The id is there once the job is.
    New {
        #[serde(rename = "job", serialize_with = "fields")]
        draft: JobDraft,
        id: Option<String>,
    },
    Changed {
        id: String,
        #[serde(skip)]
        revision: Option<u64>,
        changes: Vec<FieldDifference>,
    },
    Same {
        id: String,
    },
    /// On the server, but no longer in the file.
    Gone {
        id: String,
    },
    Refused {
        #[serde(rename = "reason")]
        why: String,
    },
}

fn fields<S: Serializer>(draft: &JobDraft, serializer: S) -> Result<S::Ok, S::Error> {
    draft.fields.serialize(serializer)
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct FieldDifference {
    pub(super) field: &'static str,
    pub(super) from: Value,
    pub(super) to: Value,
}

impl ImportItem {
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.act, Act::Refused { .. })
    }
}

pub(super) async fn with_server(
    talk: &CommandSession,
    reading: &Imported,
    wanted: ImportScope,
) -> error::Result<Vec<ImportItem>> {
    let jobs = living(talk, reading, wanted).await?;
    Ok(all(reading, &jobs, talk.now()))
}

/// The jobs that are not over, by label.
async fn living(
    talk: &CommandSession,
    reading: &Imported,
    wanted: ImportScope,
) -> error::Result<BTreeMap<String, Vec<Value>>> {
    let mut found = Vec::new();
    match wanted {
        ImportScope::Beginning(prefix) => {
            found = pages::items(talk, "/v1/jobs", &[("label_prefix", Some(prefix))], usize::MAX).await?.items;
        }
        ImportScope::Named => {
            for draft in &reading.drafts {
                let label = [("label", Some(draft.label.clone()))];
                found.extend(pages::items(talk, "/v1/jobs", &label, usize::MAX).await?.items);
            }
        }
    }
    let mut jobs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for job in found.into_iter().filter(|job| !matches!(job["state"].as_str(), Some("finished" | "cancelled"))) {
        jobs.entry(text(&job, "label")).or_default().push(job);
    }
    Ok(jobs)
}

fn all(reading: &Imported, jobs: &BTreeMap<String, Vec<Value>>, now: Timestamp) -> Vec<ImportItem> {
    let mut items: Vec<ImportItem> = reading.drafts.iter().map(|draft| one(draft, jobs, now)).collect();
    items.extend(reading.refused.iter().map(|refused| ImportItem {
        place: refused.place.clone(),
        label: String::new(),
        warnings: Vec::new(),
        act: Act::Refused { why: refused.why.clone() },
    }));
    let is_asked_for = |label: &str| reading.drafts.iter().any(|draft| draft.label == label);
    let gone = jobs.iter().filter(|(label, _)| !is_asked_for(label)).flat_map(|(label, jobs)| {
        jobs.iter().map(|job| ImportItem {
            place: String::new(),
            label: label.clone(),
            warnings: Vec::new(),
            act: Act::Gone { id: text(job, "id") },
        })
    });
    items.extend(gone);
    items
}

fn one(draft: &JobDraft, jobs: &BTreeMap<String, Vec<Value>>, now: Timestamp) -> ImportItem {
    let mut warnings = draft.warnings.clone();
    let act = match (draft.normal(now), jobs.get(&draft.label).map(Vec::as_slice)) {
        (Err(why), _) => Act::Refused { why },
        (Ok(_), None | Some([])) => Act::New { draft: draft.clone(), id: None },
        (Ok(normal), Some([job])) => {
            warnings.extend(state_warning(draft, job));
            against(draft, &normal, job)
        }
        (Ok(_), Some(_)) => {
            Act::Refused { why: format!("several jobs are called {:?}: cancel all but one", draft.label) }
        }
    };
    ImportItem { place: draft.place.clone(), label: draft.label.clone(), warnings, act }
}

/// Whether a job fires is decided once, when it is made; from then on by people.
fn state_warning(draft: &JobDraft, job: &Value) -> Option<String> {
    let differs = draft.held && job["state"] == "active";
    differs.then(|| format!("it is suspended in the file, but active here: ordo job pause {}", draft.label))
}

fn against(draft: &JobDraft, normal: &Map<String, Value>, job: &Value) -> Act {
    let changes: Vec<FieldDifference> = draft.stated.iter().filter_map(|field| change(field, normal, job)).collect();
    let id = text(job, "id");
    if changes.is_empty() { Act::Same { id } } else { Act::Changed { id, revision: job["revision"].as_u64(), changes } }
}

fn change(field: &'static str, normal: &Map<String, Value>, job: &Value) -> Option<FieldDifference> {
    let (mut to, from) = (normal.get(field).cloned().unwrap_or_default(), job[field].clone());
    if field == "trigger" && to.get("every").is_some() && to["every"] == from["every"] {
        // An interval counts from the moment it was made; that moment is not in the file.
        to["start"] = from["start"].clone();
    }
    (to != from).then_some(FieldDifference { field, from, to })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ordo_import::crontab::{self, CrontabFormat, CrontabOrigin};

    fn reading(text: &str) -> Imported {
        let origin = CrontabOrigin {
            format: CrontabFormat::User,
            name: "crontab".into(),
            zone: "UTC".into(),
            cwd: Some("/".into()),
        };
        crontab::read(text, &origin)
    }

    fn now() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }

    /// The jobs that a server has after it imported this.
    fn server(text: &str) -> BTreeMap<String, Vec<Value>> {
        let mut jobs = BTreeMap::new();
        for draft in reading(text).drafts {
            let mut job = Value::Object(draft.normal(now()).unwrap());
            job["id"] = json!("an id");
            job["state"] = json!("active");
            job["revision"] = json!(3);
            jobs.insert(draft.label, vec![job]);
        }
        jobs
    }

    fn acts(text: &str, jobs: &BTreeMap<String, Vec<Value>>) -> Vec<String> {
        let name = |item: ImportItem| match item.act {
            Act::New { .. } => "new".to_owned(),
            Act::Changed { changes, .. } => changes.iter().map(|change| change.field).collect::<Vec<_>>().join(","),
            Act::Same { .. } => "same".to_owned(),
            Act::Gone { .. } => "gone".to_owned(),
            Act::Refused { why } => why,
        };
        all(&reading(text), jobs, now()).into_iter().map(name).collect()
    }

    #[test]
    fn the_same_file_changes_nothing() {
        let text = "MAILTO=x\nA=1\n# about it\n0 2 * * * backup%in\n@reboot start\nRANDOM_DELAY=3\n*/5 * * * 1 poll";
        assert_eq!(acts(text, &BTreeMap::new()), ["new", "new", "new"]);
        assert_eq!(acts(text, &server(text)), ["same", "same", "same"]);
    }

    #[test]
    fn what_differs_is_named_by_its_field() {
        let jobs = server("# old\n0 2 * * * backup");
        assert_eq!(acts("# old\n0 3 * * * backup", &jobs), ["trigger"]);
        assert_eq!(acts("A=1\n0 2 * * * backup", &jobs), ["description,tool_input"]);
        assert_eq!(acts("# old\n0 2 * * * another", &jobs), ["new", "gone"]);
        assert!(acts("# old\n0 99 * * * backup", &jobs)[0].contains("hour"), "{:?}", acts("0 99 * * * backup", &jobs));
    }

    #[test]
    fn what_a_person_made_of_a_job_stays_where_the_file_says_nothing() {
        let mut jobs = server("0 2 * * * backup");
        for job in jobs.values_mut().flatten() {
            job["timeout"] = json!("5m");
            job["block"] = json!("serial");
            job["state"] = json!("paused");
        }
        assert_eq!(acts("0 2 * * * backup", &jobs), ["same"]);
    }

    #[test]
    fn of_several_jobs_with_the_label_none_is_touched() {
        let mut jobs = server("0 2 * * * backup");
        for jobs in jobs.values_mut() {
            jobs.push(jobs[0].clone());
        }
        assert!(acts("0 3 * * * backup", &jobs)[0].contains("several"));
    }
}
