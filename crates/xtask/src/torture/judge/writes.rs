//! What was asked of the system and answered; and the streams as those who follow them hear them.

use std::collections::BTreeSet;

use super::super::jobs::{DeedKind, OrderedJob};
use super::super::stream::JobRecord;
use super::{Judgement, TrialRecord};

pub(super) fn judge(trial: &TrialRecord, judgement: &mut Judgement) {
    for job in &trial.jobs {
        judge_job(trial, job, judgement);
    }
    let labels: BTreeSet<&str> = trial.jobs.iter().map(|job| job.plan.label.as_str()).collect();
    for record in &trial.records {
        if !labels.contains(record.label.as_str()) {
            judgement.breach("P2", &record.label, None, "nobody asked for this job");
        }
        judge_stream(trial, record, judgement);
    }
    for oddity in &trial.followed.oddities {
        judgement.breach("P10", "-", None, oddity.clone());
    }
}

fn judge_job(trial: &TrialRecord, job: &OrderedJob, judgement: &mut Judgement) {
    let label = &job.plan.label;
    let found: Vec<&JobRecord> = trial.records.iter().filter(|record| record.label == *label).collect();
    let Some(create) = job.deeds.first() else { return };
    match (create.completed, create.accepted) {
        (Some(_), true) if found.len() != 1 => {
            judgement.breach("P9", label, None, format!("acknowledged once, there {} times", found.len()));
        }
        (Some(_), false) if !found.is_empty() => judgement.breach("P9", label, None, "refused, and there all the same"),
        (None, _) if found.len() > 1 => judgement.breach("P9", label, None, "never acknowledged, and there twice"),
        _ => {}
    }
    for record in found {
        judge_deeds(trial, job, record, judgement);
    }
}

/// Each deed has its event, at a moment that lies between question and answer.
fn judge_deeds(trial: &TrialRecord, job: &OrderedJob, record: &JobRecord, judgement: &mut Judgement) {
    let slack = trial.apart_ms() + 5;
    let mut manual = BTreeSet::new();
    for event in record.events.iter().filter(|event| ["JobTriggered", "JobSkipped"].contains(&event.kind.as_str())) {
        if event.data["cause"]["type"] == "manual" {
            manual.extend(event.run().map(str::to_owned));
        }
    }
    for deed in job.deeds.iter().filter(|deed| deed.accepted) {
        let kind = match &deed.kind {
            DeedKind::Create => "JobScheduled",
            DeedKind::Pause => "JobPaused",
            DeedKind::Resume => "JobResumed",
            DeedKind::Cancel => "JobCancelled",
            DeedKind::Trigger { run } => {
                if !manual.remove(run) {
                    judgement.breach("P9", &record.label, None, format!("run {run} was promised and is not there"));
                }
                continue;
            }
        };
        let within = deed.invoked - slack..=deed.completed.unwrap_or(trial.to) + slack;
        if !record.events.iter().any(|event| event.kind == kind && within.contains(&event.at)) {
            judgement.breach("P9", &record.label, None, format!("{deed:?} was acknowledged and has no event"));
        }
    }
    let unknown = job
        .deeds
        .iter()
        .filter(|deed| deed.completed.is_none() && matches!(deed.kind, DeedKind::Trigger { .. }))
        .count();
    if manual.len() > unknown {
        judgement.breach("P2", &record.label, None, format!("runs that nobody asked for: {manual:?}"));
    }
}

fn judge_stream(trial: &TrialRecord, record: &JobRecord, judgement: &mut Judgement) {
    for (expected, event) in (1..).zip(&record.events) {
        if event.version != expected {
            return judgement.breach(
                "P10",
                &record.label,
                None,
                format!("version {} where {expected} belongs", event.version),
            );
        }
    }
    let last = record.events.last().map_or(0, |event| event.version);
    let heard = trial.followed.versions.get(&format!("ordo-job-{}", record.id)).copied().unwrap_or(0);
    if heard < last {
        judgement.breach("P10", &record.label, None, format!("whoever follows heard {heard} of {last} events"));
    }
}
