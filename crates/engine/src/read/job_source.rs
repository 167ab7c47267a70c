//! Which rows are walked to find the jobs of a list, and what is known of a job without loading it.
//!
//! Cost of a piece of the list: one read of rows, one for each filter that another index answers, one of the jobs that
//! are left.

use std::collections::HashSet;

use async_trait::async_trait;
use ordo_model::job::{Job, JobState};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{EntityId, JobId, Kind, RunId, Timestamp};
use ordo_store::{Direction, DueAlarm, Fault, KeyRange, View};
use uuid::Uuid;

use crate::commit::encoding::keys;
use crate::read::job_list::{JobFilter, JobOrder, JobQuery};
use crate::read::page::{ListEntry, ListSource, rest};
use crate::read::queries::Queries;

/// How many rows one page walks at most; fewer where each row costs a read of a job or of a run.
const ROWS_MAX: usize = 20_000;
const LOADS_MAX: usize = 4_000;
/// Fewer jobs are rather loaded than asked for in another index.
const NARROWED_MIN: usize = 256;
/// As many jobs are rather sorted in memory than looked for in a list of another order.
const FEW: usize = 500;

pub(crate) struct JobSource<'a> {
    queries: &'a Queries,
    filter: &'a JobFilter,
    walked: Walked,
    /// Filters that an index answers which is not the one walked: the views and prefixes of their rows.
    others: Vec<(View, Vec<u8>)>,
    /// Whether what is left must be loaded to know whether it fits.
    is_vague: bool,
}

enum Walked {
    /// Runs with one status, newest first: the jobs whose last run is among them.
    LastRuns(u8),
    /// Rows whose keys are this prefix and label and id of a job: of all jobs, or of those with a tag.
    Labels {
        view: View,
        prefix: Vec<u8>,
        range: KeyRange,
    },
    Alarms,
    /// Rows whose keys end with the jobs' ids, in several parts of a view, by id.
    Ids {
        view: View,
        prefixes: Vec<Vec<u8>>,
        order: Direction,
    },
    /// All jobs that fit, with their keys, in the order of the list.
    Few(Vec<(Vec<u8>, Job)>, JobOrder),
}

/// A row that is walked: its key in the list, and the job it speaks of.
struct WalkedRow {
    key: Vec<u8>,
    job: Option<JobId>,
    /// The run that must be the job's last, when runs are walked.
    run: Option<RunId>,
}

