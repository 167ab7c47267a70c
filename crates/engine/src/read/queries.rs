//! Reads: jobs, runs, their events and logs. Lists are pages of a view, never scans.

use std::sync::Arc;

use ordo_model::job::{Job, JobState, Run, RunStatus};
use ordo_model::{EntityId, JobId, Kind, RunId};
use ordo_store::{Event as Stored, Fault, KeyRange, Order, Row, Store, Version, View};
use serde_json::Value;
use uuid::Uuid;

use crate::commit::change::Waiting;
use crate::commit::codec;
use crate::commit::keys;
use crate::dispatch::Find;
use crate::run::log_writer::RESULT_SEQ;

#[derive(Clone)]
pub struct Queries {
    store: Arc<dyn Store>,
}

impl std::fmt::Debug for Queries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queries")
    }
}

/// How many jobs one call looks at when a filter has no view of its own; a page may then be short of its limit.
pub const SCAN_MAX: usize = 20_000;

/// Which jobs a list shows.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    pub label: Option<String>,
    pub state: Option<JobState>,
    /// The name of a trigger's type. Has no view: every job that fits the rest is looked at.
    pub trigger: Option<&'static str>,
}

impl JobFilter {
    /// Whether the job passes what no view narrowed down.
    pub(crate) fn shows(&self, job: &Job) -> bool {
        self.state.is_none_or(|state| job.state() == state)
            && self.trigger.is_none_or(|name| job.definition.trigger.name() == name)
    }
}

/// Which runs a list shows.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub job_id: Option<JobId>,
    /// The code of a status.
    pub status: Option<u8>,
    pub since: Option<ordo_model::Timestamp>,
}

#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page begins: behind this id.
    pub next: Option<Uuid>,
}

