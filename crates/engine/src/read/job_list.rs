//! The one list of jobs: for the API, for pages and for commands to many jobs. What is looked for, and in which order.
//!
//! Invariant: what has an index (label, tag, state, trigger, how the last run ended) is never found by loading jobs. What has
//! none (tool, group, a part of the label in other orders than by label) is looked for in a bounded number of jobs a page.

use ordo_model::job::{Job, JobState, RunStatus, Trigger};
use ordo_model::limits::PAGE_DEFAULT;
use ordo_store::Fault;

use crate::read::job_source::JobSource;
use crate::read::page::{Cursor, List, ListPage, read_page};
use crate::read::queries::Queries;

/// Which jobs are looked for. Everything that is said must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// The whole label.
    pub label: Option<String>,
    /// The label begins with it, case-sensitive.
    pub label_prefix: String,
    /// In lower case: each is a part of the label, which is compared without case.
    pub label_parts: Vec<String>,
    /// The job has each of these tags.
    pub tags: Vec<String>,
    pub state: Option<JobState>,
    /// The name of a trigger's type.
    pub trigger: Option<&'static str>,
    pub tool: Option<String>,
    pub group: Option<String>,
    /// The name of the status of the run that ended last. Except for `completed`, the order is then that of these runs,
    /// newest first.
    pub last: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JobOrder {
    #[default]
    Label,
    /// By the next alarm; a job without one is not in this list.
    Next,
    Newest,
    Oldest,
}

impl JobOrder {
    /// For cursors: never changes once released.
    pub(crate) const fn code(self) -> u8 {
        match self {
            JobOrder::Label => 0,
            JobOrder::Next => 1,
            JobOrder::Newest => 2,
            JobOrder::Oldest => 3,
        }
    }
}

/// A page of jobs, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobQuery {
    pub filter: JobFilter,
    pub order: JobOrder,
    pub after: Option<Cursor>,
    pub limit: usize,
}

impl Default for JobQuery {
    fn default() -> JobQuery {
        JobQuery { filter: JobFilter::default(), order: JobOrder::default(), after: None, limit: PAGE_DEFAULT }
    }
}

impl JobFilter {
    pub fn is_empty(&self) -> bool {
        *self == JobFilter::default()
    }

    pub(crate) fn shows(&self, job: &Job) -> bool {
        let definition = &job.definition;
        let last = || job.history.last.as_ref().map(|last| last.status.as_str());
        self.shows_label(&definition.label)
            && self.tags.iter().all(|tag| definition.tags.contains(tag))
            && self.state.is_none_or(|state| job.state() == state)
            && self.trigger.is_none_or(|trigger| definition.trigger.name() == trigger)
            && self.tool.as_ref().is_none_or(|tool| definition.tool_name == *tool)
            && self.group.as_ref().is_none_or(|group| definition.group == *group)
            && self.last.is_none_or(|status| last() == Some(status))
    }

    pub(crate) fn shows_label(&self, label: &str) -> bool {
        self.label.as_ref().is_none_or(|wanted| label == wanted)
            && label.starts_with(&self.label_prefix)
            && (self.label_parts.is_empty() || self.has_label_parts(label))
    }

    fn has_label_parts(&self, label: &str) -> bool {
        let label = label.to_lowercase();
        self.label_parts.iter().all(|part| label.contains(part.as_str()))
    }

    /// The status by which jobs are found through the runs that ended last. Completed runs have no such view.
    pub(crate) fn status_walked(&self) -> Option<u8> {
        self.last.filter(|status| *status != "completed").and_then(RunStatus::code_of)
    }

    pub(crate) fn trigger_code(&self) -> Option<u8> {
        self.trigger.and_then(Trigger::code_of)
    }
}

impl JobQuery {
    pub(crate) fn list(&self) -> List {
        if self.filter.status_walked().is_some() { List::JobsByLastRun } else { List::Jobs(self.order) }
    }

    /// Whether a cursor belongs to this list. One that does not is refused by [`Queries::jobs`].
    pub fn accepts(&self, cursor: &Cursor) -> bool {
        cursor.is_of(self.list())
    }
}

impl Queries {
    /// A page of jobs. A job that moves in the list meanwhile, because it is renamed for example, may be met twice or not
    /// at all; every other is met once.
    pub async fn jobs(&self, query: &JobQuery) -> Result<ListPage<Job>, Fault> {
        let source = JobSource::choose(self, query).await?;
        read_page(&source, query.list(), query.after.as_ref(), query.limit).await
    }
}
