//! Attempts begin, report, fail, are tried again, are cancelled, are settled when nobody reports.
//!
//! Invariant: a terminal run is final, and only the current attempt's token can end a running one.

use super::draft::Draft;
use super::fire;
use crate::id::{Incarnation, RunId, Token};
use crate::job::command::{Refusal, Report, Seat};
use crate::job::event::{Cause, Event};
use crate::job::run::Run;
use crate::job::state::{ActiveRun, Attempt, Stage};
use crate::limits::{REASON_MAX_BYTES, TIMEOUT_GRACE};
use crate::time::{Millis, Timestamp};

pub(super) const RECOVERED: &str = "recovered from restart";

/// Gives the seat to that run, if it is its turn.
pub(super) fn start(draft: &mut Draft, run_id: RunId, seat: Option<Seat>) -> Result<(), Refusal> {
    let run = draft.job.startable().find(|run| run.id == run_id).ok_or(Refusal::NoSuchRun)?;
    let attempts = run.attempts;
    if let Some(seat) = seat {
        begin(draft, run_id, attempts, seat);
    }
    Ok(())
}

/// Gives the seat to the first run whose turn it is.
pub(super) fn start_first(draft: &mut Draft, seat: Seat) {
    let first = draft.job.startable().next().map(|run| (run.id, run.attempts));
    if let Some((run_id, attempts)) = first {
        begin(draft, run_id, attempts, seat);
    }
}

/// The attempt begins, if the job belongs to the seat's group.
fn begin(draft: &mut Draft, run_id: RunId, attempts: u32, seat: Seat) {
    if seat.group != draft.job.definition.group {
        return;
    }
    let deadline = draft.now.plus(draft.job.definition.timeout).plus(TIMEOUT_GRACE);
    let token = Token(draft.job.last_token.0 + 1);
    draft.emit(Event::JobStarted { run_id, attempt: attempts + 1, token, executor: seat.executor, deadline });
}

pub(super) fn report(draft: &mut Draft, run_id: RunId, token: Token, report: Report) -> Result<(), Refusal> {
    let run = draft.job.active_run(run_id).ok_or(Refusal::StaleToken)?;
    let attempt = run.attempt().filter(|attempt| attempt.token == token).ok_or(Refusal::StaleToken)?.number;
    let cancelling = run.cancelling.clone();
    match (report, cancelling) {
        (Report::Completed { started_at, result, result_bytes }, _) => {
            draft.emit(Event::JobExecuted { run_id, attempt, started_at, result, result_bytes });
        }
        (Report::Failed { .. } | Report::Cancelled { .. } | Report::Interrupted { .. }, Some(reason)) => {
            draft.emit(Event::RunCancelled { run_id, reason });
        }
        (Report::Failed { started_at, reason }, None) => {
            fail(draft, run_id, attempt, reason, started_at, Effect::Known);
        }
        (Report::Cancelled { started_at } | Report::Interrupted { started_at }, None) => {
            fail(draft, run_id, attempt, "interrupted by shutdown".into(), started_at, Effect::Unknown);
        }
    }
    Ok(())
}

/// Whether it is known what a failed attempt did. Unknown effects are repeated only if that does no harm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Known,
    Unknown,
}

fn fail(draft: &mut Draft, run_id: RunId, attempt: u32, reason: String, started_at: Option<Timestamp>, effect: Effect) {
    let definition = draft.job.definition.clone();
    let again = definition.retry.allows_another_after(attempt) && (effect == Effect::Known || definition.idempotent);
    let retry_at = again.then(|| draft.now.plus(definition.retry.backoff_after(attempt)));
    draft.emit(Event::JobFailed { run_id, attempt, reason: shortened(reason), started_at, retry_at });
}

/// Attempts whose executor is gone, or which nobody reported in time, come to their end.
pub(super) fn settle_overdue(draft: &mut Draft) {
    let now = draft.now;
    for (run_id, attempt, cancelling) in running(draft) {
        let gone = attempt.settle_at.is_some_and(|at| at <= now);
        if !gone && attempt.deadline > now {
            continue;
        }
        let reason = if gone { RECOVERED } else { "no report within the timeout" };
        match cancelling {
            Some(reason) => draft.emit(Event::RunCancelled { run_id, reason }),
            None => fail(draft, run_id, attempt.number, reason.into(), None, Effect::Unknown),
        }
    }
}

/// Runs that have waited long enough after a failure take their turn again.
pub(super) fn ready_retries(draft: &mut Draft) {
    let now = draft.now;
    let ready = |run: &ActiveRun| matches!(run.stage, Stage::Backoff { until } if until <= now);
    let ids: Vec<RunId> = draft.job.active.iter().filter(|run| ready(run)).map(|run| run.id).collect();
    for run_id in ids {
        draft.emit(Event::RunReady { run_id });
    }
}

/// What former lives of an executor had is settled `settle_after` its start: at once, if that has passed. A start that
/// lies ahead was told by a clock that has been set back since; nobody waits for that moment to come again.
pub(super) fn orphan(draft: &mut Draft, executor: &Incarnation, settle_after: Millis) {
    for (run_id, attempt, _) in running(draft) {
        let former = attempt.executor.executor == executor.executor && attempt.executor.life != executor.life;
        if former && attempt.settle_at.is_none() {
            let settle_at = attempt.started_at.min(draft.now).plus(settle_after);
            draft.emit(Event::RunOrphaned { run_id, settle_at });
        }
    }
    settle_overdue(draft);
}

fn running(draft: &Draft) -> Vec<(RunId, Attempt, Option<String>)> {
    let attempts =
        draft.job.active.iter().filter_map(|run| Some((run.id, run.attempt()?.clone(), run.cancelling.clone())));
    attempts.collect()
}

pub(super) fn cancel_run(draft: &mut Draft, run_id: RunId, reason: String) -> Result<(), Refusal> {
    let run = draft.job.active_run(run_id).ok_or(Refusal::RunOver)?;
    let reason = shortened(reason);
    match (&run.stage, &run.cancelling) {
        (Stage::Queued | Stage::Backoff { .. }, _) => draft.emit(Event::RunCancelled { run_id, reason }),
        (Stage::Running(_), None) => draft.emit(Event::RunCancelRequested { run_id, reason }),
        (Stage::Running(_), Some(_)) => {}
    }
    Ok(())
}

pub(super) fn cancel_all(draft: &mut Draft, reason: &str) {
    let ids: Vec<RunId> = draft.job.active.iter().map(|run| run.id).collect();
    for run_id in ids {
        cancel_run(draft, run_id, reason.to_owned()).expect("the run is active");
    }
}

pub(super) fn retry_run(draft: &mut Draft, run: &Run) -> Result<(), Refusal> {
    if run.job_id != draft.job.id {
        return Err(Refusal::NoSuchRun);
    }
    if !run.status.is_terminal() {
        return Err(Refusal::WrongState { state: "not over", advice: "cancel the run first, or wait for its end" });
    }
    let given = fire::Given { tool_input: run.tool_input.clone(), traceparent: run.traceparent };
    let cause = Cause::Retry { of: run.id, delivery: run.cause.delivery() };
    fire::trigger(draft, cause, Default::default(), given);
    Ok(())
}

/// A reason is kept to its limit, cut between two characters.
pub(super) fn shortened(mut reason: String) -> String {
    if reason.len() > REASON_MAX_BYTES {
        let mut end = REASON_MAX_BYTES;
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        reason.truncate(end);
        reason.push('…');
    }
    reason
}
