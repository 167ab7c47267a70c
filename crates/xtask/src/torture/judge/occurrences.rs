//! Every target has one outcome, every outcome a target, and every reason is one that can be understood.

use std::collections::{BTreeMap, BTreeSet};

use super::super::jobs::{BlockRule, DeedKind, OrderedJob};
use super::super::stream::{JobRecord, StreamEvent};
use super::runs::RunStory;
use super::{JudgedTarget, Judgement, MISFIRE_MS, ON_TIME_MS, TargetEnd, TrialRecord, is_once};

/// What one wake fires at most; the rest is one record.
const CATCH_UP_MAX: usize = 100;
const QUEUE_MAX: usize = 100;

pub(super) fn judge(
    trial: &TrialRecord,
    index: usize,
    record: &JobRecord,
    runs: &BTreeMap<String, RunStory>,
    judgement: &mut Judgement,
) {
    let job = &trial.jobs[index];
    let Some(created) = record.events.first().filter(|event| event.kind == "JobScheduled") else {
        return judgement.breach("P9", &record.label, None, "its stream does not begin with its creation");
    };
    let targets = targets(job, record, created.at);
    let outcomes = outcomes(record);
    let gaps: Vec<(i64, i64, u64)> =
        record.events.iter().filter(|event| is_skip(event)).filter_map(StreamEvent::gap).collect();
    for nominal in outcomes.keys().filter(|nominal| !targets.contains(nominal)) {
        judgement.breach("P2", &record.label, Some(*nominal), "an outcome of what is no target");
    }
    for (from, to, count) in &gaps {
        let promised = targets.range(from..=to).count();
        if promised as u64 != *count {
            judgement.breach(
                "P1",
                &record.label,
                Some(*from),
                format!("a record of {count} occurrences where there are {promised}"),
            );
        }
    }
    for event in record.events.iter().filter(|event| is_skip(event)) {
        judge_reason(trial, job, record, event, judgement);
    }
    for at in targets {
        let single = outcomes.get(&at).map_or(&[][..], Vec::as_slice);
        let in_gaps = gaps.iter().filter(|(from, to, _)| (*from..=*to).contains(&at)).count();
        if single.len() + in_gaps > 1 {
            judgement.breach("P3", &record.label, Some(at), format!("{} outcomes", single.len() + in_gaps));
        }
        let end = match (single.first(), in_gaps) {
            (Some(event), _) => end_of(job, record, event, runs, trial, judgement),
            (None, 1..) => TargetEnd::Skipped { reason: reason_of_gap(record, at) },
            (None, 0) if record.next_tick_at.is_some_and(|next| next <= at) && at + ON_TIME_MS > record.read_at => {
                TargetEnd::StillDue
            }
            (None, 0) => {
                judgement.breach("P1", &record.label, Some(at), "no outcome");
                TargetEnd::Unexplained
            }
        };
        judgement.targets.push(JudgedTarget { job: index, at, end });
    }
    judge_tail(trial, job, index, judgement);
}

/// What the calendar promised from the creation of the job until it was cancelled, or read.
fn targets(job: &OrderedJob, record: &JobRecord, created_at: i64) -> BTreeSet<i64> {
    let from = if is_once(&job.plan.rhythm) { i64::MIN / 2 } else { created_at };
    let cancelled = record.events.iter().find(|event| event.kind == "JobCancelled").map(|event| event.at + 1);
    // A clock that was ahead has come to more of them.
    let recorded = record.events.iter().filter_map(StreamEvent::nominal).max().unwrap_or(0);
    let read = record.read_at.max(recorded + 1);
    job.plan.rhythm.targets(from, cancelled.unwrap_or(read)).into_iter().collect()
}

fn is_skip(event: &StreamEvent) -> bool {
    event.kind == "JobSkipped"
}

/// The events that speak of one occurrence only.
fn outcomes(record: &JobRecord) -> BTreeMap<i64, Vec<&StreamEvent>> {
    let mut outcomes: BTreeMap<i64, Vec<&StreamEvent>> = BTreeMap::new();
    let mut triggered = BTreeSet::new();
    for event in &record.events {
        let is_outcome = match event.kind.as_str() {
            "JobTriggered" => event.run().is_some_and(|run| triggered.insert(run.to_owned())),
            // A run that was there already, and was given up, has its outcome.
            "JobSkipped" => event.gap().is_none() && event.run().is_none_or(|run| !triggered.contains(run)),
            _ => false,
        };
        if let (true, Some(nominal)) = (is_outcome, event.nominal()) {
            outcomes.entry(nominal).or_default().push(event);
        }
    }
    outcomes
}

