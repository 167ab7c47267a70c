//! What fires soon, read from the jobs' own index of next fires: whatever else has alarms does not crowd it out.
//!
//! Invariant: the cost is bounded by the two limits, and what lies beyond them is said: before `known_until` nothing is
//! missing, and `is_loaded` says whether every job that is meant was loaded.

use ordo_model::job::Job;
use ordo_model::{JobId, Timestamp};
use ordo_store::{Direction, Fault, KeyRange, View};

use crate::commit::encoding::keys;
use crate::read::job_list::{JobOrder, JobQuery};
use crate::read::queries::Queries;

/// The jobs that fire by themselves until some moment.
#[derive(Debug, Clone, Default)]
pub struct Upcoming {
    /// Those that were loaded, those of the nearest minute first.
    pub jobs: Vec<Job>,
    /// The minutes in which the other jobs fire next, nearest first.
    pub others: Vec<Timestamp>,
    /// The next fires of jobs are known up to this moment; None: of all that were asked for.
    pub known_until: Option<Timestamp>,
}

impl Upcoming {
    /// Every job that fires until the moment that was asked for is among `jobs`.
    pub fn is_loaded(&self) -> bool {
        self.others.is_empty() && self.known_until.is_none()
    }
}

impl Queries {
    /// The jobs that fire next until then, also those that should have fired already. At most `loads_max` of them are
    /// loaded, and at most `rows_max` are known at all.
    pub async fn upcoming(&self, until: Timestamp, loads_max: usize, rows_max: usize) -> Result<Upcoming, Fault> {
        if !self.has_fire_rows().await? {
            return self.upcoming_by_alarms(until, loads_max).await;
        }
        let mut range = KeyRange::prefix(&keys::next_fire_prefix());
        range.to = KeyRange::prefix(&keys::next_fire_minute(until)).to;
        let rows = self.store().rows(View::Index, &range, Direction::Ascending, rows_max + 1).await?;
        let mut found: Vec<(Timestamp, JobId)> =
            rows.iter().filter_map(|row| keys::read_job_by_next_fire(&row.key)).collect();
        // The minute of the first that is left out is not known whole.
        let known_until = (found.len() > rows_max).then(|| found[rows_max].0);
        found.truncate(rows_max);
        let ids: Vec<JobId> = found.iter().take(loads_max).map(|(_, id)| *id).collect();
        let fires = |job: &Job| job.next_tick_at().is_some_and(|at| at <= until);
        let jobs = self.load_jobs(&ids).await?.into_iter().flatten().filter(fires).collect();
        let others = found.iter().skip(loads_max).map(|(at, _)| *at).filter(|at| *at <= until).collect();
        Ok(Upcoming { jobs, others, known_until })
    }

    /// For a store without the index: through the alarms of everything, of which a bounded number is looked at.
    async fn upcoming_by_alarms(&self, until: Timestamp, loads_max: usize) -> Result<Upcoming, Fault> {
        let query = JobQuery { order: JobOrder::Next, limit: loads_max, ..JobQuery::default() };
        let page = self.jobs(&query).await?;
        let known_until = match (&page.next, page.items.last().and_then(Job::next_tick_at)) {
            (Some(_), Some(last)) => Some(last.min(until)),
            (Some(_), None) => Some(Timestamp::MIN),
            (None, _) => None,
        };
        let fires = |job: &Job| job.next_tick_at().is_some_and(|at| at <= until);
        Ok(Upcoming { jobs: page.items.into_iter().filter(fires).collect(), others: Vec::new(), known_until })
    }
}
