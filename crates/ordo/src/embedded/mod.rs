//! The facade for programs that have Ordo inside them.
//!
//! Invariant: everything goes through the engine; what is promised of the daemon holds here too.

mod error;
mod handle;
mod handler;
mod jobs;
mod key;
mod layer;
mod new_job;
mod opening;
mod schedules;
mod stepping;
#[cfg(feature = "postgres")]
mod submitting;

use std::sync::Arc;
use std::time::Duration;

use ordo_engine::change_hint::ChangeHint;
use ordo_engine::clock::SetClock;
use ordo_engine::run_list::RunFilter;
use ordo_engine::{Engine, SubmitError};
use ordo_model::job::{Command, Definition, Job, Run, RunStatus};
use ordo_model::{JobId, RunId, Timestamp};
use tokio::sync::broadcast::error::RecvError;

pub use error::Error;
pub use handle::{JobHandle, Upstream};
pub use handler::Context;
pub use jobs::Ensured;
pub use key::ToolKey;
pub use layer::Call;
pub use new_job::JobBuilder;
use opening::HostStore;
pub use opening::Opening;
pub use schedules::{At, Cron, Every, ZoneName};
#[cfg(feature = "postgres")]
pub use submitting::{Enqueuer, SubmissionId, SubmittedWork};

/// How many runs of a job are listed.
const RUNS_LISTED: usize = 200;

/// A running Ordo. Cheap to clone; it ends with [`Ordo::shutdown`].
#[derive(Debug, Clone)]
pub struct Ordo {
    engine: Engine,
    clock: Option<Arc<SetClock>>,
    /// Where it is in a PostgreSQL database.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "there is no database"))]
    schema: Option<Arc<str>>,
}

impl Ordo {
    /// Begins to open the store at this path; it is made on first use.
    pub fn open(path: impl Into<std::path::PathBuf>) -> Opening {
        Opening::on(HostStore::File(path.into()))
    }

    /// The same in memory: for tests.
    pub fn in_memory() -> Opening {
        Opening::on(HostStore::Memory)
    }

    /// Begins to open a PostgreSQL database (`postgres://user@host/name`). Several programs, and `ordo serve`, may share
    /// it: give each a [node name](Opening::node) of its own.
    #[cfg(feature = "postgres")]
    pub fn postgres(url: impl Into<String>) -> Opening {
        Opening::on(HostStore::Database(url.into()))
    }

    /// Begins to open a PostgreSQL database with connections of the program's own pool. Ordo keeps at most half of what the pool may
    /// have, and at least three, while it is open; it never gives them back changed, but closes them. In the schema `ordo`
    /// unless [`Opening::schema`] says otherwise.
    ///
    /// A pool's connections cannot be listened on: other programs on the same database are heard of within a second, or at
    /// once with [`Opening::listen_at`].
    ///
    /// ```no_run
    /// use ordo::Ordo;
    /// use ordo::postgres::deadpool_postgres::{Config, Runtime};
    /// use ordo::postgres::tokio_postgres::NoTls;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config { url: Some("postgres://me@localhost/app".into()), ..Config::default() };
    /// let pool = config.create_pool(Some(Runtime::Tokio1), NoTls)?;
    /// let ordo = Ordo::postgres_with(pool.clone()).node("web-1").start().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "postgres")]
    pub fn postgres_with(pool: ordo_store_postgres::deadpool_postgres::Pool) -> Opening {
        Opening::on(HostStore::Pool { pool, listen_at: None })
    }

    /// Adds a job and returns it once it is durable. Called twice it adds two: see [`Ordo::ensure`].
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the job can never work; [`Error::Refused`] or [`Error::Store`] if it could not be stored.
    pub async fn schedule<I, O>(&self, job: JobBuilder<I, O>) -> Result<JobHandle<I, O>, Error> {
        let accepted = self.engine.schedule(self.checked(job)?, false).await?;
        Ok(JobHandle::new(Job::clone(&accepted.job)))
    }

    /// A definition whose tool is there and takes its input.
    fn checked<I, O>(&self, job: JobBuilder<I, O>) -> Result<Definition, Error> {
        let definition: Definition = job.try_into()?;
        let Some(tool) = self.engine.tools().get(&definition.tool_name) else {
            return Err(Error::Invalid(format!(
                "there is no tool {:?}: register it before start",
                definition.tool_name
            )));
        };
        tool.check(&definition.tool_input).map_err(|message| Error::Invalid(format!("input: {message}")))?;
        Ok(definition)
    }

    /// Runs a job once, now. Returns when that is durable.
    pub async fn trigger(&self, job: JobId) -> Result<RunId, Error> {
        let accepted = self.engine.submit(job, Command::Trigger { tool_input: None, traceparent: None }).await?;
        let begun = accepted.run_begun().map(|run| run.id);
        begun.ok_or_else(|| Error::Invalid("the job began no run".to_owned()))
    }

