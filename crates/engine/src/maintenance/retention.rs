//! The retention pass: forgets runs that are too many or too old, and jobs that are long over.
//!
//! Invariant: a pass is bounded and repeatable. What it forgets goes in one commit with the checkpoint that replaces
//! it; the beginning of a stream is never cut above the oldest run that is kept.

use std::collections::BTreeSet;

use ordo_model::job::{Command, Job, Notice, Run};
use ordo_model::{EntityId, JobId, RunId, Timestamp};
use ordo_store::{Direction, Fault, KeyRange, NewEvent, Trim, View};

use crate::commit::encoding::codec;
use crate::commit::encoding::keys;
use crate::commit::encoding::projection;
use crate::commit::job_command::{Extra, Request};
use crate::read::queries::Queries;

/// How many jobs one pass looks at.
pub const JOBS_PER_PASS: usize = 256;
/// How many runs of one job one pass forgets.
const RUNS_PER_TRIM: usize = 1_000;
const EVENTS_PER_READ: usize = 1_000;

/// What a pass wants to have committed. Each request stands alone.
pub async fn pass(queries: &Queries, now: Timestamp) -> Result<Vec<Request>, Fault> {
    let until = KeyRange { from: Vec::new(), to: Some(keys::retention(now, JobId(uuid::Uuid::max()))) };
    let due = queries.store().rows(View::Retention, &until, Direction::Ascending, JOBS_PER_PASS).await?;
    let mut requests = Vec::new();
    for row in due {
        let Some(id) = keys::trailing_id(&row.key) else { continue };
        if let Some(job) = queries.job(JobId(id)).await? {
            requests.extend(tend(queries, &job, now).await?);
        }
    }
    Ok(requests)
}

async fn tend(queries: &Queries, job: &Job, now: Timestamp) -> Result<Option<Request>, Fault> {
    let oldest = oldest_runs(queries, job).await?;
    if job.is_forgettable(now) && oldest.len() <= RUNS_PER_TRIM {
        return Ok(Some(purge(job, &oldest)));
    }
    let forgotten = forgettable(job, &oldest, now);
    if forgotten.is_empty() {
        return Ok(None);
    }
    trim(queries, job, &oldest, forgotten.len()).await.map(Some)
}

/// The oldest runs of a job, one more than a trim may forget.
async fn oldest_runs(queries: &Queries, job: &Job) -> Result<Vec<Run>, Fault> {
    let range = KeyRange::prefix(job.id.0.as_bytes());
    let rows = queries.store().rows(View::RunsByJob, &range, Direction::Ascending, RUNS_PER_TRIM + 1).await?;
    let ids: Vec<RunId> = rows.iter().filter_map(|row| keys::trailing_id(&row.key)).map(RunId).collect();
    let mut runs: Vec<Run> = queries.runs_by_id(&ids).await?.into_iter().flatten().collect();
    // By where they began in the stream: that is what a cut goes by.
    runs.sort_by_key(|run| run.version);
    Ok(runs)
}

/// The runs to forget: a beginning of the list in which every run is over and is too old or one too many. The list was read
/// after the job: a run that was active then may be over in it, and the stream is not cut above where that one began.
fn forgettable<'runs>(job: &Job, oldest: &'runs [Run], now: Timestamp) -> &'runs [Run] {
    let retention = job.definition.retention;
    let excess = (job.history.kept.saturating_sub(retention.runs)) as usize;
    let excess = excess + usize::from(ordo_model::is_planted!(RetentionEatsKeptRun));
    let too_old = |run: &Run| run.finished_at.is_some_and(|at| at.plus(retention.age) <= now);
    let (active, unheard) = (first_active(job).unwrap_or(u64::MAX), unheard(job));
    let must_stay = |run: &Run| run.version >= active || !run.status.is_terminal() || unheard.contains(&run.id);
    let mut count = 0;
    for (place, run) in oldest.iter().take(RUNS_PER_TRIM).enumerate() {
        if must_stay(run) || !(place < excess || too_old(run)) {
            break;
        }
        count = place + 1;
    }
    &oldest[..count]
}

/// The runs whose end has yet to be handed on to the jobs that follow: what they are given is read from the run.
fn unheard(job: &Job) -> BTreeSet<RunId> {
    let notices = job.outbox.entries().iter().map(|entry| &entry.what);
    notices.filter(|notice| matches!(notice, Notice::Ended { .. })).map(Notice::run_id).collect()
}

fn first_active(job: &Job) -> Option<u64> {
    job.active.iter().map(|run| run.version).min()
}

