//! Pages of jobs as people look for them: by label, by what fires next, newest first, or by how the last run ended.
//!
//! Invariant: a page costs a bounded number of reads whatever is looked for. Where that is not enough the page is short
//! and says where to go on; no row is walked twice.

use std::collections::HashSet;

use ordo_model::job::{Job, JobState};
use ordo_model::{EntityId, JobId, Kind, RunId, Timestamp};
use ordo_store::{DueAlarm, Fault, KeyRange, Order, Row, View};
use uuid::Uuid;

use crate::commit::codec;
use crate::commit::keys;
use crate::read::queries::Queries;

/// How many rows one read takes where not every row fits.
const READ_AT_ONCE: usize = 500;
/// How many rows one page walks at most, and how many jobs it loads at most.
const WALK_MAX: usize = 20_000;
const LOAD_MAX: usize = 4_000;
/// The same where each row costs a read of its run.
const RUNS_WALK_MAX: usize = 2_000;

/// What is looked for. Everything that is said must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// Each is a part of the label, in small notifications.
    pub label_parts: Vec<String>,
    pub state: Option<JobState>,
    /// The name of a trigger's type.
    pub trigger: Option<&'static str>,
    pub tool: Option<String>,
    pub group: Option<String>,
    /// The name of the status of the run that ended last.
    pub last: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JobOrder {
    #[default]
    Label,
    /// By the next alarm; a job without one is not in this list.
    Next,
    Newest,
}

/// Behind which entry the next page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Label(Vec<u8>),
    Alarm { at: Timestamp, id: Uuid },
    Before(Uuid),
}

#[derive(Debug, Clone, Default)]
pub struct JobPage {
    pub items: Vec<Job>,
    /// Some unless everything was looked at.
    pub next: Option<Place>,
}

/// An entry of the list that is walked: where it stands, and the job it speaks of.
struct Entry {
    place: Place,
    job: JobId,
    /// The run that must be the job's last, when runs are walked.
    run: Option<RunId>,
}

/// Some entries in a row, and where the walk stands behind them. Rows that cannot fit are passed over.
struct Walk {
    entries: Vec<Entry>,
    to: Option<Place>,
    is_end: bool,
}

impl JobQuery {
    pub fn is_empty(&self) -> bool {
        *self == JobQuery::default()
    }

    pub fn fits(&self, job: &Job) -> bool {
        let definition = &job.definition;
        let last = || job.history.last.as_ref().map(|last| last.status.as_str());
        self.fits_label(&definition.label)
            && self.state.is_none_or(|state| job.state() == state)
            && self.trigger.is_none_or(|trigger| definition.trigger.name() == trigger)
            && self.tool.as_ref().is_none_or(|tool| definition.tool_name == *tool)
            && self.group.as_ref().is_none_or(|group| definition.group == *group)
            && self.last.is_none_or(|status| last() == Some(status))
    }

    fn fits_label(&self, label: &str) -> bool {
        let label = label.to_lowercase();
        self.label_parts.iter().all(|part| label.contains(part.as_str()))
    }

    /// The status by which the job is found through the run that ended last. Completed runs have no such view.
    fn status_walked(&self) -> Option<u8> {
        self.last.filter(|status| *status != "completed").and_then(ordo_model::job::RunStatus::code_of)
    }
}

impl Queries {
    pub async fn job_page(
        &self,
        query: &JobQuery,
        order: JobOrder,
        after: Option<Place>,
        limit: usize,
    ) -> Result<JobPage, Fault> {
        let mut page = JobPage { items: Vec::new(), next: after };
        let walk_max = if query.status_walked().is_some() { RUNS_WALK_MAX } else { WALK_MAX };
        // Without a search every row fits: one more than the page says whether there is another page.
        let step = if query.is_empty() { limit + 1 } else { READ_AT_ONCE };
        let (mut walked, mut loaded) = (0, 0);
        loop {
            let Walk { entries, to, is_end } = self.entries(query, order, page.next.as_ref(), step).await?;
            walked += step;
            for some in entries.chunks(limit.max(1)) {
                loaded += some.len();
                if self.take(query, some, limit, &mut page).await? {
                    page.next = page.next.filter(|at| !is_end || to.as_ref() != Some(at));
                    return Ok(page);
                }
            }
            page.next = to.filter(|_| !is_end);
            if is_end || walked >= walk_max || loaded >= LOAD_MAX {
                return Ok(page);
            }
        }
    }

    /// How many jobs are in a state, counted up to `limit`.
    pub async fn count_jobs(&self, state: JobState, limit: usize) -> Result<usize, Fault> {
        let range = KeyRange::prefix(&[state.code()]);
        Ok(self.store().rows(View::JobsByState, &range, Order::Ascending, limit).await?.len())
    }

    /// The jobs that wake until then, soonest first; whether there are more than `limit`.
    pub async fn waking(&self, until: Timestamp, limit: usize) -> Result<(Vec<Job>, bool), Fault> {
        let alarms = self.store().due(until, None, limit + 1).await?;
        let is_cut = alarms.len() > limit;
        let ids: Vec<JobId> = alarms.into_iter().take(limit).filter_map(|alarm| job_of(alarm.entity)).collect();
        let jobs = self.load_jobs(&ids).await?;
        Ok((jobs.into_iter().flatten().collect(), is_cut))
    }

