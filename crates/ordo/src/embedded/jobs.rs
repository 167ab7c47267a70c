//! Jobs by their label: looked for, listed, and made to be as the program wants them.
//!
//! Invariant: a program that ensures its jobs at every start has each of them once, however often it is started.

use ordo_engine::job_list::{JobFilter, JobQuery};
use ordo_model::job::{Command, Definition, Job, JobState};
use serde_json::{Map, Value};

use super::{Error, JobBuilder, JobHandle, Ordo};

/// As many as one page of the store has.
const PAGE: usize = ordo_model::limits::PAGE_MAX;

/// What [`Ordo::ensure`] did.
#[derive(Debug, Clone, PartialEq)]
pub enum Ensured<I = Value, O = Value> {
    /// There was no such job: now there is.
    Created(JobHandle<I, O>),
    /// There was one, and it is now as it was asked for.
    Updated(JobHandle<I, O>),
    /// There was one, and it is as it was asked for.
    Unchanged(JobHandle<I, O>),
}

impl<I, O> Ensured<I, O> {
    /// The job as it stands.
    pub fn job(&self) -> &JobHandle<I, O> {
        match self {
            Ensured::Created(job) | Ensured::Updated(job) | Ensured::Unchanged(job) => job,
        }
    }

    /// The job as it stands, whatever was done.
    pub fn into_job(self) -> JobHandle<I, O> {
        match self {
            Ensured::Created(job) | Ensured::Updated(job) | Ensured::Unchanged(job) => job,
        }
    }
}

impl Ordo {
    /// Makes sure that there is one job of this label, and that it is as it is written here: what a program does at its
    /// start with every job it wants to have. A job that is paused stays paused.
    ///
    /// ```
    /// use ordo::{Context, Ensured, Every, Ordo, ToolKey};
    ///
    /// const TIDY: ToolKey<u32, ()> = ToolKey::new("tidy");
    /// # async fn example() -> Result<(), ordo::Error> {
    /// let tidy = |_: u32, _: Context| async { Ok::<_, String>(()) };
    /// let ordo = Ordo::in_memory().handle(TIDY, tidy).start().await?;
    /// let hourly = || Ok::<_, ordo::Error>(TIDY.job("tidy", &7).on(Every::hours(1)?));
    /// assert!(matches!(ordo.ensure(hourly()?).await?, Ensured::Created(_)));
    /// assert!(matches!(ordo.ensure(hourly()?).await?, Ensured::Unchanged(_)));
    /// assert!(matches!(ordo.ensure(hourly()?.priority(9)).await?, Ensured::Updated(_)));
    /// assert_eq!(ordo.list(None).await?.len(), 1);
    /// # ordo.shutdown(std::time::Duration::ZERO).await;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the job can never work; [`Error::Refused`] or [`Error::Store`] if it could not be stored.
    pub async fn ensure<I, O>(&self, job: JobBuilder<I, O>) -> Result<Ensured<I, O>, Error> {
        let wanted = self.checked(job)?.prepared(self.now()).map_err(|invalid| Error::Invalid(invalid.to_string()))?;
        let Some(found) = self.find(&wanted.label).await? else {
            let accepted = self.engine.schedule(wanted, false).await?;
            return Ok(Ensured::Created(JobHandle::new(Job::clone(&accepted.job))));
        };
        let patch = difference(&found.definition, &wanted)?;
        if patch.is_empty() {
            return Ok(Ensured::Unchanged(JobHandle::new(found)));
        }
        let update = Command::Update { patch, if_revision: Some(found.revision), if_followed: None };
        let accepted = self.engine.submit(found.id, update).await?;
        Ok(Ensured::Updated(JobHandle::new(Job::clone(&accepted.job))))
    }

    /// The job of this label that is not over; of several the oldest.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store cannot be read.
    pub async fn find(&self, label: &str) -> Result<Option<Job>, Error> {
        Ok(self.engine.queries().live_jobs(label, 1).await?.into_iter().next())
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
