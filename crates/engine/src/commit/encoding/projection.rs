//! Which rows of which views follow from a job and its runs.
//!
//! Invariant: rows follow from events alone, so they can be dropped and rebuilt (`ordo store reindex`) and checked
//! (`ordo store check`).

use std::sync::Arc;

use ordo_model::job::{ActiveRun, Job, JobState, Run, RunStatus, Trigger};
use ordo_model::{JobId, RunId};
use ordo_store::{RowWrite, View};

use crate::commit::change::WaitingRun;
use crate::commit::encoding::codec;
use crate::commit::encoding::columns;
use crate::commit::encoding::keys;
use crate::dispatch::requirements::Requirements;

/// The rows that follow from the job's state alone.
pub(crate) fn job_rows(job: &Job, has_tables: bool) -> Vec<RowWrite> {
    let mut rows = definition_rows(job);
    rows.extend(has_tables.then(|| table_row(job)));
    rows.extend(turn_rows(job));
    rows
}

/// Those that follow from the definition and the state: most jobs have them written once in their life.
fn definition_rows(job: &Job) -> Vec<RowWrite> {
    let mut rows = vec![
        put(View::JobsByLabel, keys::job_by_label(&job.definition.label, job.id), Vec::new()),
        put(View::JobsByState, state_key(job), Vec::new()),
        // Without the state: it is not written anew when that changes.
        put(View::Index, keys::job_by_trigger(job.definition.trigger.code(), job.id), Vec::new()),
    ];
    let tags = job.definition.tags.iter();
    rows.extend(tags.map(|tag| put(View::Index, keys::job_by_tag(tag, &job.definition.label, job.id), Vec::new())));
    if let Trigger::Webhook { hook } = &job.definition.trigger
        && job.state() != JobState::Cancelled
    {
        rows.push(put(View::Index, keys::job_by_hook(hook, job.id), Vec::new()));
    }
    if let Some(after) = &job.definition.after
        && job.state() != JobState::Cancelled
    {
        rows.extend(after.jobs.iter().map(|upstream| put(View::Index, keys::job_after(*upstream, job.id), Vec::new())));
    }
    rows
}

/// The job as people see it. Follows from the definition and the state, as the rows above do.
fn table_row(job: &Job) -> RowWrite {
    let row = put(View::Jobs, job.id.0.as_bytes().to_vec(), Vec::new());
    RowWrite { cells: columns::job(job), ..row }
}

/// Whether the rows of the definition differ in the state at most.
fn has_same_index(before: &Job, after: &Job) -> bool {
    let is_cancelled = |job: &Job| job.state() == JobState::Cancelled;
    Arc::ptr_eq(&before.definition, &after.definition) && is_cancelled(before) == is_cancelled(after)
}

fn state_key(job: &Job) -> Vec<u8> {
    keys::job_by_state(job.state(), job.id)
}

/// Those that may follow from any transition.
fn turn_rows(job: &Job) -> Vec<RowWrite> {
    let queued = waiting(job).map(|waiting| put(View::Queue, keys::queue(&waiting), keys::queue_value(&waiting)));
    let kept = job.retention_due().map(|due| put(View::Retention, keys::retention(due, job.id), Vec::new()));
    let fires = job.next_tick_at().map(|at| put(View::Index, keys::job_by_next_fire(at, job.id), Vec::new()));
    let held = job.active.iter().filter_map(|run| Some((run.attempt()?.concurrency_key.as_ref()?, run.id)));
    let held = held.map(|(key, run)| put(View::Index, keys::key_holder(key, run), Vec::new()));
    queued.chain(kept).chain(fires).chain(held).collect()
}

/// Runs of the job that could start if there were a place for them.
pub(crate) fn waiting(job: &Job) -> impl Iterator<Item = WaitingRun> {
    job.startable().map(|run| WaitingRun {
        turn: job.turn_of(run),
        rank: job.rank(),
        run_id: run.id,
        job_id: job.id,
        requirements: Arc::new(Requirements::of(job, run)),
    })
}