impl<'a> JobSource<'a> {
    pub(crate) async fn choose(queries: &'a Queries, query: &'a JobQuery) -> Result<JobSource<'a>, Fault> {
        let filter = &query.filter;
        let by_trigger = match filter.trigger_code() {
            Some(code) if queries.has_trigger_rows().await? => Some((View::Index, keys::trigger_prefix(code))),
            Some(_) | None => None,
        };
        let is_unindexed = filter.trigger.is_some() && by_trigger.is_none();
        let by_state = filter.state.map(|state| (View::JobsByState, vec![state.code()]));
        let by_label = filter.label.as_ref().map(|label| (View::JobsByLabel, keys::label_prefix(label)));
        let mut others: Vec<(View, Vec<u8>)> = by_trigger.into_iter().chain(by_state).collect();
        let walked = match (filter.status_walked(), query.order) {
            (Some(status), _) => {
                others.extend(by_label);
                Walked::LastRuns(status)
            }
            (None, JobOrder::Label) => {
                let start = by_label.map_or_else(|| filter.label_prefix.clone().into_bytes(), |(_, prefix)| prefix);
                by_label_of(filter.tags.first(), &start)
            }
            (None, JobOrder::Next) => {
                others.extend(by_label);
                Walked::Alarms
            }
            (None, JobOrder::Newest) => by_age(by_label, &mut others, Direction::Descending),
            (None, JobOrder::Oldest) => by_age(by_label, &mut others, Direction::Ascending),
        };
        let knows_label = matches!(walked, Walked::Labels { .. });
        let tags_known = if knows_label { 1 } else { 0 };
        let has_label = !(filter.label_prefix.is_empty() && filter.label_parts.is_empty());
        let is_vague = is_unindexed
            || filter.tool.is_some()
            || filter.group.is_some()
            || (filter.last.is_some() && filter.status_walked().is_none())
            || filter.tags.len() > tags_known
            || (has_label && !knows_label);
        let source = JobSource { queries, filter, walked, others, is_vague };
        source.or_few(query.order).await
    }

    /// Where an index names few jobs that can fit, these are sorted instead.
    async fn or_few(self, order: JobOrder) -> Result<JobSource<'a>, Fault> {
        if matches!(self.walked, Walked::LastRuns(_)) {
            return Ok(self);
        }
        // The first tag is walked where the list is by label: its rows are few or exactly those.
        let walked_tags = if matches!(self.walked, Walked::Labels { .. }) { 1 } else { 0 };
        let tags = self.filter.tags.iter().skip(walked_tags).map(|tag| (View::Index, keys::tag_prefix(tag)));
        let indexes: Vec<(View, Vec<u8>)> = tags.chain(self.others.iter().cloned()).collect();
        for (view, prefix) in &indexes {
            let range = KeyRange::prefix(prefix);
            let rows = self.queries.store().rows(*view, &range, Direction::Ascending, FEW + 1).await?;
            if rows.len() <= FEW {
                let ids: Vec<JobId> = rows.iter().filter_map(|row| keys::trailing_id(&row.key)).map(JobId).collect();
                return self.few(&ids, order).await;
            }
        }
        Ok(self)
    }

    async fn few(self, ids: &[JobId], order: JobOrder) -> Result<JobSource<'a>, Fault> {
        let jobs = self.queries.load_jobs(ids).await?.into_iter().flatten().filter(|job| self.filter.shows(job));
        let mut few: Vec<(Vec<u8>, Job)> = jobs.filter_map(|job| Some((key_of(&job, order)?, job))).collect();
        few.sort_by(|(one, _), (other, _)| one.cmp(other));
        if order == JobOrder::Newest {
            few.reverse();
        }
        Ok(JobSource { walked: Walked::Few(few, order), others: Vec::new(), ..self })
    }

    async fn candidates(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<WalkedRow>, Fault> {
        match &self.walked {
            Walked::LastRuns(status) => self.last_runs(*status, after, count).await,
            Walked::Labels { view, prefix, range } => self.labels(*view, prefix, range, after, count).await,
            Walked::Alarms => self.alarms(after, count).await,
            Walked::Ids { view, prefixes, order } => self.ids(*view, prefixes, *order, after, count).await,
            Walked::Few(..) => Ok(Vec::new()),
        }
    }

    /// A cursor has the key without the prefix: it fits the list whether that goes by a tag or not.
    async fn labels(
        &self,
        view: View,
        prefix: &[u8],
        range: &KeyRange,
        after: Option<&[u8]>,
        count: usize,
    ) -> Result<Vec<WalkedRow>, Fault> {
        let range = rest(range.clone(), after.map(|key| [prefix, key].concat()), Direction::Ascending);
        let rows = self.queries.store().rows(view, &range, Direction::Ascending, count).await?;
        let fitting = |key: &[u8]| {
            keys::read_job_by_label(key).filter(|(label, _)| self.filter.shows_label(label)).map(|(_, job)| job)
        };
        let row = |key: &[u8]| WalkedRow { job: fitting(key), key: key.to_vec(), run: None };
        Ok(rows.iter().filter_map(|found| found.key.strip_prefix(prefix)).map(row).collect())
    }

    async fn alarms(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<WalkedRow>, Fault> {
        let after = after.map(read_alarm_key).transpose()?;
        let alarms = self.queries.store().due(Timestamp::MAX, after, count).await?;
        // Other things have alarms too.
        let job = |entity: EntityId| (entity.kind == Kind::Job).then_some(JobId(entity.id));
        let candidate =
            |alarm: &DueAlarm| WalkedRow { key: alarm_key(alarm.at, alarm.entity), job: job(alarm.entity), run: None };
        Ok(alarms.iter().map(candidate).collect())
    }

    async fn ids(
        &self,
        view: View,
        prefixes: &[Vec<u8>],
        order: Direction,
        after: Option<&[u8]>,
        count: usize,
    ) -> Result<Vec<WalkedRow>, Fault> {
        let part = |prefix: &Vec<u8>| {
            let after = after.map(|id| [prefix.as_slice(), id].concat());
            rest(KeyRange::prefix(prefix), after, order)
        };
        let ranges: Vec<KeyRange> = prefixes.iter().map(part).collect();
        let parts = self.queries.store().rows_of_ranges(view, &ranges, order, count).await?;
        let mut ids: Vec<Uuid> = parts.iter().flatten().filter_map(|row| keys::trailing_id(&row.key)).collect();
        ids.sort_unstable();
        if order == Direction::Descending {
            ids.reverse();
        }
        ids.truncate(count);
        let candidate = |id: Uuid| WalkedRow { key: id.as_bytes().to_vec(), job: Some(JobId(id)), run: None };
        Ok(ids.into_iter().map(candidate).collect())
    }

    async fn last_runs(&self, status: u8, after: Option<&[u8]>, count: usize) -> Result<Vec<WalkedRow>, Fault> {
        let ids = self.queries.run_ids(View::RunsByStatus, &[status], after, count).await?;
        let runs = self.queries.runs_by_id(&ids).await?;
        let mut seen = HashSet::new();
        // Only the newest of a job's can be its last.
        let mut job = |run: Option<ordo_model::job::Run>| run.map(|run| run.job_id).filter(|job| seen.insert(*job));
        let found = ids.into_iter().zip(runs);
        Ok(found.map(|(id, run)| WalkedRow { key: id.0.as_bytes().to_vec(), job: job(run), run: Some(id) }).collect())
    }

    /// Drops the jobs that an index says do not fit.
    async fn narrow(&self, candidates: &mut [WalkedRow]) -> Result<(), Fault> {
        if candidates.len() < NARROWED_MIN {
            return Ok(());
        }
        for (view, prefix) in &self.others {
            let mut left: Vec<&mut WalkedRow> = candidates.iter_mut().filter(|found| found.job.is_some()).collect();
            let key = |job: JobId| [prefix.as_slice(), job.0.as_bytes()].concat();
            let asked: Vec<Vec<u8>> = left.iter().filter_map(|found| found.job.map(key)).collect();
            let rows = self.queries.store().rows_by_key(*view, &asked).await?;
            for (found, row) in left.iter_mut().zip(rows) {
                found.job = found.job.filter(|_| row.is_some());
            }
        }
        Ok(())
    }
}

#[async_trait]
impl ListSource<Job> for JobSource<'_> {
    async fn read(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<(Vec<u8>, ListEntry<Job>)>, Fault> {
        if let Walked::Few(few, order) = &self.walked {
            return Ok(read_few(few, *order, after, count));
        }
        let mut candidates = self.candidates(after, count).await?;
        self.narrow(&mut candidates).await?;
        let ids: Vec<JobId> = candidates.iter().filter_map(|found| found.job).collect();
        let mut jobs = self.queries.load_jobs(&ids).await?.into_iter();
        let mut entry = |found: WalkedRow| {
            let job = found.job.and_then(|_| jobs.next().flatten());
            let is_last = |job: &Job| {
                found.run.is_none_or(|run| job.history.last.as_ref().is_some_and(|last| last.run_id == run))
            };
            let shown = job.filter(|job| self.filter.shows(job) && is_last(job));
            (found.key, shown.map_or(ListEntry::Passed, ListEntry::Shown))
        };
        Ok(candidates.into_iter().map(&mut entry).collect())
    }

    fn entries_max(&self) -> usize {
        let reads_each = self.is_vague || matches!(self.walked, Walked::LastRuns(_));
        if reads_each { LOADS_MAX } else { ROWS_MAX }
    }
}

/// By label, from where the labels that are looked for begin; of the jobs with a tag, if there is one.
fn by_label_of(tag: Option<&String>, start: &[u8]) -> Walked {
    let (view, prefix) = tag.map_or((View::JobsByLabel, Vec::new()), |tag| (View::Index, keys::tag_prefix(tag)));
    let range = KeyRange::prefix(&[prefix.as_slice(), start].concat());
    Walked::Labels { view, prefix, range }
}

/// By id, through the index that narrows most for certain; the filters that are left stay in `others`.
fn by_age(by_label: Option<(View, Vec<u8>)>, others: &mut Vec<(View, Vec<u8>)>, order: Direction) -> Walked {
    let every_state = || (View::JobsByState, JobState::ALL.map(|state| vec![state.code()]).to_vec());
    let first = |others: &mut Vec<(View, Vec<u8>)>| (!others.is_empty()).then(|| others.remove(0));
    let (view, prefixes) =
        by_label.or_else(|| first(others)).map_or_else(every_state, |(view, prefix)| (view, vec![prefix]));
    Walked::Ids { view, prefixes, order }
}

/// Where a job stands in a list; None if it is not in it.
fn key_of(job: &Job, order: JobOrder) -> Option<Vec<u8>> {
    match order {
        JobOrder::Label => Some(keys::job_by_label(&job.definition.label, job.id)),
        // Whatever delay is configured: what waits in an outbox is gone within a moment.
        JobOrder::Next => job.next_wake(OUTBOX_FLUSH_DELAY).map(|at| alarm_key(at, job.id.into())),
        JobOrder::Newest | JobOrder::Oldest => Some(job.id.0.as_bytes().to_vec()),
    }
}

fn read_few(
    few: &[(Vec<u8>, Job)],
    order: JobOrder,
    after: Option<&[u8]>,
    count: usize,
) -> Vec<(Vec<u8>, ListEntry<Job>)> {
    let is_before = |key: &[u8], after: &[u8]| if order == JobOrder::Newest { key >= after } else { key <= after };
    let start = after.map_or(0, |after| few.partition_point(|(key, _)| is_before(key, after)));
    few[start..].iter().take(count).map(|(key, job)| (key.clone(), ListEntry::Shown(job.clone()))).collect()
}

fn alarm_key(at: Timestamp, entity: EntityId) -> Vec<u8> {
    [at.ms().to_be_bytes().as_slice(), entity.id.as_bytes(), &[entity.kind.code()]].concat()
}

fn read_alarm_key(key: &[u8]) -> Result<DueAlarm, Fault> {
    let read = || {
        let (at, rest) = key.split_first_chunk::<8>()?;
        let (code, id) = rest.split_last()?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.code() == *code)?;
        let at = Timestamp::from_ms(i64::from_be_bytes(*at)).ok()?;
        Some(DueAlarm { at, rank: 0, entity: EntityId { kind, id: Uuid::from_slice(id).ok()? } })
    };
    read().ok_or_else(|| Fault::NotAPosition { given: "a cursor without an alarm".to_owned() })
}