    /// One answer per id, in order.
    pub async fn load_jobs(&self, ids: &[JobId]) -> Result<Vec<Option<Job>>, Fault> {
        let entities: Vec<EntityId> = ids.iter().map(|id| (*id).into()).collect();
        let snapshots = self.store().load(&entities).await?;
        snapshots.into_iter().map(|found| found.map(|one| codec::decode_job(&one.state)).transpose()).collect()
    }

    /// Takes what fits of some entries into the page; answers whether the page is full.
    async fn take(&self, query: &JobQuery, entries: &[Entry], limit: usize, page: &mut JobPage) -> Result<bool, Fault> {
        let ids: Vec<JobId> = entries.iter().map(|entry| entry.job).collect();
        for (entry, job) in entries.iter().zip(self.load_jobs(&ids).await?) {
            page.next = Some(entry.place.clone());
            let is_its_last = |job: &Job| {
                entry.run.is_none_or(|run| job.history.last.as_ref().is_some_and(|last| last.run_id == run))
            };
            page.items.extend(job.filter(|job| query.fits(job) && is_its_last(job)));
            if page.items.len() >= limit {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn entries(
        &self,
        query: &JobQuery,
        order: JobOrder,
        after: Option<&Place>,
        step: usize,
    ) -> Result<Walk, Fault> {
        match (query.status_walked(), order) {
            (Some(status), _) => self.by_last_run(status, after, step).await,
            (None, JobOrder::Label) => self.by_label(query, after, step).await,
            (None, JobOrder::Next) => self.by_alarm(after, step).await,
            (None, JobOrder::Newest) => self.by_age(query, after, step).await,
        }
    }

    async fn by_label(&self, query: &JobQuery, after: Option<&Place>, step: usize) -> Result<Walk, Fault> {
        let mut range = KeyRange::all();
        if let Some(Place::Label(key)) = after {
            range.from = [key.as_slice(), &[0]].concat();
        }
        let rows = self.store().rows(View::JobsByLabel, &range, Order::Ascending, step).await?;
        let (to, is_end) = (rows.last().map(|row| Place::Label(row.key.clone())), rows.len() < step);
        // Without loading the jobs of labels that do not fit.
        Ok(Walk { entries: rows.into_iter().filter_map(|row| labelled(query, row)).collect(), to, is_end })
    }

    async fn by_alarm(&self, after: Option<&Place>, step: usize) -> Result<Walk, Fault> {
        let after = match after {
            Some(Place::Alarm { at, id }) => Some(DueAlarm { at: *at, rank: 0, entity: JobId(*id).into() }),
            Some(Place::Label(_) | Place::Before(_)) | None => None,
        };
        let alarms = self.store().due(Timestamp::MAX, after, step).await?;
        let place = |alarm: &DueAlarm| Place::Alarm { at: alarm.at, id: alarm.entity.id };
        let entry = |alarm: &DueAlarm| job_of(alarm.entity).map(|job| Entry { place: place(alarm), job, run: None });
        let (to, is_end) = (alarms.last().map(place), alarms.len() < step);
        Ok(Walk { entries: alarms.iter().filter_map(entry).collect(), to, is_end })
    }

    /// Each state has its own list by age: the newest of all lists come first.
    async fn by_age(&self, query: &JobQuery, after: Option<&Place>, step: usize) -> Result<Walk, Fault> {
        let mut ids = Vec::new();
        for state in JobState::ALL.into_iter().filter(|state| query.state.is_none_or(|wanted| wanted == *state)) {
            let rows = self.newest(View::JobsByState, state.code(), after, step).await?;
            ids.extend(rows.iter().filter_map(|row| keys::trailing_id(&row.key)));
        }
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.truncate(step);
        let entry = |id: &Uuid| Entry { place: Place::Before(*id), job: JobId(*id), run: None };
        let (to, is_end) = (ids.last().copied().map(Place::Before), ids.len() < step);
        Ok(Walk { entries: ids.iter().map(entry).collect(), to, is_end })
    }

    async fn by_last_run(&self, status: u8, after: Option<&Place>, step: usize) -> Result<Walk, Fault> {
        let rows = self.newest(View::RunsByStatus, status, after, step).await?;
        let ids: Vec<Uuid> = rows.iter().filter_map(|row| keys::trailing_id(&row.key)).collect();
        let (to, is_end) = (ids.last().copied().map(Place::Before), rows.len() < step);
        let mut entries = Vec::with_capacity(ids.len());
        let mut seen = HashSet::new();
        for id in ids {
            let Some(run) = self.run(RunId(id)).await? else { continue };
            // Only the newest of a job's can be its last.
            if seen.insert(run.job_id) {
                entries.push(Entry { place: Place::Before(id), job: run.job_id, run: Some(run.id) });
            }
        }
        Ok(Walk { entries, to, is_end })
    }

    async fn newest(&self, view: View, code: u8, after: Option<&Place>, step: usize) -> Result<Vec<Row>, Fault> {
        let mut range = KeyRange::prefix(&[code]);
        if let Some(Place::Before(id)) = after {
            range.to = Some([&[code], id.as_bytes().as_slice()].concat());
        }
        self.store().rows(view, &range, Order::Descending, step).await
    }
}

fn labelled(query: &JobQuery, row: Row) -> Option<Entry> {
    let (label, job) = keys::read_job_by_label(&row.key)?;
    query.fits_label(label).then_some(())?;
    Some(Entry { place: Place::Label(row.key), job, run: None })
}

/// Other things have alarms too.
fn job_of(entity: EntityId) -> Option<JobId> {
    (entity.kind == Kind::Job).then_some(JobId(entity.id))
}
