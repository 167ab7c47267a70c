//! Jobs found by a part of their label: the label view is walked in its own order, by label, then by age.
//!
//! Invariant: one call walks at most [`SCAN_MAX`] rows and holds one page of them; what is left is for the next call,
//! so a page may hold fewer jobs than were asked for, even none, and still not be the last one.
//! Cost: one row per job whose label begins with the prefix, one snapshot per job that is shown or filtered further.

use ordo_model::job::Job;
use ordo_model::{EntityId, JobId};
use ordo_store::{Fault, KeyRange, Order, Row, View};

use crate::commit::codec;
use crate::commit::keys;
use crate::read::queries::{JobFilter, Queries, SCAN_MAX};

/// How many rows one read takes.
const READ_AT_ONCE: usize = 1_000;

/// What is looked for in labels. Both may be empty: then every label fits.
#[derive(Debug, Clone, Default)]
pub struct LabelSearch {
    /// The label begins with it, notification by notification.
    pub prefix: String,
    /// The label contains it; capitals and small notifications are the same.
    pub part: String,
}

/// A place in the list of jobs by label: behind this job under this label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelPlace(Vec<u8>);

impl LabelPlace {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// None if it cannot be a place.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<LabelPlace> {
        keys::read_job_by_label(&bytes).is_some().then_some(LabelPlace(bytes))
    }
}

#[derive(Debug, Clone, Default)]
pub struct FoundJobs {
    pub items: Vec<Job>,
    pub next: Option<LabelPlace>,
}

impl Queries {
    /// Jobs whose label fits and that the filter shows. A job that is renamed meanwhile may be met twice or not at all.
    pub async fn search_jobs(
        &self,
        search: &LabelSearch,
        filter: &JobFilter,
        after: Option<LabelPlace>,
        limit: usize,
    ) -> Result<FoundJobs, Fault> {
        let part = search.part.to_lowercase();
        let mut range = KeyRange::prefix(search.prefix.as_bytes());
        if let Some(LabelPlace(key)) = after {
            range.from = range.from.max(behind(key));
        }
        let mut items = Vec::new();
        let mut walked = 0;
        loop {
            let rows = self.store().rows(View::JobsByLabel, &range, Order::Ascending, READ_AT_ONCE).await?;
            let Some(last) = rows.last().map(|row| row.key.clone()) else { return Ok(FoundJobs { items, next: None }) };
            let fitting: Vec<&Row> = rows.iter().filter(|row| fits(&row.key, &part)).collect();
            for some in fitting.chunks(limit.max(1)) {
                for (key, job) in self.jobs_of(some).await? {
                    if filter.shows(&job) {
                        items.push(job);
                    }
                    if items.len() >= limit {
                        let is_last = rows.len() < READ_AT_ONCE && *key == last;
                        return Ok(FoundJobs { items, next: (!is_last).then(|| LabelPlace(key.clone())) });
                    }
                }
            }
            walked += rows.len();
            if rows.len() < READ_AT_ONCE {
                return Ok(FoundJobs { items, next: None });
            }
            if walked >= SCAN_MAX {
                return Ok(FoundJobs { items, next: Some(LabelPlace(last)) });
            }
            range.from = behind(last);
        }
    }

    /// The jobs that these rows speak of; one that was forgotten meanwhile is left out.
    async fn jobs_of<'a>(&self, rows: &[&'a Row]) -> Result<Vec<(&'a Vec<u8>, Job)>, Fault> {
        let of_row = |row: &&'a Row| keys::trailing_id(&row.key).map(|id| (&row.key, EntityId::from(JobId(id))));
        let (keys, entities): (Vec<&Vec<u8>>, Vec<EntityId>) = rows.iter().filter_map(of_row).unzip();
        let snapshots = self.store().load(&entities).await?;
        let found = keys.into_iter().zip(snapshots).filter_map(|(key, snapshot)| Some((key, snapshot?)));
        found.map(|(key, snapshot)| Ok((key, codec::decode_job(&snapshot.state)?))).collect()
    }
}

fn fits(key: &[u8], part: &str) -> bool {
    keys::read_job_by_label(key).is_some_and(|(label, _)| part.is_empty() || label.to_lowercase().contains(part))
}

/// The smallest key behind this one.
fn behind(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}
