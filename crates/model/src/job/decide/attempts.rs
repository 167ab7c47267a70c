//! Attempts begin, report, fail, are tried again, are cancelled, are settled when nobody reports.
//!
//! Invariant: a terminal run is final, and only the current attempt's token can end a running one.

use std::borrow::Cow;

use super::draft::Draft;
use super::fire;
use crate::id::{FencingToken, Incarnation, RunId};
use crate::job::command::{AttemptReport, Refusal, SlotReservation};
use crate::job::definition::policy::Routing;
use crate::job::event::{Cause, Event};
use crate::job::run::Run;
use crate::job::shard::whole;
use crate::job::state::{ActiveRun, Attempt, Stage};
use crate::job::verdict::Verdict;
use crate::limits::{NACK_DELAY_MAX, REASON_MAX_BYTES, RETURNS_MAX, SHARDS_MAX, TIMEOUT_GRACE};
use crate::text;
use crate::time::{Millis, Timestamp};

pub(super) const RECOVERED: &str = "recovered from restart";

/// Gives the reservation to that run, if it is its turn.
pub(super) fn start(draft: &mut Draft, run_id: RunId, reservation: Option<SlotReservation>) -> Result<(), Refusal> {
    let run = draft.job.startable().find(|run| run.id == run_id).ok_or(Refusal::NoSuchRun)?;
    // A run that goes to all has no attempt of its own.
    let whole = run.shard.is_none() && draft.job.definition.routing == Routing::ShardingBroadcast;
    let attempts = run.attempts;
    match reservation {
        Some(_) if whole => return Err(Refusal::NoSuchRun),
        Some(reservation) => begin(draft, run_id, attempts, reservation),
        None => {}
    }
    Ok(())
}

/// The waiting run becomes one run for each executor.
pub(super) fn broadcast(draft: &mut Draft, run_id: RunId, executors: Vec<Incarnation>) -> Result<(), Refusal> {
    let run = draft.job.startable().find(|run| run.id == run_id).ok_or(Refusal::NoSuchRun)?;
    if run.shard.is_some() || executors.is_empty() || draft.job.definition.routing != Routing::ShardingBroadcast {
        return Err(Refusal::NoSuchRun);
    }
    let parent = run_id;
    let total = u32::try_from(executors.len().min(SHARDS_MAX)).expect("the limit is small");
    draft.emit(Event::RunBroadcast { run_id, total });
    for (index, executor) in (0..total).zip(executors) {
        crate::planted!(
            BroadcastShardLost,
            if index > 0 {
                break;
            }
        );
        draft.emit(Event::ShardTriggered { run_id: draft.next_run_id(), parent, index, executor });
    }
    Ok(())
}

/// Runs whose shards are all over come to their own end.
pub(super) fn gather_shards(draft: &mut Draft) {
    let over = draft.job.active.iter().filter_map(|run| match &run.stage {
        Stage::Broadcast { total, done } if done.len() >= *total as usize => {
            Some((run.id, run.first_started_at.unwrap_or(run.fired_at), whole(done), run.cancelling.clone()))
        }
        Stage::Broadcast { .. } | Stage::Queued | Stage::Backoff { .. } | Stage::Running(_) => None,
    });
    let over: Vec<_> = over.collect();
    for (run_id, started_at, whole, cancelling) in over {
        draft.emit(match (whole, cancelling) {
            (Ok(result), _) => Event::JobExecuted {
                run_id,
                attempt: 1,
                started_at,
                result,
                result_bytes: None,
                verdict: Verdict::default(),
            },
            (Err(_), Some(reason)) => Event::RunCancelled { run_id, reason },
            (Err(reason), None) => Event::JobFailed {
                run_id,
                attempt: 1,
                reason,
                started_at: Some(started_at),
                retry_at: None,
                verdict: Verdict::default(),
            },
        });
    }
}

/// Gives the reservation to the first run whose turn it is, if a free slot is all it needs.
pub(super) fn start_first(draft: &mut Draft, reservation: SlotReservation) {
    let definition = &draft.job.definition;
    if definition.needs_dispatch() || (reservation.has_others && !definition.routing.is_indifferent()) {
        return;
    }
    let first = draft.job.startable().next().map(|run| (run.id, run.attempts));
    if let Some((run_id, attempts)) = first {
        begin(draft, run_id, attempts, reservation);
    }
}