fn end_of(
    job: &OrderedJob,
    record: &JobRecord,
    event: &StreamEvent,
    runs: &BTreeMap<String, RunStory>,
    trial: &TrialRecord,
    judgement: &mut Judgement,
) -> TargetEnd {
    let nominal = event.nominal().unwrap_or(0);
    if is_skip(event) {
        return TargetEnd::Skipped { reason: event.reason().to_owned() };
    }
    if job.plan.misfire == "do_nothing" && event.at - nominal > MISFIRE_MS {
        judgement.breach(
            "P2",
            &record.label,
            Some(nominal),
            format!("fired {} ms late, against its policy", event.at - nominal),
        );
    }
    let run = event.run().unwrap_or_default();
    let Some(story) = runs.get(run) else { return TargetEnd::Unexplained };
    let Some(first) = story.attempts.first() else {
        return match story.end {
            Some("skipped") => TargetEnd::Skipped { reason: "expired".to_owned() },
            Some("cancelled") => TargetEnd::Skipped { reason: "cancelled with its job".to_owned() },
            _ => TargetEnd::Waiting,
        };
    };
    let began =
        trial.evidence.executions.get(&(run.to_owned(), first.attempt)).map_or(first.at, |execution| execution.began);
    let late_ms = began - nominal;
    if late_ms > ON_TIME_MS { TargetEnd::Late { late_ms } } else { TargetEnd::OnTime { late_ms } }
}

fn reason_of_gap(record: &JobRecord, at: i64) -> String {
    let speaks_of_it =
        |event: &&StreamEvent| is_skip(event) && event.gap().is_some_and(|(from, to, _)| (from..=to).contains(&at));
    record.events.iter().find(speaks_of_it).map(|event| event.reason().to_owned()).unwrap_or_default()
}

/// A reason is believed only where it can be.
fn judge_reason(
    trial: &TrialRecord,
    job: &OrderedJob,
    record: &JobRecord,
    event: &StreamEvent,
    judgement: &mut Judgement,
) {
    let (from, to) = match (event.gap(), event.nominal()) {
        (Some((from, to, _)), _) => (from, to),
        (None, Some(nominal)) => (nominal, nominal),
        // A trigger by hand that its job's rules discarded.
        (None, None) => (event.at, event.at),
    };
    let open = || open_runs(record, event.version);
    let believed = match event.reason() {
        "misfire" => event.at - to > MISFIRE_MS,
        "catch_up_limit" => job.plan.misfire == "fire_all" || triggered_at(record, event.at) >= CATCH_UP_MAX,
        "paused" => paused(trial, job, from, to),
        "overlap" => job.plan.block == BlockRule::Discard && open() > 0,
        "queue_full" => job.plan.block != BlockRule::Discard && open() >= QUEUE_MAX,
        _ => false,
    };
    if !believed {
        judgement.breach(
            "P2",
            &record.label,
            Some(to),
            format!("skipped as {:?} without cause: {}", event.reason(), event.data),
        );
    }
}

/// Runs that were not over when this was written.
fn open_runs(record: &JobRecord, version: u64) -> usize {
    let mut open = BTreeSet::new();
    for event in record.events.iter().take_while(|event| event.version < version) {
        let Some(run) = event.run() else { continue };
        if event.is_terminal() {
            open.remove(run);
        } else if event.kind == "JobTriggered" {
            open.insert(run);
        }
    }
    open.len()
}

fn triggered_at(record: &JobRecord, at: i64) -> usize {
    record.events.iter().filter(|event| event.kind == "JobTriggered" && event.at == at).count()
}

/// Whether somebody had paused the job then, as far as anybody can know.
fn paused(trial: &TrialRecord, job: &OrderedJob, from: i64, to: i64) -> bool {
    let slack = trial.apart_ms();
    let mut resumes = job.accepted(&DeedKind::Resume);
    job.accepted(&DeedKind::Pause).any(|pause| {
        let resumed = resumes.find(|resume| resume.invoked >= pause.invoked).and_then(|resume| resume.completed);
        pause.invoked - slack <= from && to <= resumed.unwrap_or(trial.to) + slack
    })
}

/// The first five beats in the calm are fired, and on time.
fn judge_tail(trial: &TrialRecord, job: &OrderedJob, index: usize, judgement: &mut Judgement) {
    if !job.plan.is_tail {
        return;
    }
    let calm: Vec<JudgedTarget> = judgement
        .targets
        .iter()
        .filter(|target| target.job == index && target.at >= trial.calm_from)
        .take(5)
        .cloned()
        .collect();
    if calm.len() < 5 {
        judgement.breach("P11", &job.plan.label, None, format!("only {} targets after the last fault", calm.len()));
    }
    for target in calm.iter().filter(|target| !matches!(target.end, TargetEnd::OnTime { .. })) {
        judgement.breach("P11", &job.plan.label, Some(target.at), format!("{:?} although all was well", target.end));
    }
}
