//! What the executor really did, against what the log says it was assigned.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::job::AttemptReport;
use ordo_model::{JobId, RunId};
use uuid::Uuid;

use super::runs::{OracleStage, Runs};
use super::{Ruling, require};

#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Attempts that may begin, by the log.
    started: BTreeMap<(RunId, u64), GivenAttempt>,
    executed: BTreeSet<(RunId, u64)>,
    executing: BTreeMap<(RunId, u64), JobId>,
    reports: BTreeMap<(RunId, u64), AttemptReport>,
    /// When the node was given the attempt, by `mono`; what a dead one was given is forgotten.
    given_at: BTreeMap<(RunId, u64), i64>,
}

/// To whom an attempt was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct GivenAttempt {
    pub(super) job: JobId,
    pub(super) generation: Uuid,
    pub(super) at: i64,
    /// How many of the job were allowed to run at once then.
    pub(super) width: usize,
    /// The store said that it is durable, and the node believed it.
    pub(super) surely: bool,
}

impl Evidence {
    pub(super) fn report(&self, run: RunId, token: u64) -> Option<AttemptReport> {
        self.reports.get(&(run, token)).cloned()
    }

    pub(super) fn started(&mut self, attempt: (RunId, u64), given: GivenAttempt) {
        self.started.insert(attempt, given);
    }

    /// Whether nobody will ever execute the attempt: the node does not know that its start was written.
    pub(super) fn is_disowned(&self, run: RunId, token: u64) -> bool {
        let unknown = self.started.get(&(run, token)).is_some_and(|given| !given.surely);
        unknown && !self.executed.contains(&(run, token))
    }

    /// The node does not know that these were written.
    pub(super) fn lost(&mut self, job: JobId, at: i64) {
        for given in self.started.values_mut().filter(|given| given.job == job && given.at == at) {
            given.surely = false;
        }
    }

    pub(super) fn executing(
        &mut self,
        job: JobId,
        run: RunId,
        token: u64,
        generation: Uuid,
        runs: Option<&Runs>,
    ) -> Ruling {
        let first = self.executed.insert((run, token));
        self.executing.insert((run, token), job);
        require(first, || format!("run {run} token {token} was executed twice"))?;
        let given = self.started.get(&(run, token)).copied();
        let given = given.ok_or_else(|| format!("run {run} token {token} was executed without a start in the log"))?;
        let (by, width) = (given.generation, given.width);
        require(by == generation, || format!("run {run} token {token} was executed; the log gave it to {by}"))?;
        let runs = runs.ok_or_else(|| format!("run {run} of a job nobody knows was executed"))?;
        let beside =
            self.executing.iter().filter(|((other, token), of)| **of == job && is_current(runs, *other, *token));
        let beside = beside.count();
        require(beside <= width, || format!("{beside} attempts of {job} execute at once, width {width}"))
    }

    /// Since when the node that generations knows how the attempt ended.
    pub(super) fn given_at(&self, run: RunId, token: u64) -> Option<i64> {
        self.given_at.get(&(run, token)).copied()
    }

    pub(super) fn reported(&mut self, run: RunId, token: u64, report: &AttemptReport, mono: i64) -> Ruling {
        self.given_at.insert((run, token), mono);
        let known = self.executing.remove(&(run, token)).is_some();
        self.reports.insert((run, token), report.clone());
        require(known, || format!("run {run} token {token} was reported but did not execute"))
    }

    pub(super) fn crashed(&mut self) {
        self.executing.clear();
        self.given_at.clear();
    }

    /// What the last generation was given to execute, and received, it did execute.
    pub(super) fn close(&self, last_generation: Option<Uuid>) -> Vec<String> {
        let missing = self.started.iter().filter(|(attempt, given)| {
            given.surely && Some(given.generation) == last_generation && !self.executed.contains(attempt)
        });
        missing.map(|((run, token), _)| format!("run {run} token {token} was started but never executed")).collect()
    }
}

fn is_current(runs: &Runs, run: RunId, token: u64) -> bool {
    runs.get(run).is_some_and(|run| matches!(&run.stage, OracleStage::Running(running) if running.token == token))
}