/// The attempt begins, if the executor that offers the reservation can run it.
fn begin(draft: &mut Draft, run_id: RunId, attempts: u32, reservation: SlotReservation) {
    if !reservation.suits(&draft.job.definition) {
        return;
    }
    let deadline = draft.now.plus(draft.job.definition.timeout).plus(TIMEOUT_GRACE);
    let token = draft.job.last_token.next(reservation.draw);
    let run = draft.job.active_run(run_id).filter(|_| !reservation.is_keyless);
    let concurrency_key = run.and_then(|run| draft.job.concurrency_key_of(run));
    let (attempt, executor) = (attempts + 1, reservation.executor);
    draft.emit(Event::JobStarted { run_id, attempt, token, executor, deadline, concurrency_key });
}

pub(super) fn report(
    draft: &mut Draft,
    run_id: RunId,
    token: FencingToken,
    report: AttemptReport,
) -> Result<(), Refusal> {
    let run = draft.job.active_run(run_id).ok_or(Refusal::StaleToken)?;
    let attempt = run.attempt().filter(|attempt| attempt.token == token || crate::is_planted!(StaleFenceAccepted));
    let attempt = attempt.ok_or(Refusal::StaleToken)?.number;
    let cancelling = run.cancelling.clone();
    match (report, cancelling) {
        (AttemptReport::Completed { started_at, result, result_bytes }, _) => {
            draft.emit(Event::JobExecuted {
                run_id,
                attempt,
                started_at,
                result,
                result_bytes,
                verdict: Verdict::default(),
            });
        }
        (
            AttemptReport::Failed { .. }
            | AttemptReport::Cancelled { .. }
            | AttemptReport::Interrupted { .. }
            | AttemptReport::Nack { .. }
            | AttemptReport::Unclaimed { .. }
            | AttemptReport::Lost { .. },
            Some(reason),
        ) => draft.emit(Event::RunCancelled { run_id, reason }),
        (AttemptReport::Failed { started_at, reason }, None) => {
            fail(draft, run_id, attempt, reason, started_at, EffectKnowledge::Known);
        }
        (AttemptReport::Cancelled { started_at } | AttemptReport::Interrupted { started_at }, None) => {
            fail(draft, run_id, attempt, "interrupted by shutdown".into(), started_at, EffectKnowledge::Unknown);
        }
        (AttemptReport::Lost { reason }, None) => fail(draft, run_id, attempt, reason, None, EffectKnowledge::Unknown),
        (AttemptReport::Unclaimed { reason }, None) => {
            draft.emit(Event::RunReturned { run_id, attempt, reason: Some(bounded(reason)), until: draft.now });
        }
        (AttemptReport::Nack { delay, reason }, None) => give_back(draft, run_id, attempt, delay, reason),
    }
    Ok(())
}

/// The run waits for another executor. One that nobody wants to begin counts as failed after a while, so that it ends.
fn give_back(draft: &mut Draft, run_id: RunId, attempt: u32, delay: Millis, reason: Option<String>) {
    let returned = draft.job.active_run(run_id).map_or(0, |run| run.returned);
    if returned >= RETURNS_MAX {
        let why = reason.map_or_else(String::new, |reason| format!(", the last time: {reason}"));
        let reason = format!("given back {} times by executors{why}", returned + 1);
        return fail(draft, run_id, attempt, reason, None, EffectKnowledge::Known);
    }
    let until = draft.now.plus(delay.min(NACK_DELAY_MAX));
    draft.emit(Event::RunReturned { run_id, attempt, reason: reason.map(bounded), until });
}

/// Whether it is known what a failed attempt did. Unknown effects are repeated only if that does no harm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EffectKnowledge {
    Known,
    Unknown,
}

