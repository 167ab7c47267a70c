//! Work that becomes durable with the program's own transaction, or not at all: rows in `ordo.submissions`.
//!
//! Invariant: nothing is done before the transaction is committed, and then once, by the id that was returned.

use std::time::Duration;

use ordo_model::job::{Definition, Trigger};
use ordo_model::submission::SubmissionForm;
use ordo_model::{JobId, RunId};
use ordo_store::SubmissionStatus;
use ordo_store_postgres::tokio_postgres::Transaction;
use ordo_store_postgres::{NotSubmitted, submit_in};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Error, JobBuilder, Ordo, ToolKey};

/// Between two looks at a submission that nobody gave word of.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What was submitted in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubmissionId(pub Uuid);

impl std::fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What came of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmittedWork {
    /// The job that was added, or whose run was asked for.
    pub job: JobId,
    /// The run, if one was asked for.
    pub run: Option<RunId>,
}

/// Inserts submissions for a program that has a database in common with Ordo but does not run it: a web application whose
/// workers are elsewhere. [`Ordo::enqueue_in`] is the same with the checks that a running Ordo can make.
///
/// ```no_run
/// use ordo::postgres::tokio_postgres::Client;
/// use ordo::{Enqueuer, ToolKey};
///
/// const EMAIL: ToolKey<String, ()> = ToolKey::new("email");
///
/// async fn sign_up(client: &mut Client, address: String) -> Result<(), Box<dyn std::error::Error>> {
///     let transaction = client.transaction().await?;
///     transaction.execute("INSERT INTO users (address) VALUES ($1)", &[&address]).await?;
///     Enqueuer::default().job(&transaction, EMAIL.job("welcome", &address)).await?;
///     transaction.commit().await?;
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Enqueuer {
    schema: String,
}

impl Default for Enqueuer {
    fn default() -> Enqueuer {
        Enqueuer { schema: "ordo".to_owned() }
    }
}

impl Enqueuer {
    /// For an Ordo in another schema than `ordo`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is no name of lower-case letters, digits and `_`.
    pub fn in_schema(schema: &str) -> Result<Enqueuer, Error> {
        match ordo_store_postgres::is_schema(schema) {
            true => Ok(Enqueuer { schema: schema.to_owned() }),
            false => Err(Error::Invalid(format!("{schema:?} is not a name: use lower-case letters, digits and _"))),
        }
    }

    /// A new job. Without a trigger it runs once, as soon as a node takes it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the job can never work, or the table does not take it; [`Error::Store`] if the database fails.
    /// The transaction can then only be rolled back.
    pub async fn job<I, O>(&self, transaction: &Transaction<'_>, job: JobBuilder<I, O>) -> Result<SubmissionId, Error> {
        self.definition(transaction, job.try_into()?).await
    }

    /// A run of the job of this label, with the input that the job has.
    ///
    /// # Errors
    ///
    /// As [`Enqueuer::job`].
    pub async fn run(&self, transaction: &Transaction<'_>, label: &str) -> Result<SubmissionId, Error> {
        let form = SubmissionForm { label: Some(label.to_owned()), ..SubmissionForm::default() };
        self.insert(transaction, &form).await
    }

    /// A run of the job of this label, with this input. The key says what its tool takes.
    ///
    /// # Errors
    ///
    /// As [`Enqueuer::job`].
    pub async fn run_with<I: Serialize, O>(
        &self,
        transaction: &Transaction<'_>,
        key: ToolKey<I, O>,
        label: &str,
        input: &I,
    ) -> Result<SubmissionId, Error> {
        let input = serde_json::to_value(input)
            .map_err(|error| Error::Invalid(format!("the input of {} cannot be written down: {error}", key.name())))?;
        let form = SubmissionForm { label: Some(label.to_owned()), input: Some(input), ..SubmissionForm::default() };
        self.insert(transaction, &form).await
    }