impl Queries {
    pub fn new(store: Arc<dyn Store>) -> Queries {
        Queries { store }
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub async fn job(&self, id: JobId) -> Result<Option<Job>, Fault> {
        Ok(self.jobs_by_id(&[id]).await?.pop())
    }

    async fn jobs_by_id(&self, ids: &[JobId]) -> Result<Vec<Job>, Fault> {
        let entities: Vec<EntityId> = ids.iter().map(|id| (*id).into()).collect();
        let snapshots = self.store.load(&entities).await?;
        snapshots.into_iter().flatten().map(|snapshot| codec::decode_job(&snapshot.state)).collect()
    }

    /// Jobs with this label, at most `limit`.
    pub async fn jobs_labelled(&self, label: &str, limit: usize) -> Result<Vec<Job>, Fault> {
        let filter = JobFilter { label: Some(label.to_owned()), ..JobFilter::default() };
        Ok(self.jobs(&filter, None, limit).await?.items)
    }

    /// Jobs in the order of their creation, newest last. Looks at [`SCAN_MAX`] jobs or a few more, so a page may be short.
    pub async fn jobs(&self, filter: &JobFilter, after: Option<Uuid>, limit: usize) -> Result<Page<Job>, Fault> {
        let mut items = Vec::new();
        let mut after = after;
        let mut seen = 0;
        loop {
            let (ids, more) = self.job_ids(filter, after, limit).await?;
            seen += ids.len();
            after = ids.last().map(|id| id.0).or(after);
            // With two filters one view narrows and the other is checked.
            items.extend(self.jobs_by_id(&ids).await?.into_iter().filter(|job| filter.shows(job)));
            if items.len() > limit {
                items.truncate(limit);
                let next = items.last().map(|job| job.id.0);
                return Ok(Page { items, next });
            }
            if !more || items.len() == limit || seen >= SCAN_MAX {
                return Ok(Page { items, next: after.filter(|_| more) });
            }
        }
    }

    async fn job_ids(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<(Vec<JobId>, bool), Fault> {
        let (view, prefix) = match (&filter.label, filter.state) {
            (Some(label), _) => (View::JobsByLabel, keys::label_prefix(label)),
            (None, Some(state)) => (View::JobsByState, vec![state.code()]),
            (None, None) => return self.all_job_ids(after, limit).await,
        };
        let mut range = KeyRange::prefix(&prefix);
        if let Some(after) = after {
            range.from = [prefix.as_slice(), after.as_bytes(), &[0]].concat();
        }
        let rows = self.store.rows(view, &range, Order::Ascending, limit + 1).await?;
        Ok(cut(rows.iter().filter_map(|row| keys::trailing_id(&row.key)).map(JobId).collect(), limit))
    }

    async fn all_job_ids(&self, after: Option<Uuid>, limit: usize) -> Result<(Vec<JobId>, bool), Fault> {
        let after = after.map(|id| EntityId::from(JobId(id)));
        let entities = self.store.entities(after, limit + 1).await?;
        // Jobs come first in the order of entities.
        let jobs = entities.into_iter().take_while(|(entity, _)| entity.kind == Kind::Job);
        Ok(cut(jobs.map(|(entity, _)| JobId(entity.id)).collect(), limit))
    }

    pub async fn run(&self, id: RunId) -> Result<Option<Run>, Fault> {
        let row = self.store.row(View::Runs, &keys::run(id)).await?;
        row.map(|bytes| codec::decode_run(&bytes)).transpose()
    }

    /// A run with its result, wherever that is kept.
    pub async fn run_with_result(&self, id: RunId) -> Result<Option<Run>, Fault> {
        let Some(mut run) = self.run(id).await? else { return Ok(None) };
        if let RunStatus::Completed { result, result_bytes: Some(_) } = &mut run.status {
            let chunks = self.store.chunks(id.0, RESULT_SEQ, 1).await?;
            if let Some(chunk) = chunks.first() {
                *result = serde_json::from_slice(&chunk.bytes).unwrap_or(Value::Null);
            }
        }
        Ok(Some(run))
    }

    /// Runs, newest first, older than the run `before`.
    pub async fn runs(&self, filter: &RunFilter, before: Option<Uuid>, limit: usize) -> Result<Page<Run>, Fault> {
        let mut found: Vec<Run> = Vec::new();
        let mut before = before;
        loop {
            let (rows, more) = self.run_rows(filter, before, limit).await?;
            for (id, run) in rows {
                before = Some(id);
                let Some(run) = run else { continue };
                if filter.since.is_some_and(|since| run.fired_at < since) {
                    return Ok(Page { items: found, next: None });
                }
                if filter.status.is_none_or(|code| run.status.code() == code) {
                    found.push(run);
                }
                if found.len() > limit {
                    break;
                }
            }
            if !more || found.len() > limit {
                let over = found.len() > limit;
                found.truncate(limit);
                let next = (over || more).then(|| found.last().map(|run| run.id.0)).flatten();
                return Ok(Page { items: found, next });
            }
        }
    }

    async fn run_rows(
        &self,
        filter: &RunFilter,
        before: Option<Uuid>,
        limit: usize,
    ) -> Result<(Vec<(Uuid, Option<Run>)>, bool), Fault> {
        let completed = RunStatus::code_of("completed");
        let (view, prefix) = match (filter.job_id, filter.status) {
            (Some(job), _) => (View::RunsByJob, job.0.as_bytes().to_vec()),
            (None, Some(code)) if Some(code) != completed => (View::RunsByStatus, vec![code]),
            (None, _) => (View::Runs, Vec::new()),
        };
        let mut range = KeyRange::prefix(&prefix);
        if let Some(before) = before {
            range.to = Some([prefix.as_slice(), before.as_bytes()].concat());
        }
        let mut rows = self.store.rows(view, &range, Order::Descending, limit + 1).await?;
        let more = rows.len() > limit;
        rows.truncate(limit + 1);
        let mut runs = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(id) = keys::trailing_id(&row.key) else { continue };
            runs.push((id, self.run_of_row(view, id, &row).await?));
        }
        Ok((runs, more))
    }

    async fn run_of_row(&self, view: View, id: Uuid, row: &Row) -> Result<Option<Run>, Fault> {
        if view == View::Runs { codec::decode_run(&row.value).map(Some) } else { self.run(RunId(id)).await }
    }

    /// Events of a stream from a version on, and the version of the oldest that is kept.
    pub async fn history(
        &self,
        entity: EntityId,
        from: Version,
        limit: usize,
    ) -> Result<(Vec<Stored>, Version), Fault> {
        let history = self.store.history(entity, from, limit).await?;
        Ok((history.events, history.oldest))
    }
}

/// Runs that wait for a place, best first; whether these are all.
pub async fn waiting_runs(store: &dyn Store, find: &Find) -> Result<(Vec<Waiting>, bool), Fault> {
    let mut range = KeyRange::prefix(&keys::queue_prefix(&find.queue));
    if let Some(after) = &find.after {
        range.from = [keys::queue(after).as_slice(), &[0]].concat();
    }
    let rows = store.rows(View::Queue, &range, Order::Ascending, find.limit).await?;
    let complete = rows.len() < find.limit;
    Ok((rows.iter().filter_map(|row| keys::read_queue(&find.queue, &row.key, &row.value)).collect(), complete))
}

fn cut(mut ids: Vec<JobId>, limit: usize) -> (Vec<JobId>, bool) {
    let more = ids.len() > limit;
    ids.truncate(limit);
    (ids, more)
}
