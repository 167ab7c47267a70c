//! How events move a job. Only this file changes a job.
//!
//! Invariant: applying never fails on a stream that `decide` wrote and never computes anything from a clock, a
//! schedule or a limit; folding the same events always gives the same job and the same runs.

use super::event::SkipReason;
use super::event::{Cause, Event};
use super::outbox;
use super::pace::Pace;
use super::run::{AttemptError, Run, RunStatus};
use super::shard::{Shard, ShardEnd};
use super::state::{ActiveRun, Attempt, Backfill, Job, Last, Phase, RunHistory, Stage};
use crate::id::{FencingToken, JobId, RunId};
use crate::outbox::Outbox;
use crate::time::Timestamp;

/// A stream that no `decide` can have written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfoldable {
    #[error("the stream begins with {0}, not with JobScheduled")]
    NoBeginning(&'static str),
    #[error("{event} names run {run_id}, which is not active")]
    UnknownRun { event: &'static str, run_id: RunId },
    #[error("JobScheduled in the middle of the stream")]
    SecondBeginning,
}

/// The job that its first event makes.
pub fn create(id: JobId, event: &Event, at: Timestamp) -> Result<Job, Unfoldable> {
    match event {
        Event::JobScheduled { definition, held, next } => Ok(Job {
            id,
            definition: definition.clone(),
            revision: 1,
            version: 1,
            phase: if *held { Phase::Held } else { Phase::Active },
            created_at: at,
            updated_at: at,
            next: *next,
            accounted_to: None,
            active: Vec::new(),
            backfills: Vec::new(),
            run_count: 0,
            last_token: FencingToken(0),
            history: RunHistory::default(),
            followed: false,
            followed_times: 0,
            arrived: Vec::new(),
            outbox: Outbox::default(),
            pace: Pace::default(),
            frame: None,
            set_back_ms: 0,
        }),
        other => Err(Unfoldable::NoBeginning(other.name())),
    }
}

/// Moves the job by one event; returns the run it touched, as it is now.
pub fn apply(job: &mut Job, event: &Event, at: Timestamp) -> Result<Option<Run>, Unfoldable> {
    job.version += 1;
    // Forgetting old runs and handing on news is housekeeping: it does not make a finished job younger.
    if !matches!(
        event,
        Event::HistoryTrimmed { .. } | Event::JobFollowed {} | Event::Published { .. } | Event::ClockStepped { .. }
    ) {
        job.updated_at = at;
    }
    outbox::note(job, event, at);
    match event {
        Event::JobScheduled { .. } => Err(Unfoldable::SecondBeginning),
        Event::JobUpdated { definition, next } => {
            job.definition = definition.clone();
            job.revision += 1;
            job.next = *next;
            Ok(None)
        }
        Event::JobPaused { reason } => {
            job.phase = Phase::Paused { reason: reason.clone(), since: at };
            Ok(None)
        }
        Event::JobResumed { next } => {
            job.phase = Phase::Active;
            job.next = *next;
            Ok(None)
        }
        Event::JobCancelled { .. } => {
            job.phase = Phase::Cancelled;
            job.backfills.clear();
            Ok(None)
        }
        Event::JobTriggered { run_id, cause, timeliness, tool_input, traceparent, .. } => {
            advance(job, cause);
            job.run_count += 1;
            job.pace.turn(at);
            let run = ActiveRun {
                timeliness: *timeliness,
                tool_input: tool_input.clone(),
                traceparent: *traceparent,
                ..new_run(job, *run_id, *cause, at)
            };
            let view = run.view(job);
            activate(job, run);
            Ok(Some(view))
        }
        Event::JobSkipped { run_id, reason, cause, gap, .. } => {
            advance(job, cause);
            job.run_count += 1;
            let status = RunStatus::Skipped { reason: *reason, gap: *gap };
            let run = new_run(job, *run_id, *cause, at).view_as(job, status, Some(at));
            remember(job, &run, at);
            Ok(Some(run))
        }
        Event::JobStarted { run_id, attempt, token, executor, deadline, concurrency_key } => {
            job.last_token = *token;
            let run = active(job, event, *run_id)?;
            run.attempts = *attempt;
            run.first_started_at.get_or_insert(at);
            run.stage = Stage::Running(Attempt {
                number: *attempt,
                token: *token,
                executor: executor.clone(),
                started_at: at,
                deadline: *deadline,
                settle_at: None,
                concurrency_key: concurrency_key.clone(),
            });
            view(job, *run_id)
        }
        Event::JobExecuted { run_id, started_at, result, result_bytes, verdict, .. } => {
            started(active(job, event, *run_id)?, Some(*started_at));
            job.pace.note(verdict.is_slow(at.since(*started_at)), at);
            let status = RunStatus::Completed { result: result.clone(), result_bytes: *result_bytes };
            end(job, event, *run_id, status, at)
        }
        Event::JobFailed { run_id, attempt, reason, started_at, retry_at, verdict } => {
            if let Some(started_at) = started_at {
                job.pace.note(verdict.is_slow(at.since(*started_at)), at);
            }
            let run = active(job, event, *run_id)?;
            started(run, *started_at);
            run.errors.drain(..verdict.errors_forgotten(run));
            run.errors.push(AttemptError { attempt: *attempt, at, reason: reason.clone() });
            match retry_at {
                Some(until) => {
                    run.stage = Stage::Backoff { until: *until };
                    view(job, *run_id)
                }
                None => end(job, event, *run_id, RunStatus::Failed { reason: reason.clone() }, at),
            }
        }
        Event::RunReady { run_id } => {
            active(job, event, *run_id)?.stage = Stage::Queued;
            view(job, *run_id)
        }
        Event::RunCancelRequested { run_id, reason } => {
            active(job, event, *run_id)?.cancelling = Some(reason.clone());
            view(job, *run_id)
        }
        Event::RunCancelled { run_id, reason } => {
            end(job, event, *run_id, RunStatus::Cancelled { reason: reason.clone() }, at)
        }
        Event::RunReturned { run_id, until, .. } => {
            let run = active(job, event, *run_id)?;
            run.returned += 1;
            run.stage = if *until > at { Stage::Backoff { until: *until } } else { Stage::Queued };
            view(job, *run_id)
        }
        Event::RunExpired { run_id } => {
            let status = RunStatus::Skipped { reason: SkipReason::Expired, gap: None };
            end(job, event, *run_id, status, at)
        }
        Event::RunBroadcast { run_id, total } => {
            let run = active(job, event, *run_id)?;
            run.first_started_at.get_or_insert(at);
            run.stage = Stage::Broadcast { total: *total, done: Vec::new() };
            view(job, *run_id)
        }
        Event::ShardTriggered { run_id, parent, index, executor } => {
            let whole = active(job, event, *parent)?.clone();
            job.run_count += 1;
            let total = whole.shards();
            let run = ActiveRun {
                timeliness: whole.timeliness,
                tool_input: whole.tool_input,
                shard: Some(Shard { parent: *parent, index: *index, total, executor: executor.generation }),
                ..new_run(job, *run_id, whole.cause, at)
            };
            activate(job, run);
            view(job, *run_id)
        }
        Event::RunOrphaned { run_id, settle_at } => {
            if let Stage::Running(attempt) = &mut active(job, event, *run_id)?.stage {
                attempt.settle_at = Some(*settle_at);
            }
            view(job, *run_id)
        }
        Event::AttemptExtended { run_id, deadline } => {
            if let Stage::Running(attempt) = &mut active(job, event, *run_id)?.stage {
                attempt.deadline = *deadline;
            }
            view(job, *run_id)
        }
        Event::ClockStepped { by_ms, frame, set_back_ms, next } => {
            job.active.iter_mut().for_each(|run| move_lengths(run, *by_ms));
            job.frame = Some(*frame);
            job.set_back_ms = *set_back_ms;
            job.next = next.or(job.next);
            Ok(None)
        }
        Event::BackfillRequested { to, next, .. } => {
            job.backfills.push(Backfill { next: *next, to: *to });
            Ok(None)
        }
        Event::HistoryTrimmed { trims, runs, oldest, .. } => {
            job.history.trims = *trims;
            job.history.kept = job.history.kept.saturating_sub(*runs);
            job.history.oldest = *oldest;
            Ok(None)
        }
        Event::JobFollowed {} => {
            job.followed = true;
            job.followed_times += 1;
            Ok(None)
        }
        Event::UpstreamEnded { end } => {
            job.arrived.retain(|known| known.job_id != end.job_id);
            job.arrived.push(end.clone());
            Ok(None)
        }
        Event::Published { through } => {
            job.outbox.publish(*through);
            Ok(None)
        }
    }
}

/// What of a run is measured in elapsed time moves with the clock.
fn move_lengths(run: &mut ActiveRun, by_ms: i64) {
    crate::planted!(WallClockTimeout, return);
    run.clock_moved_ms += by_ms;
    match &mut run.stage {
        Stage::Queued | Stage::Broadcast { .. } => {}
        Stage::Backoff { until } => *until = until.moved(by_ms),
        Stage::Running(attempt) => {
            attempt.deadline = attempt.deadline.moved(by_ms);
            attempt.settle_at = attempt.settle_at.map(|at| at.moved(by_ms));
        }
    }
}

/// An occurrence has its outcome: its schedule, or the backfill it belongs to, moves on.
fn advance(job: &mut Job, cause: &Cause) {
    match cause {
        Cause::Schedule { occurrence, next } => {
            job.accounted_to = job.accounted_to.max(Some(occurrence.nominal));
            job.next = *next;
        }
        Cause::Backfill { occurrence, next } => {
            if let Some(place) = job.backfills.iter().position(|b| b.next.nominal == occurrence.nominal) {
                match next {
                    Some(next) => job.backfills[place].next = *next,
                    None => drop(job.backfills.remove(place)),
                }
            }
        }
        // The ends that it waited for have their run: the next round begins with none.
        Cause::After { .. } => job.arrived.clear(),
        Cause::Manual | Cause::Retry { .. } | Cause::Webhook { .. } => {}
    }
}

/// Most jobs have one active run at a time, and there are many jobs: no room is kept for more.
fn activate(job: &mut Job, run: ActiveRun) {
    job.active.reserve_exact(1);
    job.active.push(run);
}

fn active<'job>(job: &'job mut Job, event: &Event, run_id: RunId) -> Result<&'job mut ActiveRun, Unfoldable> {
    let unknown = Unfoldable::UnknownRun { event: event.name(), run_id };
    job.active.iter_mut().find(|run| run.id == run_id).ok_or(unknown)
}

