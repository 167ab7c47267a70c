//! What follows from a threshold: whether a run was slow, whom an occurrence found still running, how many errors
//! of a run are too many.
//!
//! Invariant: `decide` judges by the limits of today; `apply` reads the verdict from the event and no limit, so a
//! recorded stream folds to the same job whatever the limits have become. A verdict is written only where it differs
//! from what an event without one means, which for nearly all events is nothing.

use serde::{Deserialize, Serialize};

use super::event::{Cause, Event, SkipReason};
use super::state::{ActiveRun, Job, Stage};
use crate::id::RunId;
use crate::limits::{ATTEMPT_ERRORS_KEPT, OVERRAN_MIN, SLOW_AFTER};
use crate::time::{Millis, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the attempt that ended was a slow one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slow: Option<bool>,
    /// The runs that should have been over by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overran: Option<Vec<RunId>>,
    /// How many of the run's oldest errors make room for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors_forgotten: Option<usize>,
}

impl Verdict {
    pub(super) fn is_unsaid(&self) -> bool {
        *self == Verdict::default()
    }

    pub(super) fn is_slow(&self, took: Millis) -> bool {
        self.slow.unwrap_or_else(|| UNSAID.is_slow(took))
    }

    pub(super) fn overran(&self, job: &Job, cause: &Cause, at: Timestamp) -> Vec<RunId> {
        self.overran.clone().unwrap_or_else(|| UNSAID.overran(job, cause, at))
    }

    pub(super) fn errors_forgotten(&self, run: &ActiveRun) -> usize {
        self.errors_forgotten.unwrap_or_else(|| UNSAID.errors_forgotten(run)).min(run.errors.len())
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Thresholds {
    slow_after: Millis,
    overran_min: Millis,
    errors_kept: usize,
}

/// What events without a verdict mean. Part of the stored format: it never changes, the limits may.
const UNSAID: Thresholds =
    Thresholds { slow_after: Millis::from_ms(500), overran_min: Millis::from_secs(1), errors_kept: 20 };

impl Thresholds {
    pub(super) const TODAY: Thresholds =
        Thresholds { slow_after: SLOW_AFTER, overran_min: OVERRAN_MIN, errors_kept: ATTEMPT_ERRORS_KEPT };

    /// Writes into the event what these thresholds say of it. The job is as it was before the event.
    pub(super) fn judge(self, event: &mut Event, job: &Job, at: Timestamp) {
        match event {
            Event::JobExecuted { started_at, verdict, .. } => verdict.slow = self.slow(at.since(*started_at)),
            Event::JobFailed { run_id, started_at, verdict, .. } => {
                verdict.slow = started_at.and_then(|started_at| self.slow(at.since(started_at)));
                verdict.errors_forgotten = job
                    .active_run(*run_id)
                    .and_then(|run| differing(self.errors_forgotten(run), &UNSAID.errors_forgotten(run)));
            }
            Event::JobTriggered { cause, verdict, .. }
            | Event::JobSkipped { cause, verdict, reason: SkipReason::Overlap | SkipReason::QueueFull, .. } => {
                verdict.overran = differing(self.overran(job, cause, at), &UNSAID.overran(job, cause, at));
            }
            _ => {}
        }
    }

    fn slow(self, took: Millis) -> Option<bool> {
        differing(self.is_slow(took), &UNSAID.is_slow(took))
    }

    fn is_slow(self, took: Millis) -> bool {
        took > self.slow_after
    }

    /// A scheduled occurrence came while scheduled runs were still running: each is announced once. Shorter runs
    /// belong to schedules too fast for anybody to want a notification.
    fn overran(self, job: &Job, cause: &Cause, at: Timestamp) -> Vec<RunId> {
        let scheduled = |cause: &Cause| matches!(cause, Cause::Schedule { .. });
        if !scheduled(cause) {
            return Vec::new();
        }
        let candidates = job.active.iter().filter(|run| !run.overran && scheduled(&run.cause));
        let overran = candidates.filter(|run| match &run.stage {
            Stage::Running(attempt) => at.since(attempt.started_at) >= self.overran_min,
            Stage::Queued | Stage::Backoff { .. } | Stage::Broadcast { .. } => false,
        });
        overran.map(|run| run.id).collect()
    }

    fn errors_forgotten(self, run: &ActiveRun) -> usize {
        (run.errors.len() + 1).saturating_sub(self.errors_kept)
    }
}

fn differing<T: PartialEq>(verdict: T, unsaid: &T) -> Option<T> {
    (verdict != *unsaid).then_some(verdict)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::id::{FencingToken, Incarnation, JobId};
    use crate::job::{Definition, apply, create};
    use crate::schedule::Occurrence;

    /// Limits that the product may have one day.
    const OTHER: Thresholds =
        Thresholds { slow_after: Millis::from_secs(5), overran_min: Millis::from_secs(60), errors_kept: 2 };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000 + seconds * 1_000).expect("a time of this century")
    }

