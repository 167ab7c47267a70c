//! Reads of single things: jobs, runs, their events; counts, and what waits. Lists have files of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ordo_model::job::{Job, JobState, Run, RunStatus};
use ordo_model::{EntityId, JobId, Kind, RunId};
use ordo_store::{Direction, Fault, KeyRange, Store, StoredEvent as Stored, Version, View};
use serde_json::Value;

use crate::commit::change::WaitingRun;
use crate::commit::encoding::codec;
use crate::commit::encoding::keys;
use crate::dispatch::Find;
use crate::run::log_writer::RESULT_SEQ;

/// How many of the oldest jobs are looked at to know whether an index is complete.
const WITNESSES: usize = 32;

#[derive(Clone)]
pub struct Queries {
    store: Arc<dyn Store>,
    /// Once they are there they stay.
    trigger_rows: Arc<AtomicBool>,
    fire_rows: Arc<AtomicBool>,
}

impl std::fmt::Debug for Queries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queries")
    }
}

impl Queries {
    pub fn new(store: Arc<dyn Store>) -> Queries {
        Queries { store, trigger_rows: Arc::default(), fire_rows: Arc::default() }
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub async fn job(&self, id: JobId) -> Result<Option<Job>, Fault> {
        Ok(self.load_jobs(&[id]).await?.pop().flatten())
    }

    /// One answer per id, in order.
    pub async fn load_jobs(&self, ids: &[JobId]) -> Result<Vec<Option<Job>>, Fault> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let entities: Vec<EntityId> = ids.iter().map(|id| (*id).into()).collect();
        let snapshots = self.store.load(&entities).await?;
        snapshots.into_iter().map(|found| found.map(|one| codec::decode_job(&one.state)).transpose()).collect()
    }

    /// How many jobs are in a state, counted up to `limit`.
    pub async fn count_jobs(&self, state: JobState, limit: usize) -> Result<usize, Fault> {
        let range = KeyRange::prefix(&[state.code()]);
        Ok(self.store.rows(View::JobsByState, &range, Direction::Ascending, limit).await?.len())
    }

    /// Whether jobs are indexed by trigger. A store of an older version has these rows only for jobs that were made
    /// since, until it is reindexed; what is missing is then missing for the oldest jobs.
    pub(crate) async fn has_trigger_rows(&self) -> Result<bool, Fault> {
        if self.trigger_rows.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let oldest = self.store.entities(None, WITNESSES).await?;
        // Jobs come first in the order of entities.
        let jobs = oldest.iter().take_while(|(entity, _)| entity.kind == Kind::Job);
        let key = |job: Job| keys::job_by_trigger(job.definition.trigger.code(), job.id);
        let asked = jobs.map(|(_, one)| codec::decode_job(&one.state).map(key)).collect::<Result<Vec<_>, Fault>>()?;
        let are_there = self.store.rows_by_key(View::Index, &asked).await?.iter().all(Option::is_some);
        self.trigger_rows.store(are_there, Ordering::Relaxed);
        if !are_there {
            tracing::warn!("jobs are looked for by trigger without an index: `ordo store reindex` adds it");
        }
        Ok(are_there)
    }

    /// Whether jobs are indexed by their next fire. In a store of an older version they are once they have fired, or
    /// when it is reindexed.
    pub(crate) async fn has_fire_rows(&self) -> Result<bool, Fault> {
        if self.fire_rows.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let active = KeyRange::prefix(&[JobState::Active.code()]);
        let oldest = self.store.rows(View::JobsByState, &active, Direction::Ascending, WITNESSES).await?;
        let ids: Vec<JobId> = oldest.iter().filter_map(|row| keys::trailing_id(&row.key)).map(JobId).collect();
        let jobs = self.load_jobs(&ids).await?.into_iter().flatten();
        let asked: Vec<Vec<u8>> =
            jobs.filter_map(|job| job.next_tick_at().map(|at| keys::job_by_next_fire(at, job.id))).collect();
        let are_there = self.store.rows_by_key(View::Index, &asked).await?.iter().all(Option::is_some);
        self.fire_rows.store(are_there && !asked.is_empty(), Ordering::Relaxed);
        Ok(are_there)
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

/// Runs that wait for a slot, best first; whether these are all.
pub async fn waiting_runs(store: &dyn Store, find: &Find) -> Result<(Vec<WaitingRun>, bool), Fault> {
    let mut range = KeyRange::prefix(&keys::queue_prefix(&find.queue));
    if let Some(after) = &find.after {
        range.from = [keys::queue(after).as_slice(), &[0]].concat();
    }
    let rows = store.rows(View::Queue, &range, Direction::Ascending, find.limit).await?;
    let complete = rows.len() < find.limit;
    Ok((rows.iter().filter_map(|row| keys::read_queue(&find.queue, &row.key, &row.value)).collect(), complete))
}