fn view(job: &Job, run_id: RunId) -> Result<Option<Run>, Unfoldable> {
    Ok(job.active_run(run_id).map(|run| run.view(job)))
}

/// The executor knows better than the hand-over when the first attempt began.
fn started(run: &mut ActiveRun, started_at: Option<Timestamp>) {
    if let Some(at) = started_at
        && run.attempts == 1
    {
        run.first_started_at = Some(at);
    }
}

fn end(
    job: &mut Job,
    event: &Event,
    run_id: RunId,
    status: RunStatus,
    at: Timestamp,
) -> Result<Option<Run>, Unfoldable> {
    let unknown = Unfoldable::UnknownRun { event: event.name(), run_id };
    let place = job.active.iter().position(|run| run.id == run_id).ok_or(unknown)?;
    let run = job.active.remove(place);
    let ended = run.view_as(job, status, Some(at));
    match run.shard {
        Some(shard) => {
            let end = ShardEnd { index: shard.index, run_id, status: ended.status.name().to_owned() };
            remember_shard(job, shard.parent, end, at);
        }
        None => remember(job, &ended, at),
    }
    Ok(Some(ended))
}

/// A share counts in what is kept, and in its whole; what the job did last follows from the whole.
fn remember_shard(job: &mut Job, parent: RunId, end: ShardEnd, at: Timestamp) {
    job.history.kept = job.history.kept.saturating_add(1);
    job.history.oldest.get_or_insert(at);
    let parent = job.active.iter_mut().find(|run| run.id == parent);
    if let Some(Stage::Broadcast { done, .. }) = parent.map(|run| &mut run.stage) {
        done.push(end);
    }
}

fn remember(job: &mut Job, run: &Run, at: Timestamp) {
    job.history.kept = job.history.kept.saturating_add(1);
    job.history.oldest.get_or_insert(at);
    job.history.last = Some(Last { run_id: run.id, status: run.status.name().to_owned(), at });
    match run.status {
        RunStatus::Failed { .. } => job.history.failures_in_row += 1,
        RunStatus::Completed { .. } => {
            job.history.failures_in_row = 0;
            job.history.missed_in_row = 0;
        }
        RunStatus::Pending { .. }
        | RunStatus::Running { .. }
        | RunStatus::Cancelled { .. }
        | RunStatus::Skipped { .. } => {}
    }
}

fn new_run(job: &Job, id: RunId, cause: Cause, at: Timestamp) -> ActiveRun {
    ActiveRun {
        id,
        cause,
        timeliness: Default::default(),
        fired_at: at,
        version: job.version,
        tool_input: None,
        traceparent: None,
        stage: Stage::Queued,
        attempts: 0,
        returned: 0,
        shard: None,
        first_started_at: None,
        errors: Vec::new(),
        cancelling: None,
        overran: false,
        clock_moved_ms: 0,
    }
}
