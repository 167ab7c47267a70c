//! What the jobs wrote down, held against what the streams say of them.

use std::collections::BTreeMap;

use super::super::evidence::{AttemptKey, Execution};
use super::super::jobs::{BlockRule, JobWork, OrderedJob};
use super::super::stream::JobRecord;
use super::runs::RunStory;
use super::{Judgement, TrialRecord};

pub(super) fn judge(
    trial: &TrialRecord,
    job: &OrderedJob,
    record: &JobRecord,
    runs: &BTreeMap<String, RunStory>,
    judgement: &mut Judgement,
) {
    for (run, story) in runs {
        judge_run(trial, job, record, run, story, judgement);
    }
    judge_overlap(trial, job, record, runs, judgement);
}

/// Attempts of runs that nobody knows.
pub(super) fn judge_strangers(trial: &TrialRecord, runs: &BTreeMap<String, RunStory>, judgement: &mut Judgement) {
    for oddity in &trial.evidence.oddities {
        judgement.breach("P4", "-", None, oddity.clone());
    }
    for ((run, attempt), execution) in &trial.evidence.executions {
        // What beats to the end went on after its stream was read.
        let read_at =
            trial.records.iter().find(|record| record.id == execution.job).map_or(i64::MAX, |record| record.read_at);
        if !runs.contains_key(run) && execution.began < read_at {
            let what = format!("attempt {attempt} of run {run} was executed and is not recorded");
            judgement.breach("P2", &execution.job, execution.scheduled_for, what);
        }
    }
}

fn judge_run(
    trial: &TrialRecord,
    job: &OrderedJob,
    record: &JobRecord,
    run: &str,
    story: &RunStory,
    judgement: &mut Judgement,
) {
    let mut breach =
        |property, what: String| judgement.breach(property, &record.label, story.nominal, format!("run {run}: {what}"));
    let mut before: Option<&Execution> = None;
    for started in &story.attempts {
        let key: AttemptKey = (run.to_owned(), started.attempt);
        let execution = trial.evidence.executions.get(&key);
        let began = execution.map_or(started.at, |execution| execution.began);
        if let Some(nominal) = story.nominal
            && began + trial.ahead_ms(began) < nominal
        {
            breach("P6", format!("attempt {} began {} ms early", started.attempt, nominal - began));
        }
        let is_completed = started.settled.as_ref().is_some_and(|(_, kind)| kind == "JobExecuted");
        if matches!(job.plan.work, JobWork::Shell { .. })
            && is_completed
            && execution.is_none_or(|execution| execution.ended.is_none())
        {
            breach("P7", format!("attempt {} is said to have completed and did not", started.attempt));
        }
        let Some(execution) = execution else { continue };
        if started.is_returned() {
            breach("P4", format!("attempt {} was given back without having begun, and began", started.attempt));
        }
        if execution.fence != started.token || execution.scheduled_for != story.nominal || execution.job != record.id {
            breach("P2", format!("attempt {} was executed as {execution:?}, recorded as {started:?}", started.attempt));
        }
        if let Some(before) = before {
            let is_behind = before.line < execution.line && before.fence < execution.fence;
            let is_stale = before.ended.is_some_and(|ended| ended > execution.began);
            if !is_behind || (is_stale && !may_be_stale(trial, before, execution.began)) {
                breach("P4", format!("attempt {} began while the one before was still at work", started.attempt));
            }
        }
        before = Some(execution);
    }
    let latest = story.attempts.last().map_or(0, |started| started.attempt);
    let later = trial.evidence.executions.range((run.to_owned(), latest + 1)..=(run.to_owned(), u32::MAX));
    for ((_, attempt), _) in later.filter(|(_, execution)| execution.began < record.read_at) {
        breach("P2", format!("attempt {attempt} was executed and is not recorded"));
    }
}

/// An executor that was cut off or halted may go on without knowing that it was given up. Only then.
fn may_be_stale(trial: &TrialRecord, before: &Execution, until: i64) -> bool {
    trial.name != super::super::embedded::NAME && trial.fault_during(before.began, until)
}

/// Attempts of one job that were at work at the same time, as their own clocks saw it.
fn judge_overlap(
    trial: &TrialRecord,
    job: &OrderedJob,
    record: &JobRecord,
    runs: &BTreeMap<String, RunStory>,
    judgement: &mut Judgement,
) {
    let allowed = match job.plan.block {
        BlockRule::Serial | BlockRule::Discard => 1,
        BlockRule::Concurrent { max } => max,
    };
    let mut spans: Vec<(i64, i64, Option<i64>)> = Vec::new();
    for (run, story) in runs {
        for started in &story.attempts {
            let Some(execution) = trial.evidence.executions.get(&(run.clone(), started.attempt)) else { continue };
            // One that was given up and went on for a while is judged by its fence.
            let is_reported = started.settled.as_ref().is_some_and(|(_, kind)| kind == "JobExecuted");
            if let (Some(ended), true) = (execution.ended, is_reported) {
                spans.push((execution.began, ended, story.nominal));
            }
        }
    }
    spans.sort_unstable();
    for (at, (began, _, nominal)) in spans.iter().enumerate() {
        let at_work = 1 + spans[..at].iter().filter(|(_, ended, _)| ended > began).count();
        if at_work > allowed {
            judgement.breach(
                "P5",
                &record.label,
                *nominal,
                format!("{at_work} runs at work at once, {allowed} allowed"),
            );
        }
    }
}