    /// Runs a job once, now, with this input instead of the job's own. Returns when that is durable.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the tool does not take the input; [`Error::Refused`] if the job does not begin a run.
    pub async fn trigger_with<I: serde::Serialize, O>(&self, job: &JobHandle<I, O>, input: &I) -> Result<RunId, Error> {
        let tool_input = Some(self.checked_input(job, input)?);
        let accepted = self.engine.submit(job.id(), Command::Trigger { tool_input, traceparent: None }).await?;
        let begun = accepted.run_begun().map(|run| run.id);
        begun.ok_or_else(|| Error::Invalid("the job began no run".to_owned()))
    }

    /// Runs a job with this input, durably, and waits for what its handler returns.
    ///
    /// # Errors
    ///
    /// As [`Ordo::trigger_with`] and [`Ordo::result`].
    pub async fn call<I, O>(&self, job: &JobHandle<I, O>, input: &I) -> Result<O, Error>
    where
        I: serde::Serialize,
        O: serde::de::DeserializeOwned,
    {
        let run = self.trigger_with(job, input).await?;
        self.result(ToolKey::<I, O>::new("the job's tool"), run).await
    }

    fn checked_input<I: serde::Serialize, O>(
        &self,
        job: &JobHandle<I, O>,
        input: &I,
    ) -> Result<serde_json::Value, Error> {
        let input = serde_json::to_value(input)
            .map_err(|error| Error::Invalid(format!("the input cannot be written down: {error}")))?;
        // A tool that another program has is asked when the run begins.
        let tool = self.engine.tools().get(&job.definition.tool_name);
        let checked = tool.map_or(Ok(()), |tool| tool.check(&input));
        checked.map(|()| input).map_err(|message| Error::Invalid(format!("input: {message}")))
    }

    /// The newest run of a job; waits for one if there is none yet.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store fails.
    pub async fn newest_run(&self, job: JobId) -> Result<RunId, Error> {
        let mut hints = self.engine.watch();
        loop {
            if let Some(run) = self.runs(job).await?.first() {
                return Ok(run.id);
            }
            if matches!(hints.recv().await, Err(RecvError::Closed)) {
                return Err(Error::Refused(SubmitError::Stopped));
            }
        }
    }

    /// The job stops firing until it is resumed.
    pub async fn pause(&self, job: JobId) -> Result<(), Error> {
        self.order(job, Command::Pause { reason: None }).await
    }

    /// The job fires again.
    pub async fn resume(&self, job: JobId) -> Result<(), Error> {
        self.order(job, Command::Resume).await
    }

    /// The job never fires again; what runs is cancelled.
    pub async fn cancel(&self, job: JobId) -> Result<(), Error> {
        self.order(job, Command::Cancel { reason: None }).await
    }

    async fn order(&self, job: JobId, command: Command) -> Result<(), Error> {
        self.engine.submit(job, command).await?;
        Ok(())
    }

    /// The job as it stands.
    pub async fn job(&self, id: JobId) -> Result<Option<Job>, Error> {
        Ok(self.engine.job(id).await?)
    }

    /// The run with its result.
    pub async fn run(&self, id: RunId) -> Result<Option<Run>, Error> {
        Ok(self.engine.queries().run_with_result(id).await?)
    }

    /// The newest runs of a job, the newest first.
    pub async fn runs(&self, job: JobId) -> Result<Vec<Run>, Error> {
        let filter = RunFilter { job_id: Some(job), ..RunFilter::default() };
        Ok(self.engine.queries().runs(&filter, None, RUNS_LISTED).await?.items)
    }

    /// Waits for the end of a run.
    pub async fn ended(&self, id: RunId) -> Result<Run, Error> {
        let mut hints = self.engine.watch();
        loop {
            match self.run(id).await? {
                None => return Err(Error::Refused(SubmitError::Refused(ordo_model::job::Refusal::NoSuchRun))),
                Some(run) if run.status.is_terminal() => return Ok(run),
                Some(_) => {}
            }
            // Whatever changed, it is time to look again.
            match hints.recv().await {
                Ok(
                    ChangeHint::Run(_)
                    | ChangeHint::Job(_)
                    | ChangeHint::Log(_)
                    | ChangeHint::Object(_)
                    | ChangeHint::Elsewhere,
                ) => {}
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(Error::Refused(SubmitError::Stopped)),
            }
        }
    }

    /// Waits for the end of a run and returns what its handler returned.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if the run did not complete; [`Error::Invalid`] if its result is not of the key's type.
    pub async fn result<I, O: serde::de::DeserializeOwned>(&self, key: ToolKey<I, O>, id: RunId) -> Result<O, Error> {
        match self.ended(id).await?.status {
            RunStatus::Completed { result, .. } => O::deserialize(&result).map_err(|error| {
                Error::Invalid(format!("the result of {} is not what its key says: {error}", key.name()))
            }),
            RunStatus::Failed { reason } | RunStatus::Cancelled { reason } => Err(Error::Failed(reason)),
            RunStatus::Skipped { reason, .. } => Err(Error::Failed(format!("skipped: {reason:?}"))),
            RunStatus::Pending { .. } | RunStatus::Running { .. } => Err(Error::NotQuiet),
        }
    }

    /// What time it is for this Ordo.
    pub fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }

    /// Stops firing, lets what runs finish within `grace`, and ends the rest.
    pub async fn shutdown(&self, grace: Duration) {
        self.engine.shutdown(grace).await;
    }
}