fn fail(
    draft: &mut Draft,
    run_id: RunId,
    attempt: u32,
    reason: String,
    started_at: Option<Timestamp>,
    effect: EffectKnowledge,
) {
    let definition = draft.job.definition.clone();
    let tried = draft.job.active_run(run_id).map_or(attempt, |run| run.tried(attempt));
    let tried = tried + u32::from(crate::is_planted!(RetryCountedTwice));
    let again =
        definition.retry.allows_another_after(tried) && (effect == EffectKnowledge::Known || definition.idempotent);
    let backoff = definition.retry.backoff_after(tried);
    let backoff = if crate::is_planted!(BackoffForgotten) { Millis::ZERO } else { backoff };
    let retry_at = again.then(|| draft.now.plus(backoff));
    draft.emit(Event::JobFailed {
        run_id,
        attempt,
        reason: bounded(reason),
        started_at,
        retry_at,
        verdict: Verdict::default(),
    });
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
            None => fail(draft, run_id, attempt.number, reason.into(), None, EffectKnowledge::Unknown),
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

/// Runs that no executor took in time are given up.
pub(super) fn expire(draft: &mut Draft) {
    let (job, now) = (&draft.job, draft.now);
    let over = |run: &&ActiveRun| {
        matches!(run.stage, Stage::Queued) && job.expires_at(run).is_some_and(|expires_at| expires_at <= now)
    };
    let ids: Vec<RunId> = job.active.iter().filter(over).map(|run| run.id).collect();
    for run_id in ids {
        draft.emit(Event::RunExpired { run_id });
    }
}

/// What a generation of an executor had is settled `settle_after` its start: at once, if that has passed. A start that lies
/// ahead was taken from a clock that has been set back since; nobody waits for that moment to come again.
pub(super) fn orphan(draft: &mut Draft, executor: &Incarnation, settle_after: Millis) {
    for (run_id, attempt, _) in running(draft) {
        if attempt.executor == *executor && attempt.settle_at.is_none() {
            let settle_at = attempt.started_at.min(draft.now).plus(settle_after);
            draft.emit(Event::RunOrphaned { run_id, settle_at });
        }
    }
    settle_overdue(draft);
}

/// What the executor goes on with is given the same time once more, counted from now: nobody was there to hear of it.
pub(super) fn readopt(draft: &mut Draft, executor: &Incarnation) {
    for (run_id, attempt, _) in running(draft) {
        let deadline = draft.now.plus(attempt.deadline.since(attempt.started_at));
        if attempt.executor == *executor && attempt.settle_at.is_none() && deadline != attempt.deadline {
            draft.emit(Event::AttemptExtended { run_id, deadline });
        }
    }
}

fn running(draft: &Draft) -> Vec<(RunId, Attempt, Option<String>)> {
    let attempts =
        draft.job.active.iter().filter_map(|run| Some((run.id, run.attempt()?.clone(), run.cancelling.clone())));
    attempts.collect()
}

pub(super) fn cancel_run(draft: &mut Draft, run_id: RunId, reason: String) -> Result<(), Refusal> {
    let run = draft.job.active_run(run_id).ok_or(Refusal::RunOver)?;
    let reason = bounded(reason);
    match (&run.stage, &run.cancelling) {
        (Stage::Queued | Stage::Backoff { .. }, _) => draft.emit(Event::RunCancelled { run_id, reason }),
        (Stage::Running(_), None) => draft.emit(Event::RunCancelRequested { run_id, reason }),
        (Stage::Broadcast { .. }, None) => {
            draft.emit(Event::RunCancelRequested { run_id, reason: reason.clone() });
            cancel_shards(draft, run_id, &reason);
        }
        (Stage::Running(_) | Stage::Broadcast { .. }, Some(_)) => {}
    }
    Ok(())
}

fn cancel_shards(draft: &mut Draft, parent: RunId, reason: &str) {
    let of_parent = |run: &&ActiveRun| run.shard.is_some_and(|shard| shard.parent == parent);
    let ids: Vec<RunId> = draft.job.active.iter().filter(of_parent).map(|run| run.id).collect();
    for run_id in ids {
        cancel_run(draft, run_id, reason.to_owned()).expect("the shard is active");
    }
}

pub(super) fn cancel_all(draft: &mut Draft, reason: &str) {
    let ids: Vec<RunId> = draft.job.whole_runs().map(|run| run.id).collect();
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

/// A reason is kept to its limit, cut between two characters, with what cannot be seen written out.
pub(super) fn bounded(reason: String) -> String {
    let reason = match text::visible_lines(&reason) {
        Cow::Borrowed(_) => reason,
        Cow::Owned(visible) => visible,
    };
    match text::shortened(&reason, REASON_MAX_BYTES) {
        whole if whole.len() == reason.len() => reason,
        start => format!("{start}…"),
    }
}
