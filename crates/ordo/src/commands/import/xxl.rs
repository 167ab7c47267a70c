//! `ordo import xxl`: the jobs of a dump, held; chained as they were; started at the moment of the cut-over.
//!
//! Invariant: what is imported does not fire before `--cut-over`, and then nothing of it fires before the time that was named:
//! whatever is due earlier is XXL-JOB's.

use std::collections::BTreeMap;

use ordo_import::JobDraft;
use ordo_import::xxl::{self, XxlOrigin, XxlReading};
use ordo_model::{Millis, Timestamp};
use serde_json::{Value, json};

use super::compare::{self, ImportScope};
use super::{carry, origin, report};
use crate::cli::import::{ImportArgs, XxlArgs};
use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output;

pub(super) async fn run(talk: &CommandSession, args: &XxlArgs) -> Result<Exit> {
    let reading = read(args)?;
    let common = ImportArgs { held: true, dry_run: args.dry_run };
    if reading.imported.drafts.is_empty() && reading.imported.refused.is_empty() {
        return Err(Error::failed("there is no row of xxl_job_info in the dump"));
    }
    let mut items = compare::with_server(talk, &reading.imported, ImportScope::Named).await?;
    if !args.dry_run {
        carry::out(talk, &mut items, true).await?;
        let jobs = ImportedJobs::find(talk, &reading).await?;
        jobs.chain(talk, &reading).await?;
        if let Some(at) = args.cut_over {
            let begun = jobs.cut_over(talk, &reading, at).await?;
            let jobs = if begun == 1 { "1 job is".to_owned() } else { format!("{begun} jobs are") };
            output::note(&format!("{jobs} active, with nothing due before {at}; those that were stopped stay held"));
        }
    }
    report::print(talk, &items, &reading.imported.notes, &common)?;
    Ok(if items.iter().any(compare::ImportItem::is_refused) { Exit::Failed } else { Exit::Done })
}

fn read(args: &XxlArgs) -> Result<XxlReading> {
    let mut files = Vec::new();
    for file in &args.source.files {
        files.push((file.display().to_string(), origin::text(file)?));
    }
    let zone = origin::zone_name(args.tz.as_deref())?;
    xxl::read(&files, &XxlOrigin { zone })
        .map_err(|error| Error::failed("the file is no dump that mysqldump wrote").detail(error.to_string()))
}

/// The jobs of the dump as they are on the server, by label.
struct ImportedJobs(BTreeMap<String, Value>);

impl ImportedJobs {
    async fn find(talk: &CommandSession, reading: &XxlReading) -> Result<ImportedJobs> {
        let mut jobs = BTreeMap::new();
        for draft in &reading.imported.drafts {
            let label = [("label", Some(draft.label.clone()))];
            let found = pages::items(talk, "/v1/jobs", &label, usize::MAX).await?.items;
            let living = |job: &&Value| !matches!(job["state"].as_str(), Some("finished" | "cancelled"));
            jobs.extend(found.iter().find(living).map(|job| (draft.label.clone(), job.clone())));
        }
        Ok(ImportedJobs(jobs))
    }

    /// A child runs once for each parent that completes.
    async fn chain(&self, talk: &CommandSession, reading: &XxlReading) -> Result<()> {
        for (child, parents) in &reading.chains {
            let Some(job) = self.0.get(child) else { continue };
            let ids: Vec<&Value> =
                parents.iter().filter_map(|parent| self.0.get(parent)).map(|job| &job["id"]).collect();
            let after = json!({ "jobs": ids, "mode": "any", "on": "success" });
            if job["after"] != after {
                self.patch(talk, job, &json!({ "after": after })).await?;
            }
        }
        Ok(())
    }

    /// Returns how many became active; those with a schedule are due from then on.
    async fn cut_over(&self, talk: &CommandSession, reading: &XxlReading, at: Timestamp) -> Result<usize> {
        let mut begun = 0;
        let started = reading.imported.drafts.iter().filter(|draft| reading.started.contains(&draft.label));
        for draft in started {
            let Some(job) = self.0.get(&draft.label).filter(|job| job["state"] != "active") else { continue };
            if let Some(trigger) = trigger_from(draft, at) {
                self.patch(talk, job, &json!({ "trigger": trigger })).await?;
            }
            talk.post_empty(&format!("/v1/jobs/{}/resume", text(job, "id"))).await?;
            begun += 1;
        }
        Ok(begun)
    }

    async fn patch(&self, talk: &CommandSession, job: &Value, patch: &Value) -> Result<()> {
        talk.client.patch::<Value, _>(&format!("/v1/jobs/{}", text(job, "id")), patch, None).await?;
        Ok(())
    }
}

/// The trigger with nothing before that time; an interval keeps its beat. None: it has no time of its own.
fn trigger_from(draft: &JobDraft, at: Timestamp) -> Option<Value> {
    let mut trigger = draft.fields.get("trigger")?.clone();
    if trigger["type"] != "scheduled" {
        return None;
    }
    trigger["start"] = json!(first_of(&trigger, at));
    Some(trigger)
}

/// The first time of the interval that is not before; of a calendar, the time itself.
fn first_of(trigger: &Value, at: Timestamp) -> Timestamp {
    let every: Option<Millis> = trigger["every"].as_str().and_then(|every| every.parse().ok());
    let begun: Option<Timestamp> = trigger["start"].as_str().and_then(|start| start.parse().ok());
    match (every, begun) {
        (Some(every), Some(begun)) if every > Millis::ZERO => {
            let passed = at.since(begun).ms();
            let turns = passed.div_ceil(every.ms());
            begun.plus(Millis::from_ms(turns * every.ms())).max(at)
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn an_interval_keeps_its_beat_across_the_cut_over() {
        let trigger = json!({ "type": "scheduled", "every": "30s", "start": "2026-11-17T00:00:10Z" });
        assert_eq!(first_of(&trigger, at("2026-11-17T01:00:00Z")), at("2026-11-17T01:00:10Z"));
        assert_eq!(first_of(&trigger, at("2026-11-17T01:00:10Z")), at("2026-11-17T01:00:10Z"));
        assert_eq!(first_of(&trigger, at("2026-11-17T00:00:00Z")), at("2026-11-17T00:00:10Z"));
        let cron = json!({ "type": "scheduled", "cron": "0 0 2 * * ?", "timezone": "UTC" });
        assert_eq!(first_of(&cron, at("2026-11-17T01:00:00Z")), at("2026-11-17T01:00:00Z"));
    }
}