    fn scheduled(seconds: i64) -> Cause {
        let occurrence = Occurrence { nominal: at(seconds), due: at(seconds) };
        Cause::Schedule { occurrence, next: None }
    }

    fn triggered(run_id: RunId, seconds: i64) -> Event {
        Event::JobTriggered {
            run_id,
            cause: scheduled(seconds),
            timeliness: Default::default(),
            tool_input: None,
            traceparent: None,
            verdict: Verdict::default(),
        }
    }

    fn started(run_id: RunId, attempt: u32) -> Event {
        let token = FencingToken(u64::from(attempt));
        let executor = Incarnation { executor: "local".into(), generation: uuid::Uuid::from_u128(1) };
        Event::JobStarted { run_id, attempt, token, executor, deadline: at(10_000), concurrency_key: None }
    }

    fn failed(run_id: RunId, attempt: u32, began: i64) -> Event {
        let (reason, verdict) = ("no".to_owned(), Verdict::default());
        let (started_at, retry_at) = (Some(at(began)), Some(at(began)));
        Event::JobFailed { run_id, attempt, reason, started_at, retry_at, verdict }
    }

    /// A run that takes two seconds, fails three times and is met by the next occurrence: as it is stored under the
    /// given thresholds.
    fn recorded(thresholds: Thresholds) -> Vec<(Timestamp, String)> {
        let (job_id, definition) = (
            JobId(uuid::Uuid::from_u128(1)),
            json!({"label": "a", "tool_name": "noop", "trigger": {"type": "manual"}}),
        );
        let definition: Definition = serde_json::from_value(definition).expect("a definition");
        let beginning = Event::JobScheduled { definition: definition.into(), held: false, next: None };
        let mut job = create(job_id, &beginning, at(0)).expect("it begins");
        let (run, other) = (RunId::derive(job_id, 1, at(0)), RunId::derive(job_id, 2, at(12)));
        let ready = || Event::RunReady { run_id: run };
        let story = [
            (0, triggered(run, 0)),
            (0, started(run, 1)),
            (2, failed(run, 1, 0)),
            (2, ready()),
            (2, started(run, 2)),
            (4, failed(run, 2, 2)),
            (4, ready()),
            (4, started(run, 3)),
            (6, failed(run, 3, 4)),
            (6, ready()),
            (6, started(run, 4)),
            (12, triggered(other, 12)),
        ];
        let mut stored = vec![(at(0), serde_json::to_string(&beginning).expect("it is written"))];
        for (seconds, mut event) in story {
            thresholds.judge(&mut event, &job, at(seconds));
            apply(&mut job, &event, at(seconds)).expect("it folds");
            stored.push((at(seconds), serde_json::to_string(&event).expect("it is written")));
        }
        stored
    }

    fn folded(stored: &[(Timestamp, String)]) -> Job {
        let read = |text: &str| serde_json::from_str::<Event>(text).expect("it is read");
        let mut job = create(JobId(uuid::Uuid::from_u128(1)), &read(&stored[0].1), stored[0].0).expect("it begins");
        for (at, event) in &stored[1..] {
            apply(&mut job, &read(event), *at).expect("it folds");
        }
        job
    }

    #[test]
    fn a_stream_folds_as_it_was_judged_whatever_the_limits_are_now() {
        let (old, new) = (folded(&recorded(UNSAID)), folded(&recorded(OTHER)));
        assert_eq!((old.pace.slow, old.active[0].errors.len(), old.active[0].overran), (3, 3, true));
        assert_eq!((new.pace.slow, new.active[0].errors.len(), new.active[0].overran), (0, 2, false));
    }

    #[test]
    fn what_follows_without_a_verdict_is_stored_without_one() {
        assert!(recorded(UNSAID).iter().all(|(_, event)| !event.contains("verdict")));
        let judged = recorded(OTHER).iter().filter(|(_, event)| event.contains("verdict")).count();
        assert_eq!(judged, 4, "three slow failures and a run that was overtaken");
    }

    #[test]
    fn the_fold_knows_no_limit() {
        for source in [include_str!("apply.rs"), include_str!("outbox.rs"), include_str!("../incident/apply.rs")] {
            assert!(!source.contains("limits"), "a limit may change, what was recorded may not");
        }
    }
}
