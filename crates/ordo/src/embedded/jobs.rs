//! Jobs by their label: looked for, listed, and made to be as the program wants them.
//!
//! Invariant: a program that ensures its jobs at every start has each of them once, however often it is started.

use ordo_engine::job_list::{JobFilter, JobQuery};
use ordo_model::job::{Command, Definition, Job, JobState};
use serde_json::{Map, Value};

use super::{Error, JobBuilder, Ordo};

/// As many as one page of the store has.
const PAGE: usize = ordo_model::limits::PAGE_MAX;

/// What [`Ordo::ensure`] did.
#[derive(Debug, Clone, PartialEq)]
pub enum Ensured {
    /// There was no such job: now there is.
    Created(Job),
    /// There was one, and it is now as it was asked for.
    Updated(Job),
    /// There was one, and it is as it was asked for.
    Unchanged(Job),
}

impl Ensured {
    /// The job as it stands.
    pub fn job(&self) -> &Job {
        match self {
            Ensured::Created(job) | Ensured::Updated(job) | Ensured::Unchanged(job) => job,
        }
    }
}

impl Ordo {
    /// Makes sure that there is one job of this label, and that it is as it is written here: what a program does at its
    /// start with every job it wants to have. A job that is paused stays paused.
    pub async fn ensure(&self, job: JobBuilder) -> Result<Ensured, Error> {
        let wanted = self.checked(job)?.prepared(self.now()).map_err(|invalid| Error::Invalid(invalid.to_string()))?;
        let Some(found) = self.find(&wanted.label).await? else {
            let accepted = self.engine.schedule(wanted, false).await?;
            return Ok(Ensured::Created(Job::clone(&accepted.job)));
        };
        let patch = difference(&found.definition, &wanted)?;
        if patch.is_empty() {
            return Ok(Ensured::Unchanged(found));
        }
        let update = Command::Update { patch, if_revision: Some(found.revision), if_followed: None };
        let accepted = self.engine.submit(found.id, update).await?;
        Ok(Ensured::Updated(Job::clone(&accepted.job)))
    }

    /// The job of this label that is not over; of several the oldest.
    pub async fn find(&self, label: &str) -> Result<Option<Job>, Error> {
        let filter = JobFilter { label: Some(label.to_owned()), ..JobFilter::default() };
        let mut jobs = self.all(filter).await?;
        jobs.retain(|job| !matches!(job.state(), JobState::Finished | JobState::Cancelled));
        jobs.sort_by_key(|job| job.id);
        Ok(jobs.into_iter().next())
    }

    /// All jobs, or those in one state, by label.
    pub async fn list(&self, state: Option<JobState>) -> Result<Vec<Job>, Error> {
        self.all(JobFilter { state, ..JobFilter::default() }).await
    }

    async fn all(&self, filter: JobFilter) -> Result<Vec<Job>, Error> {
        let mut query = JobQuery { filter, limit: PAGE, ..JobQuery::default() };
        let mut jobs = Vec::new();
        loop {
            let page = self.engine.queries().jobs(&query).await?;
            jobs.extend(page.items);
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(jobs),
            }
        }
    }
}

/// The fields in which they differ, as a patch.
fn difference(found: &Definition, wanted: &Definition) -> Result<Map<String, Value>, Error> {
    let (found, mut wanted) = (fields(found)?, fields(wanted)?);
    // An interval counts from the moment the job was made: that moment is not asked for.
    if let (Some(new), Some(old)) = (wanted.get_mut("trigger"), found.get("trigger"))
        && new.get("every").is_some()
        && new["every"] == old["every"]
    {
        new["start"] = old["start"].clone();
    }
    let mut patch: Map<String, Value> = Map::new();
    for name in found.keys().chain(wanted.keys()) {
        let new = wanted.get(name).cloned().unwrap_or(Value::Null);
        if found.get(name).unwrap_or(&Value::Null) != &new {
            patch.insert(name.clone(), new);
        }
    }
    Ok(patch)
}

fn fields(definition: &Definition) -> Result<Map<String, Value>, Error> {
    match serde_json::to_value(definition) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Error::Invalid("a job is not an object".to_owned())),
        Err(error) => Err(Error::Invalid(error.to_string())),
    }
}
