//! What jobs share in account: concurrency keys and rates are never exceeded, over all jobs and nodes; each end of a job
//! that others follow leads to one run of each of them.
//!
//! Invariant: keys are worked out here, from the inputs that the log shows, not taken from what the engine says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ordo_model::job::{AfterMode, Cause, Definition, Event, KeySource, Routing};
use ordo_model::{EntityId, JobId, Kind, Millis, RunId};
use serde_json::Value;

use super::WholeEntry;
use crate::oracle::{Ruling, require};
use crate::whole::facts::WholeHistory;

/// By how much the clocks of nodes that share a store may differ while they follow the store's.
const CLOCKS_DIFFER_MS: i64 = 500;

pub(super) struct SharedAccounts<'h> {
    history: &'h WholeHistory,
    jobs: BTreeMap<JobId, Arc<Definition>>,
    cancelled: BTreeSet<JobId>,
    runs: BTreeMap<RunId, SharedRun>,
    /// Attempts that are under way, by the concurrency key that they hold.
    holding: BTreeMap<RunId, String>,
    /// When attempts began, by the key of their rate and its window.
    begun: BTreeMap<(String, Millis), Vec<i64>>,
    /// Ends that count for those who follow, by run.
    ended: BTreeMap<RunId, JobId>,
    /// What must be chained: a follower, and the run after whose end it runs.
    expected: BTreeSet<(JobId, RunId)>,
    chained: BTreeSet<(JobId, RunId)>,
}

struct SharedRun {
    input: Option<Value>,
    is_shard: bool,
}

/// How a run ended, in the words that chains use.
fn end_of(event: &Event) -> Option<(RunId, &'static str)> {
    match event {
        Event::JobExecuted { run_id, .. } => Some((*run_id, "completed")),
        Event::JobFailed { run_id, retry_at: None, .. } => Some((*run_id, "failed")),
        Event::RunCancelled { run_id, .. } => Some((*run_id, "cancelled")),
        _ => None,
    }
}

