//! The virtual tools: an attempt takes its time and ends well, badly, at its timeout, or not at all.
//!
//! Invariant: behaves as the engine's runner does, and is the evidence outside the store: what was really executed.

use std::collections::BTreeMap;

use ordo_engine::change::StartedAttempt;
use ordo_engine::core::{FinishedAttempt, Input};
use ordo_model::job::AttemptReport;
use ordo_model::{FencingToken, JobId, RunId, Timestamp};
use serde_json::json;

use crate::happening::Happening;
use crate::record::history::FactKind;
use crate::world::{Crash, Simulation};

/// How the work itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    Well,
    Badly,
    /// Cancelled, and stopped.
    Stopped,
    AtTimeout,
}

#[derive(Debug, Clone)]
struct SimAttempt {
    job: JobId,
    timeout_ms: i64,
    started_at: Timestamp,
    /// Never ends, even when it is cancelled.
    deaf: bool,
}

/// What the runner knows of a run: whether it was cancelled.
#[derive(Debug, Default)]
struct Hold {
    token: u64,
    stopped: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SimExecutor {
    attempts: BTreeMap<(RunId, u64), SimAttempt>,
    held: BTreeMap<RunId, Hold>,
}

impl SimExecutor {
    pub(crate) fn len(&self) -> usize {
        self.attempts.len()
    }
}

impl Simulation {
    pub(crate) fn execute(&mut self, assignment: &StartedAttempt) {
        let (run, token) = (assignment.run_id, assignment.token.0);
        let (generation, job, attempt) = (self.node().generation, assignment.job_id, assignment.attempt);
        self.fact(FactKind::Executing { generation, job, run, attempt, token });
        let timeout_ms = i64::try_from(assignment.timeout.ms()).expect("a short timeout");
        let deaf = !self.calm && self.rng.chance(10);
        let begun = SimAttempt { job, timeout_ms, started_at: self.now(), deaf };
        let executor = &mut self.node().executor;
        executor.attempts.insert((run, token), begun);
        executor.held.insert(run, Hold { token, stopped: false });
        if !deaf {
            let (after, ended) = self.work_end(timeout_ms);
            let generation = self.generation();
            self.after(after, Happening::AttemptEnds { generation, run, token, ended });
        }
    }

    /// When and how an attempt ends if nobody interferes.
    fn work_end(&mut self, timeout_ms: i64) -> (i64, WorkEnd) {
        let longest = if self.calm { 60 } else { *self.rng.pick(&[20, 500, 10_000, 100_000]) };
        let takes = self.rng.skewed(1, longest);
        let hangs = !self.calm && self.rng.chance(30);
        if hangs || takes >= timeout_ms {
            return (timeout_ms + self.rng.between(0, 50), WorkEnd::AtTimeout);
        }
        (takes, if self.rng.chance(200) { WorkEnd::Badly } else { WorkEnd::Well })
    }

    pub(crate) fn kill(&mut self, run: RunId) {
        let generation = self.generation();
        let executor = &mut self.node().executor;
        let Some(hold) = executor.held.get_mut(&run) else { return };
        hold.stopped = true;
        let token = hold.token;
        let deaf = executor.attempts.get(&(run, token)).is_none_or(|attempt| attempt.deaf);
        if !deaf {
            self.soon(40, Happening::AttemptEnds { generation, run, token, ended: WorkEnd::Stopped });
        }
    }

    pub(crate) fn attempt_ends(&mut self, run: RunId, token: u64, ended: WorkEnd) -> Result<(), Crash> {
        let executor = &mut self.node().executor;
        // It ended before, in another way.
        let Some(attempt) = executor.attempts.remove(&(run, token)) else { return Ok(()) };
        // A newer attempt of the run keeps its own entry.
        let current = executor.held.get(&run).is_some_and(|hold| hold.token == token);
        let stopped = current && executor.held.remove(&run).is_some_and(|hold| hold.stopped);
        let report = report(&attempt, token, ended, stopped);
        self.burn()?;
        self.fact(FactKind::Reported { run, token, report: report.clone() });
        let finished = FinishedAttempt { job_id: attempt.job, run_id: run, token: FencingToken(token), report };
        let generation = self.generation();
        self.soon(3, Happening::Input { generation, input: Box::new(Input::Finished(finished)) });
        Ok(())
    }

    /// What never ended comes to its end after all.
    pub(crate) fn release_deaf(&mut self) {
        let generation = self.generation();
        let Some(node) = &mut self.node else { return };
        let mut released = Vec::new();
        for ((run, token), attempt) in &mut node.executor.attempts {
            if std::mem::take(&mut attempt.deaf) {
                released.push((*run, *token));
            }
        }
        for (run, token) in released {
            self.soon(1_000, Happening::AttemptEnds { generation, run, token, ended: WorkEnd::AtTimeout });
        }
    }
}

fn report(attempt: &SimAttempt, token: u64, ended: WorkEnd, stopped: bool) -> AttemptReport {
    let started_at = attempt.started_at;
    let failed = |reason: String| AttemptReport::Failed { started_at: Some(started_at), reason };
    match (ended, stopped) {
        (WorkEnd::Well, _) => {
            AttemptReport::Completed { started_at, result: json!({ "token": token }), result_bytes: None }
        }
        (WorkEnd::Badly | WorkEnd::Stopped | WorkEnd::AtTimeout, true) => {
            AttemptReport::Cancelled { started_at: Some(started_at) }
        }
        (WorkEnd::Badly, false) => failed(format!("broke at token {token}")),
        (WorkEnd::Stopped, false) => failed("stopped".into()),
        (WorkEnd::AtTimeout, false) => failed(format!("timed out after {}ms", attempt.timeout_ms)),
    }
}