    async fn definition(&self, transaction: &Transaction<'_>, job: Definition) -> Result<SubmissionId, Error> {
        let mut fields = serde_json::to_value(&job).map_err(|error| Error::Invalid(error.to_string()))?;
        if let (Trigger::Manual, None) = (&job.trigger, &job.after) {
            // The node that takes it says when now is.
            drop(fields.as_object_mut().and_then(|fields| fields.remove("trigger")));
        }
        self.insert(transaction, &SubmissionForm { job: Some(fields), ..SubmissionForm::default() }).await
    }

    async fn insert(&self, transaction: &Transaction<'_>, form: &SubmissionForm) -> Result<SubmissionId, Error> {
        let id = ordo_engine::clock::new_id();
        match submit_in(transaction, &self.schema, id, form).await {
            Ok(()) => Ok(SubmissionId(id)),
            Err(NotSubmitted::Failed(fault)) => Err(Error::Store(fault)),
            Err(refused @ (NotSubmitted::Twice(_) | NotSubmitted::Refused(_))) => {
                Err(Error::Invalid(refused.to_string()))
            }
        }
    }
}

impl Ordo {
    /// Enqueues a job in a transaction of the program's own: it is there when the transaction is committed, and never if it
    /// is not. Without a trigger it runs once, at once. No lock is taken that others want.
    ///
    /// ```no_run
    /// use ordo::postgres::deadpool_postgres::Pool;
    /// use ordo::{Ordo, ToolKey};
    ///
    /// const EMAIL: ToolKey<String, ()> = ToolKey::new("email");
    ///
    /// async fn sign_up(ordo: &Ordo, pool: &Pool, address: String) -> Result<(), Box<dyn std::error::Error>> {
    ///     let mut client = pool.get().await?;
    ///     let transaction = client.transaction().await?;
    ///     transaction.execute("INSERT INTO users (address) VALUES ($1)", &[&address]).await?;
    ///     ordo.enqueue_in(&transaction, EMAIL.job("welcome", &address)).await?;
    ///     transaction.commit().await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the job can never work, or this Ordo is not on PostgreSQL; [`Error::Store`] if the database
    /// fails.
    pub async fn enqueue_in<I, O>(
        &self,
        transaction: &Transaction<'_>,
        job: JobBuilder<I, O>,
    ) -> Result<SubmissionId, Error> {
        let definition = self.checked(job)?;
        self.enqueuer()?.definition(transaction, definition).await
    }

    /// Asks in a transaction for a run of a job that is there, with this input.
    ///
    /// # Errors
    ///
    /// As [`Ordo::enqueue_in`].
    pub async fn call_in<I: Serialize, O>(
        &self,
        transaction: &Transaction<'_>,
        job: &super::JobHandle<I, O>,
        input: &I,
    ) -> Result<SubmissionId, Error> {
        let input: Value = self.checked_input(job, input)?;
        let label = Some(job.definition.label.clone());
        let form = SubmissionForm { label, input: Some(input), ..SubmissionForm::default() };
        self.enqueuer()?.insert(transaction, &form).await
    }

    /// Waits until a node has taken a submission, and returns what came of it. Only after its transaction is committed:
    /// one that is rolled back never comes.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if it was refused; says why.
    pub async fn submitted(&self, id: SubmissionId) -> Result<SubmittedWork, Error> {
        let mut hints = self.engine.watch();
        loop {
            let queue = self.engine.queries().store().submissions().ok_or_else(no_database)?;
            match queue.status(id.0).await? {
                Some(SubmissionStatus::Accepted { job, run }) => return Ok(SubmittedWork { job, run }),
                Some(SubmissionStatus::Refused { reason }) => return Err(Error::Failed(reason)),
                Some(SubmissionStatus::Waiting { .. }) => self.engine.nudge_submissions(),
                None => {}
            }
            // What is refused changes no job: nobody gives word of it.
            drop(tokio::time::timeout(LOOK_EVERY, hints.recv()).await);
        }
    }

    fn enqueuer(&self) -> Result<Enqueuer, Error> {
        let schema = self.schema.as_ref().ok_or_else(no_database)?;
        Ok(Enqueuer { schema: schema.to_string() })
    }
}

fn no_database() -> Error {
    Error::Invalid("this Ordo is not on PostgreSQL: there is no transaction to share".to_owned())
}