impl<'h> SharedAccounts<'h> {
    pub(super) fn new(history: &'h WholeHistory) -> SharedAccounts<'h> {
        SharedAccounts {
            history,
            jobs: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            runs: BTreeMap::new(),
            holding: BTreeMap::new(),
            begun: BTreeMap::new(),
            ended: BTreeMap::new(),
            expected: BTreeSet::new(),
            chained: BTreeSet::new(),
        }
    }

    pub(super) fn logged(&mut self, entry: WholeEntry, event: &Event) -> Ruling {
        let job = JobId(entry.entity.id);
        match event {
            Event::JobScheduled { definition, .. } | Event::JobUpdated { definition, .. } => {
                self.jobs.insert(job, definition.clone());
                Ok(())
            }
            Event::JobCancelled { .. } => {
                self.cancelled.insert(job);
                Ok(())
            }
            Event::JobTriggered { run_id, cause, tool_input, .. } => {
                self.runs.insert(*run_id, SharedRun { input: tool_input.clone(), is_shard: false });
                self.after(job, cause)
            }
            Event::JobSkipped { cause, .. } => self.after(job, cause),
            Event::ShardTriggered { run_id, parent, .. } => {
                let input = self.runs.get(parent).and_then(|whole| whole.input.clone());
                self.runs.insert(*run_id, SharedRun { input, is_shard: true });
                Ok(())
            }
            Event::JobStarted { run_id, concurrency_key, .. } => {
                self.started(job, *run_id, concurrency_key.as_deref(), entry.at)
            }
            Event::JobExecuted { run_id, .. }
            | Event::JobFailed { run_id, .. }
            | Event::RunReturned { run_id, .. }
            | Event::RunCancelled { run_id, .. }
            | Event::RunExpired { run_id } => {
                self.holding.remove(run_id);
                self.ended(job, event);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn purged(&mut self, entity: EntityId) {
        if entity.kind == Kind::Job {
            self.jobs.remove(&JobId(entity.id));
        }
    }

    // --- limits -----------------------------------------------------------------------------------

    fn started(&mut self, job: JobId, run: RunId, said: Option<&str>, at: i64) -> Ruling {
        let definition = self.jobs.get(&job).ok_or("a start of an unknown job")?.clone();
        let known = self.runs.get(&run).ok_or("a start of an unknown run")?;
        // What goes to all is limited shard by shard.
        if definition.routing == Routing::ShardingBroadcast && !known.is_shard {
            return Ok(());
        }
        let input = known.input.as_ref().unwrap_or(&definition.tool_input);
        let (held, rated) = (
            definition.concurrency_key.as_ref().map(|limit| (key(&limit.key, input), limit.max as usize)),
            definition.rate_limit.as_ref().map(|rate| (key(&rate.key, input), rate)),
        );
        if let Some((key, max)) = held {
            require(said == Some(key.as_str()), || format!("run {run} holds {key}, the log says {said:?}"))?;
            let others = self.holding.values().filter(|other| **other == key).count();
            self.holding.insert(run, key.clone());
            require(others < max, || format!("run {run} began beside {others} others with {key}, {max} may run"))?;
        }
        if let Some((key, rate)) = rated {
            let begun = self.begun.entry((key.clone(), rate.per)).or_default();
            let slack = if self.history.is_shared { CLOCKS_DIFFER_MS } else { 0 };
            let since = at - i64::try_from(rate.per.ms()).unwrap_or(i64::MAX) + slack;
            let recent = begun.iter().filter(|before| **before > since).count();
            begun.push(at);
            let most = rate.limit as usize;
            // A rate is measured by a clock; one that was set back measures anything.
            require(recent < most || self.history.is_set_back, || {
                format!("run {run} began as one of {} with {key} within {}, {most} may", recent + 1, rate.per)
            })?;
        }
        Ok(())
    }

    // --- chains -----------------------------------------------------------------------------------

    fn ended(&mut self, job: JobId, event: &Event) {
        let Some((run, status)) = end_of(event) else { return };
        if self.runs.get(&run).is_none_or(|run| run.is_shard) {
            return;
        }
        self.ended.insert(run, job);
        for (follower, definition) in &self.jobs {
            let after = definition.after.as_ref().filter(|after| after.jobs.contains(&job) && after.on.takes(status));
            // Of several that are all waited for, which end is the last cannot be said from outside.
            if after.is_some_and(|after| after.mode == AfterMode::Any || after.jobs.len() == 1) {
                self.expected.insert((*follower, run));
            }
        }
    }

    fn after(&mut self, job: JobId, cause: &Cause) -> Ruling {
        let Cause::After { of, .. } = cause else { return Ok(()) };
        let upstream = self.ended.get(of).ok_or_else(|| format!("it came after {of}, which has not ended"))?;
        let definition = self.jobs.get(&job).ok_or("a chain to an unknown job")?;
        let follows = definition.after.as_ref().is_some_and(|after| after.jobs.contains(upstream));
        require(follows, || format!("it came after {of} of {upstream}, which it does not follow"))?;
        require(self.chained.insert((job, *of)), || format!("it came after {of} twice"))
    }

    pub(super) fn close(&self) -> Vec<String> {
        let is_there = |job: &JobId| self.jobs.contains_key(job) && !self.cancelled.contains(job);
        let lost = self.expected.difference(&self.chained).filter(|(follower, _)| is_there(follower));
        lost.map(|(follower, run)| format!("{follower} never came after {run}, which had ended")).collect()
    }
}

/// Worlds use pointers into the input only.
fn key(source: &KeySource, input: &Value) -> String {
    match source {
        KeySource::Label => "label".to_owned(),
        KeySource::Input(pointer) => format!("{pointer}={}", input.pointer(pointer).unwrap_or(&Value::Null)),
    }
}