/// The rows that follow from one run.
pub(crate) fn run_rows(run: &Run, has_tables: bool) -> Vec<RowWrite> {
    let mut rows =
        vec![run_row(run, has_tables), put(View::RunsByJob, keys::run_by_job(run.job_id, run.id), Vec::new())];
    rows.extend(status_key(&run.status, run.id).map(|key| put(View::RunsByStatus, key, Vec::new())));
    rows
}

fn run_row(run: &Run, has_tables: bool) -> RowWrite {
    let cells = if has_tables { columns::run(run) } else { Vec::new() };
    RowWrite { cells, ..put(View::Runs, keys::run(run.id), codec::encode_run(run)) }
}

/// What takes the rows of a forgotten run away.
pub(crate) fn forget_run_rows(run: &Run) -> Vec<RowWrite> {
    run_rows(run, false).into_iter().map(RowWrite::gone).collect()
}

/// Completed runs are the many: they are found by time, not by status.
fn status_key(status: &RunStatus, run: RunId) -> Option<Vec<u8>> {
    match status {
        RunStatus::Completed { .. } => None,
        RunStatus::Pending { .. }
        | RunStatus::Running { .. }
        | RunStatus::Failed { .. }
        | RunStatus::Cancelled { .. }
        | RunStatus::Skipped { .. } => Some(keys::run_by_status(status.code(), run)),
    }
}

/// The writes that bring the rows from one state of the job to another, with the runs that were touched in between.
pub(crate) fn changes(before: Option<&Job>, after: &Job, touched: &[&Run], has_tables: bool) -> Vec<RowWrite> {
    let mut writes = match before {
        Some(before) if has_same_index(before, after) => {
            let mut writes = difference(&turn_rows(before), turn_rows(after));
            if before.state() != after.state() {
                let (old, new) = (state_key(before), state_key(after));
                writes.push(RowWrite::delete(View::JobsByState, old));
                writes.push(put(View::JobsByState, new, Vec::new()));
                writes.extend(has_tables.then(|| table_row(after)));
            }
            writes
        }
        Some(before) => difference(&job_rows(before, has_tables), job_rows(after, has_tables)),
        None => job_rows(after, has_tables),
    };
    for run in touched {
        let known = before.and_then(|job| job.active_run(run.id)).map(ActiveRun::status);
        writes.extend(run_changes(known.as_ref(), run, after.id, has_tables));
    }
    writes
}

/// The writes that bring one set of rows to another.
pub(crate) fn difference(old: &[RowWrite], new: Vec<RowWrite>) -> Vec<RowWrite> {
    let gone = old.iter().filter(|row| !new.iter().any(|kept| kept.view == row.view && kept.key == row.key));
    let mut writes: Vec<RowWrite> = gone.map(|row| RowWrite::delete(row.view, row.key.clone())).collect();
    writes.extend(new.into_iter().filter(|row| !old.contains(row)));
    writes
}

/// `before`: its status, if it was there.
fn run_changes(before: Option<&RunStatus>, run: &Run, job: JobId, has_tables: bool) -> Vec<RowWrite> {
    let mut writes = vec![run_row(run, has_tables)];
    let new_status = status_key(&run.status, run.id);
    let old_status = before.and_then(|status| status_key(status, run.id));
    if before.is_none() {
        writes.push(put(View::RunsByJob, keys::run_by_job(job, run.id), Vec::new()));
    }
    if old_status != new_status {
        writes.extend(old_status.map(|key| RowWrite::delete(View::RunsByStatus, key)));
        writes.extend(new_status.map(|key| put(View::RunsByStatus, key, Vec::new())));
    }
    writes
}

fn put(view: View, key: Vec<u8>, value: Vec<u8>) -> RowWrite {
    RowWrite::put(view, key, value)
}
