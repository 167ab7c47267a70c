//! What just changed, for those who watch. A hint: whoever gets it, or missed some, looks at the store again.

use ordo_model::{EntityId, JobId, RunId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeHint {
    Job(JobId),
    Run(RunId),
    Log(RunId),
    /// Another node wrote something.
    Elsewhere,
    /// Anything that is not a job.
    Object(EntityId),
}

/// How many hints a slow watcher may lag behind before it has to look at everything.
pub const CHANGE_HINT_BACKLOG: usize = 4_096;
