//! The facade for programs that have Ordo inside them.
//!
//! Invariant: everything goes through the engine; what is promised of the daemon holds here too.

mod error;
mod handler;
mod jobs;
mod key;
mod layer;
mod new_job;
mod opening;
mod stepping;

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
pub use handler::Context;
pub use jobs::Ensured;
pub use key::ToolKey;
pub use layer::Call;
pub use new_job::JobBuilder;
use opening::HostStore;
pub use opening::Opening;

/// How many runs of a job are listed.
const RUNS_LISTED: usize = 200;

/// A running Ordo. Cheap to clone; it ends with [`Ordo::shutdown`].
#[derive(Debug, Clone)]
pub struct Ordo {
    engine: Engine,
    clock: Option<Arc<SetClock>>,
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

    /// Adds a job and returns it once it is durable. Called twice it adds two: see [`Ordo::ensure`].
    pub async fn schedule(&self, job: JobBuilder) -> Result<Job, Error> {
        let accepted = self.engine.schedule(self.checked(job)?, false).await?;
        Ok(Job::clone(&accepted.job))
    }

    /// A definition whose tool is there and takes its input.
    fn checked(&self, job: JobBuilder) -> Result<Definition, Error> {
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