async fn trim(queries: &Queries, job: &Job, oldest: &[Run], count: usize) -> Result<Request, Fault> {
    let (forgotten, kept) = oldest.split_at(count);
    let below = kept.first().map(|run| run.version).into_iter().chain(first_active(job)).min();
    let below = below.unwrap_or(job.version + 1);
    let through = below - 1;
    let checkpoint = folded(queries, job.id, through).await?;
    let oldest_kept = kept.iter().filter_map(|run| run.finished_at).min();
    let runs = u32::try_from(count).unwrap_or(u32::MAX);
    let command = Command::Trim { trims: job.history.trims, runs, below, oldest: oldest_kept };
    let extra = Extra::Trim {
        trim: checkpoint.map(|checkpoint| Trim { through, checkpoint }),
        rows: forgotten.iter().flat_map(projection::forget_run_rows).collect(),
        forget: forgotten.iter().map(|run| run.id.0).collect(),
    };
    Ok(Request { extra, ..Request::new(job.id, command) })
}

/// The job as it was after the event `through`, as a checkpoint. None if there is nothing to replace.
async fn folded(queries: &Queries, id: JobId, through: u64) -> Result<Option<NewEvent>, Fault> {
    let entity: EntityId = id.into();
    let (mut job, mut from, mut at) = (None, 0, None);
    loop {
        let (events, _) = queries.history(entity, from, EVENTS_PER_READ).await?;
        let full = events.len() == EVENTS_PER_READ;
        for event in events.iter().take_while(|event| event.version <= through) {
            codec::fold(&mut job, event)?;
            from = event.version + 1;
            at = Some(event.at);
        }
        if !full || from > through {
            break;
        }
    }
    Ok(job.zip(at).map(|(job, at)| codec::encode_checkpoint(&job, at)))
}

fn purge(job: &Job, runs: &[Run]) -> Request {
    let extra = Extra::Purge {
        rows: runs.iter().flat_map(projection::forget_run_rows).collect(),
        forget: runs.iter().map(|run| run.id.0).collect(),
    };
    // The command is not decided: a purge has no event, it ends the stream.
    Request { extra, ..Request::new(job.id, Command::Wake) }
}

#[cfg(test)]
mod tests {
    use ordo_model::job::{Cause, Event, Timeliness, Verdict, apply, create};
    use std::collections::BTreeMap;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000).expect("a time of this century")
    }

    fn run(n: u128) -> RunId {
        RunId(uuid::Uuid::from_u128(n))
    }

    fn triggered(n: u128) -> Event {
        Event::JobTriggered {
            run_id: run(n),
            cause: Cause::Manual,
            timeliness: Timeliness::default(),
            tool_input: None,
            traceparent: None,
            verdict: Verdict::default(),
        }
    }

    fn expired(n: u128) -> Event {
        Event::RunExpired { run_id: run(n) }
    }

    fn move_on(job: &mut Job, runs: &mut BTreeMap<RunId, Run>, events: &[Event]) {
        for event in events {
            let moved = apply(job, event, now()).expect("it folds");
            runs.extend(moved.map(|run| (run.id, run)));
        }
    }

    /// A job that keeps one run.
    fn job() -> Job {
        let definition = serde_json::json!({
            "label": "a", "tool_name": "noop", "trigger": {"type": "manual"}, "retention": {"runs": 1}
        });
        let definition = serde_json::from_value(definition).expect("a definition");
        let beginning = Event::JobScheduled { definition, held: false, next: None };
        create(JobId(uuid::Uuid::from_u128(9)), &beginning, now()).expect("it begins")
    }

    #[test]
    fn a_run_is_not_forgotten_before_those_who_follow_its_job_heard_of_its_end() {
        let (mut job, mut runs) = (job(), BTreeMap::new());
        let first = [Event::JobFollowed {}, triggered(1), expired(1)];
        move_on(&mut job, &mut runs, &first);
        let through = job.version;
        move_on(&mut job, &mut runs, &[triggered(2), expired(2), triggered(3), expired(3)]);
        let oldest: Vec<Run> = runs.values().cloned().collect();
        assert!(forgettable(&job, &oldest, now()).is_empty());
        move_on(&mut job, &mut runs, &[Event::Published { through }]);
        assert_eq!(forgettable(&job, &oldest, now()).len(), 1);
        let through = job.version;
        move_on(&mut job, &mut runs, &[Event::Published { through }]);
        assert_eq!(forgettable(&job, &oldest, now()).len(), 2);
    }

    #[test]
    fn a_run_that_ended_after_its_job_was_read_is_not_forgotten_yet() {
        let (mut job, mut runs) = (job(), BTreeMap::new());
        let others = [triggered(2), expired(2), triggered(3), expired(3), triggered(4), expired(4)];
        move_on(&mut job, &mut runs, &[&[triggered(1)], others.as_slice()].concat());
        let read_before = job.clone();
        move_on(&mut job, &mut runs, &[expired(1)]);
        let oldest: Vec<Run> = runs.into_values().collect();
        assert_eq!(forgettable(&job, &oldest, now()).len(), 3);
        // The stream is cut below the runs that were active then: whatever began later stays in it.
        assert!(forgettable(&read_before, &oldest, now()).is_empty());
    }
}
