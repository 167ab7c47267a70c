//! Which runs a list, a histogram or a timeline shows.
//!
//! Invariant: everything that is said must hold. Job, status and time have an index; the rest is looked for in a bounded
//! number of runs.

use ordo_model::job::{Run, RunStatus};
use ordo_model::{JobId, Millis, Timestamp};
use ordo_store::{KeyRange, View};

use crate::commit::encoding::keys;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub job_id: Option<JobId>,
    /// The code of a status.
    pub status: Option<u8>,
    /// Fired at this moment or later.
    pub since: Option<Timestamp>,
    /// Fired before this moment.
    pub until: Option<Timestamp>,
    /// A part of the label, in any case.
    pub label: Option<String>,
    /// A part of what is said about the end of the run or of one of its attempts, in any case.
    pub reason: Option<String>,
    /// The whole name of the executor that has or had it.
    pub executor: Option<String>,
    /// It took at least this long; of a run that executes, so far.
    pub longer_than: Option<Millis>,
    /// It is over and took less than this.
    pub shorter_than: Option<Millis>,
    /// The present: without it a run that executes has no length.
    pub now: Option<Timestamp>,
}

impl RunFilter {
    /// Whether it says anything.
    pub fn is_empty(&self) -> bool {
        *self == RunFilter { now: self.now, ..RunFilter::default() }
    }

    /// Whether a run is one of those.
    pub fn fits(&self, run: &Run) -> bool {
        self.is_within(run)
            && self.job_id.is_none_or(|job| run.job_id == job)
            && self.status.is_none_or(|code| run.status.code() == code)
            && self.executor.as_ref().is_none_or(|name| run.executor.as_ref() == Some(name))
            && self.label.as_ref().is_none_or(|part| contains(&run.label, part))
            && self.reason.as_ref().is_none_or(|part| is_said_of(run, part))
            && self.has_length(run)
    }

    fn is_within(&self, run: &Run) -> bool {
        self.since.is_none_or(|since| run.fired_at >= since) && self.until.is_none_or(|until| run.fired_at < until)
    }

    fn has_length(&self, run: &Run) -> bool {
        if self.longer_than.is_none() && self.shorter_than.is_none() {
            return true;
        }
        let Some((start, end)) = run.started_at.zip(run.finished_at.or(self.now)) else { return false };
        let took = end.since(start);
        self.longer_than.is_none_or(|least| took >= least)
            && self.shorter_than.is_none_or(|most| run.finished_at.is_some() && took < most)
    }

    /// The view with the fewest other runs in it, and what all keys of it begin with.
    pub(super) fn index(&self) -> (View, Vec<u8>) {
        match (self.job_id, self.status) {
            (Some(job), _) => (View::RunsByJob, job.0.as_bytes().to_vec()),
            (None, Some(code)) if has_index(code) => (View::RunsByStatus, vec![code]),
            (None, _) => (View::Runs, Vec::new()),
        }
    }

    /// The keys of the runs that were fired in time: ids begin with that time.
    pub(super) fn range(&self, prefix: &[u8]) -> KeyRange {
        let mut range = KeyRange::prefix(prefix);
        let key = |at: Timestamp| [prefix, &keys::run_floor(at)].concat();
        if let Some(since) = self.since {
            range.from = key(since);
        }
        if let Some(until) = self.until {
            range.to = Some(key(until));
        }
        range
    }
}

/// Completed runs are the many: no row of theirs is written for this list.
fn has_index(status: u8) -> bool {
    RunStatus::code_of("completed") != Some(status)
}

fn is_said_of(run: &Run, part: &str) -> bool {
    let own = match &run.status {
        RunStatus::Failed { reason } | RunStatus::Cancelled { reason } => contains(reason, part),
        RunStatus::Running { cancelling: Some(reason) } => contains(reason, part),
        RunStatus::Skipped { reason, .. } => {
            contains(reason.name(), part) || contains(&reason.name().replace('_', " "), part)
        }
        RunStatus::Pending { .. } | RunStatus::Running { cancelling: None } | RunStatus::Completed { .. } => false,
    };
    own || run.errors.iter().any(|error| contains(&error.reason, part))
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_ms(1_900_000_000_000 + second * 1_000).unwrap()
    }

    fn run(status: &serde_json::Value, finished: Option<i64>) -> Run {
        let id = "0199c000-0000-7000-8000-000000000001";
        let given = json!({
            "id": id, "job_id": id, "label": "Nightly-Backup", "scheduled_for": null, "fired_at": at(0),
            "started_at": at(1), "finished_at": finished.map(at), "lateness_ms": null, "attempt": 2,
            "executor": "gpu-1", "parent_id": null, "shard": null, "cause": { "type": "manual" }, "status": status,
            "errors": [{ "attempt": 1, "at": at(2), "reason": "upstream said 502" }], "version": 1,
        });
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn a_run_is_found_by_what_is_said_about_it() {
        let failed = run(&json!({ "type": "failed", "reason": "Connection refused" }), Some(61));
        let all = RunFilter::default;
        let millis = |secs| Some(Millis::from_secs(secs));
        let some = |text: &str| Some(text.to_owned());
        for (filter, fits) in [
            (all(), true),
            (RunFilter { reason: some("REFUSED"), ..all() }, true),
            (RunFilter { reason: some("said 502"), ..all() }, true),
            (RunFilter { reason: some("timeout"), ..all() }, false),
            (RunFilter { label: some("backup"), ..all() }, true),
            (RunFilter { label: some("restore"), ..all() }, false),
            (RunFilter { executor: some("gpu-1"), ..all() }, true),
            (RunFilter { executor: some("gpu"), ..all() }, false),
            (RunFilter { longer_than: millis(60), ..all() }, true),
            (RunFilter { longer_than: millis(61), ..all() }, false),
            (RunFilter { shorter_than: millis(61), ..all() }, true),
            (RunFilter { shorter_than: millis(60), ..all() }, false),
            (RunFilter { since: Some(at(0)), until: Some(at(1)), ..all() }, true),
            (RunFilter { until: Some(at(0)), ..all() }, false),
            (RunFilter { status: RunStatus::code_of("completed"), ..all() }, false),
        ] {
            assert_eq!(filter.fits(&failed), fits, "{filter:?}");
        }
    }

    #[test]
    fn a_run_that_executes_is_as_long_as_it_took_so_far_and_never_short() {
        let running = run(&json!({ "type": "running" }), None);
        let nine = Some(Millis::from_secs(9));
        let longer = |now| RunFilter { longer_than: nine, now: Some(at(now)), ..RunFilter::default() };
        assert_eq!([5, 10].map(|second| longer(second).fits(&running)), [false, true]);
        let shorter = RunFilter { shorter_than: nine, now: Some(at(5)), ..RunFilter::default() };
        assert!(!shorter.fits(&running));
    }

    #[test]
    fn the_keys_of_a_time_hold_the_runs_that_were_fired_in_it() {
        let job = JobId(uuid::Uuid::from_u128(7));
        let key = |second| ordo_model::RunId::derive(job, 1, at(second)).0.as_bytes().to_vec();
        let range = RunFilter { since: Some(at(5)), until: Some(at(9)), ..RunFilter::default() }.range(&[]);
        let is_in = |second| key(second) >= range.from && range.to.as_ref().is_some_and(|to| key(second) < *to);
        assert_eq!([4, 5, 8, 9].map(is_in), [false, true, true, false]);
    }
}
