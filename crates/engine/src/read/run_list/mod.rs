//! The one list of runs, newest first: all, of a job, with a status, of a time, and what else is looked for.
//!
//! Cost: one read of rows and one of the runs they name for each piece of the list. Job, status and time have an index;
//! for the rest, completed runs, and the runs of a job with one status, a page looks at a bounded number of runs, and its
//! cursor goes on.

mod filter;
pub mod histogram;
pub mod window;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use ordo_model::job::{Job, Run, RunStatus, RunStatusKind};
use ordo_model::{JobId, RunId};
use ordo_store::{Direction, Fault, KeyRange, Row, View};

use crate::commit::encoding::codec;
use crate::commit::encoding::keys;
use crate::read::page::{Cursor, List, ListEntry, ListPage, ListSource, read_page, rest};
use crate::read::queries::Queries;

pub use filter::RunFilter;

/// How many runs one page looks at.
pub const RUNS_WALKED_MAX: usize = 5_000;

struct RunSource<'a> {
    queries: &'a Queries,
    filter: &'a RunFilter,
    view: View,
    prefix: Vec<u8>,
}

impl Queries {
    /// Runs, newest first.
    pub async fn runs(&self, filter: &RunFilter, after: Option<&Cursor>, limit: usize) -> Result<ListPage<Run>, Fault> {
        let (view, prefix) = filter.index();
        read_page(&RunSource { queries: self, filter, view, prefix }, List::Runs, after, limit).await
    }

    /// The newest runs of each job, at most `limit` of each: one list per job, in order. Two reads, however many jobs.
    pub async fn recent_runs(&self, jobs: &[JobId], limit: usize) -> Result<Vec<Vec<Run>>, Fault> {
        let ids = self.recent_ids(jobs, limit).await?;
        let mut runs = self.runs_by_id(&ids.concat()).await?.into_iter();
        Ok(ids.iter().map(|ids| runs.by_ref().take(ids.len()).flatten().collect()).collect())
    }

    /// How the last runs of each of some jobs stand, newest first. Two reads.
    pub async fn recent_statuses(&self, jobs: &[JobId], limit: usize) -> Result<Vec<Vec<RunStatusKind>>, Fault> {
        let ids = self.recent_ids(jobs, limit).await?;
        let keys: Vec<Vec<u8>> = ids.iter().flatten().map(|id| keys::run(*id)).collect();
        let rows = if keys.is_empty() { Vec::new() } else { self.store().rows_by_key(View::Runs, &keys).await? };
        let read = |row: Option<Vec<u8>>| row.map(|bytes| codec::decode_run_status(&bytes)).transpose();
        let mut statuses = rows.into_iter().map(read).collect::<Result<Vec<_>, Fault>>()?.into_iter();
        Ok(ids.iter().map(|ids| statuses.by_ref().take(ids.len()).flatten().collect()).collect())
    }

    async fn recent_ids(&self, jobs: &[JobId], limit: usize) -> Result<Vec<Vec<RunId>>, Fault> {
        let ranges: Vec<KeyRange> = jobs.iter().map(|job| KeyRange::prefix(job.0.as_bytes())).collect();
        let rows = self.store().rows_of_ranges(View::RunsByJob, &ranges, Direction::Descending, limit).await?;
        Ok(rows.iter().map(|rows| ids_of(rows)).collect())
    }

    /// The jobs of those runs that are pending: what a run waits for follows from its job. One read.
    pub async fn jobs_of_pending(&self, runs: &[Run]) -> Result<BTreeMap<JobId, Job>, Fault> {
        let pending = runs.iter().filter(|run| matches!(run.status, RunStatus::Pending { .. }));
        let ids: BTreeSet<JobId> = pending.map(|run| run.job_id).collect();
        let jobs = self.load_jobs(&ids.into_iter().collect::<Vec<_>>()).await?;
        Ok(jobs.into_iter().flatten().map(|job| (job.id, job)).collect())
    }

    /// The runs of a status that has an index, oldest first.
    pub async fn oldest_runs(&self, status: u8, limit: usize) -> Result<Vec<Run>, Fault> {
        let range = KeyRange::prefix(&[status]);
        let rows = self.store().rows(View::RunsByStatus, &range, Direction::Ascending, limit).await?;
        Ok(self.runs_by_id(&ids_of(&rows)).await?.into_iter().flatten().collect())
    }

    /// How many runs have a status that has an index, counted up to `limit`.
    pub async fn count_runs(&self, status: u8, limit: usize) -> Result<usize, Fault> {
        let range = KeyRange::prefix(&[status]);
        Ok(self.store().rows(View::RunsByStatus, &range, Direction::Ascending, limit).await?.len())
    }

    /// One answer per id, in order.
    pub async fn runs_by_id(&self, ids: &[RunId]) -> Result<Vec<Option<Run>>, Fault> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<Vec<u8>> = ids.iter().map(|id| keys::run(*id)).collect();
        let rows = self.store().rows_by_key(View::Runs, &keys).await?;
        rows.into_iter().map(|row| row.map(|bytes| codec::decode_run(&bytes)).transpose()).collect()
    }

    /// The ids below a prefix of a view, newest first, behind an id.
    pub(crate) async fn run_ids(
        &self,
        view: View,
        prefix: &[u8],
        after: Option<&[u8]>,
        count: usize,
    ) -> Result<Vec<RunId>, Fault> {
        let after = after.map(|id| [prefix, id].concat());
        let range = rest(KeyRange::prefix(prefix), after, Direction::Descending);
        Ok(ids_of(&self.store().rows(view, &range, Direction::Descending, count).await?))
    }

    /// The runs that rows of a view stand for, in order; None for one that is forgotten meanwhile.
    async fn runs_of_rows(&self, view: View, rows: &[Row]) -> Result<Vec<Option<Run>>, Fault> {
        match view {
            View::Runs => rows.iter().map(|row| codec::decode_run(&row.value).map(Some)).collect(),
            _ => self.runs_by_id(&ids_of(rows)).await,
        }
    }
}

impl RunSource<'_> {
    async fn found(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<(RunId, Option<Run>)>, Fault> {
        let after = after.map(|id| [self.prefix.as_slice(), id].concat());
        let range = rest(self.filter.range(&self.prefix), after, Direction::Descending);
        let rows = self.queries.store().rows(self.view, &range, Direction::Descending, count).await?;
        let runs = self.queries.runs_of_rows(self.view, &rows).await?;
        Ok(ids_of(&rows).into_iter().zip(runs).collect())
    }

    fn entry(&self, run: Option<Run>) -> ListEntry<Run> {
        run.filter(|run| self.filter.fits(run)).map_or(ListEntry::Passed, ListEntry::Shown)
    }
}

#[async_trait]
impl ListSource<Run> for RunSource<'_> {
    async fn read(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<(Vec<u8>, ListEntry<Run>)>, Fault> {
        let found = self.found(after, count).await?;
        Ok(found.into_iter().map(|(id, run)| (id.0.as_bytes().to_vec(), self.entry(run))).collect())
    }

    fn entries_max(&self) -> usize {
        RUNS_WALKED_MAX
    }
}

/// The keys of all views of runs end with the run's id.
fn ids_of(rows: &[Row]) -> Vec<RunId> {
    rows.iter().filter_map(|row| keys::trailing_id(&row.key)).map(RunId).collect()
}
