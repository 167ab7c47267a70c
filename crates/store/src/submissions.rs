//! The queue that other programs write with SQL: rows they insert in their own transactions, taken by any node.
//!
//! Invariant: a row is given to one asker at a time, and has one outcome. That its command is carried out once is not the
//! queue's business: the commit claims the row's id.

use async_trait::async_trait;
use ordo_model::submission::SubmissionForm;
use ordo_model::{JobId, Millis, RunId, Timestamp};
use uuid::Uuid;

use crate::Fault;

/// A row that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmittedRow {
    pub id: Uuid,
    /// What was inserted; or why it cannot be read.
    pub form: Result<SubmissionForm, String>,
    /// When its transaction began.
    pub submitted_at: Timestamp,
    /// The database role that inserted it.
    pub submitted_by: String,
    /// How often it was taken, this time included.
    pub tries: u32,
    /// When it was taken first of all the times without an outcome since.
    pub taken_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmissionOutcome {
    Accepted {
        job: JobId,
        run: Option<RunId>,
    },
    Refused {
        reason: String,
    },
    /// It has to wait, for this long at least.
    Postponed {
        reason: String,
        pause: Millis,
    },
}

/// What became of one row, as its reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmissionStatus {
    Waiting { reason: Option<String> },
    Accepted { job: JobId, run: Option<RunId> },
    Refused { reason: String },
}

/// Implemented by stores that other programs reach with SQL; found by [`crate::Store::submissions`].
#[async_trait]
pub trait SubmissionQueue: Send + Sync + 'static {
    /// Takes rows that wait, the longest waiting first. For `claim` nobody else is given them.
    async fn take(&self, claim: Millis, limit: usize) -> Result<Vec<SubmittedRow>, Fault>;

    /// Writes outcomes down. A row that has one already keeps it.
    async fn settle(&self, outcomes: &[(Uuid, SubmissionOutcome)]) -> Result<(), Fault>;

    /// Forgets rows that have had their outcome for longer than this; returns how many.
    async fn forget(&self, accepted: Millis, refused: Millis, limit: usize) -> Result<usize, Fault>;

    /// What became of a row; None if there is none, or it was forgotten.
    async fn status(&self, id: Uuid) -> Result<Option<SubmissionStatus>, Fault>;

    /// For how long the row that is next has been waiting to be taken; zero if none is due.
    async fn overdue(&self) -> Result<Millis, Fault>;
}
