//! The verdict: what the calendar promised, what the events say and what the jobs wrote down must be one story.
//!
//! | | |
//! |---|---|
//! | P1 | no target without an outcome |
//! | P2 | no run, outcome or reason out of nowhere |
//! | P3 | no target with two outcomes |
//! | P4 | a second attempt comes after the first and under a larger fence; no report of an older one counts |
//! | P5 | runs overlap only as their job allows |
//! | P6 | nothing begins before its time |
//! | P7 | an end is final, and what is said to be done was done |
//! | P8 | no more attempts than allowed, none before its backoff |
//! | P9 | what was acknowledged is there, what was refused is not |
//! | P10 | streams have no holes, and whoever follows them misses nothing |
//! | P11 | after the last fault everything works again and nothing stays behind |

mod account;
mod executions;
mod occurrences;
mod runs;
#[cfg(test)]
mod tampered;
mod writes;

use std::collections::BTreeMap;

use super::calendar::Rhythm;
use super::evidence::EvidenceFile;
use super::follower::FollowedEvents;
use super::jobs::OrderedJob;
use super::stream::JobRecord;
use crate::lab::clock::rfc3339;

pub(super) use account::{TargetAccount, TargetEnd};

/// Later than this and it is late; twice that and it is a misfire. Written in docs/concepts.md.
pub(super) const ON_TIME_MS: i64 = 5_000;
pub(super) const MISFIRE_MS: i64 = 10_000;

#[derive(Debug, Clone)]
pub(super) struct FaultSpan {
    pub(super) what: String,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// The clock of the system was wrong by so much.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockSpan {
    pub(super) from: i64,
    pub(super) ahead_ms: i64,
}

/// All that is known when it is over.
#[derive(Debug)]
pub(super) struct TrialRecord {
    pub(super) name: &'static str,
    pub(super) seed: u64,
    pub(super) from: i64,
    /// Nothing was done to the system after this.
    pub(super) healed_at: i64,
    /// From then on everything must be as if nothing had been.
    pub(super) calm_from: i64,
    pub(super) to: i64,
    pub(super) jobs: Vec<OrderedJob>,
    pub(super) records: Vec<JobRecord>,
    pub(super) evidence: EvidenceFile,
    pub(super) faults: Vec<FaultSpan>,
    pub(super) clock: Vec<ClockSpan>,
    pub(super) seen_ends: BTreeMap<String, String>,
    pub(super) followed: FollowedEvents,
    /// What the system's own check of its store and the logs of its processes had to say, and who did not come back.
    pub(super) complaints: Vec<(&'static str, String)>,
    /// What could not be done on this machine.
    pub(super) left_out: Vec<String>,
}

impl TrialRecord {
    /// How far the clock may have run ahead of ours by then. What was ahead once stays ahead where a beat is kept.
    pub(super) fn ahead_ms(&self, at: i64) -> i64 {
        let spans = self.clock.iter().filter(|span| span.from <= at);
        spans.map(|span| span.ahead_ms).fold(0, i64::max)
    }

    /// How far the two clocks may have been apart at any time.
    pub(super) fn apart_ms(&self) -> i64 {
        self.clock.iter().map(|span| span.ahead_ms.abs()).fold(0, i64::max)
    }

    pub(super) fn fault_during(&self, from: i64, to: i64) -> bool {
        self.faults.iter().any(|fault| fault.from <= to && from <= fault.to)
    }
}

/// Something that must not be.
#[derive(Debug, Clone)]
pub(super) struct Breach {
    pub(super) property: &'static str,
    pub(super) job: String,
    pub(super) target: Option<i64>,
    pub(super) what: String,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Breach { property, job, target, what } = self;
        let target = target.map(|at| format!(" target {}", rfc3339(at))).unwrap_or_default();
        write!(f, "{property}: job {job}{target}: {what}")
    }
}

/// What became of one target.
#[derive(Debug, Clone)]
pub(super) struct JudgedTarget {
    pub(super) job: usize,
    pub(super) at: i64,
    pub(super) end: TargetEnd,
}

#[derive(Debug, Default)]
pub(super) struct Judgement {
    pub(super) targets: Vec<JudgedTarget>,
    pub(super) breaches: Vec<Breach>,
    pub(super) account: TargetAccount,
}

impl Judgement {
    fn breach(&mut self, property: &'static str, job: &str, target: Option<i64>, what: impl Into<String>) {
        self.breaches.push(Breach { property, job: job.to_owned(), target, what: what.into() });
    }
}

pub(super) fn judge(trial: &TrialRecord) -> Judgement {
    let mut judgement = Judgement::default();
    writes::judge(trial, &mut judgement);
    let mut all_runs = BTreeMap::new();
    for (index, job) in trial.jobs.iter().enumerate() {
        let Some(record) = job.id.as_ref().and_then(|id| trial.records.iter().find(|record| record.id == *id)) else {
            continue;
        };
        let runs = runs::fold(job, record, &mut judgement);
        occurrences::judge(trial, index, record, &runs, &mut judgement);
        executions::judge(trial, job, record, &runs, &mut judgement);
        all_runs.extend(runs);
    }
    executions::judge_strangers(trial, &all_runs, &mut judgement);
    for (run, seen) in &trial.seen_ends {
        runs::judge_seen(run, seen, all_runs.get(run), &mut judgement);
    }
    for (property, complaint) in &trial.complaints {
        judgement.breach(property, "-", None, complaint.clone());
    }
    judgement.account.close(&judgement.targets, trial, all_runs.len());
    judgement
}

/// Whether this is a schedule for a single moment: it is run even when it arrives too late.
fn is_once(rhythm: &Rhythm) -> bool {
    matches!(rhythm, Rhythm::Once { .. })
}
