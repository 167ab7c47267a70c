//! `ordo job …`

pub(crate) mod definition;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::RefreshArgs;
use crate::cli::values::{count, json, names_of, tag};
use crate::commands::about::completions::Listed;
use definition::{ActionArgs, PolicyArgs, TriggerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum JobSubcommand {
    /// Add a job: ordo job add hello --every 10s -- echo hi
    Add(Box<JobAddArgs>),
    /// List jobs
    #[command(visible_alias = "ls")]
    List(JobListArgs),
    /// Show one job in full
    Show(JobArg),
    /// Show the history of a job, event by event
    History(HistoryArgs),
    /// Stop a job, or all that match a filter, from firing until resumed
    Pause(ChangeArgs),
    /// Let a job, or all that match a filter, fire again: ordo job resume --state held
    Resume(ChangeArgs),
    /// End a job, or all that match a filter, for good; running work is cancelled too
    Cancel(ChangeArgs),
    /// Run a job now
    Trigger(TriggerNowArgs),
    /// Change a job; fields that are not given stay as they are
    Update(Box<JobUpdateArgs>),
    /// Show what changed between two revisions of a job, and who changed it
    Diff(DiffArgs),
    /// Give a job an earlier definition back: ordo job revert nightly 3
    Revert(RevertArgs),
    /// Run the occurrences of a past period again
    Backfill(BackfillArgs),
    /// Show when a job fires next
    Preview(PreviewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JobArg {
    /// A job's label or id; the beginning of an id will do
    #[arg(add = names_of(Listed::Jobs))]
    pub(crate) job: String,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// The older revision [default: the one before the newer]
    pub(crate) from: Option<u64>,
    /// The newer revision [default: the current one]
    pub(crate) to: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// The revision to go back to; ordo job diff shows what that changes
    pub(crate) revision: u64,
    /// Only if the job is still at this revision
    #[arg(long, value_name = "REVISION")]
    pub(crate) if_revision: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct JobAddArgs {
    /// The name of the job
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) trigger: TriggerArgs,
    #[command(flatten)]
    pub(crate) action: ActionArgs,
    #[command(flatten)]
    pub(crate) policies: PolicyArgs,
    /// Create the job held: it does not fire until resumed
    #[arg(long, help_heading = "When")]
    pub(crate) held: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JobUpdateArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// A new label
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) trigger: TriggerArgs,
    /// Fire only when triggered by hand from now on
    #[arg(long, group = "rule")]
    pub(crate) manual: bool,
    #[command(flatten)]
    pub(crate) action: ActionArgs,
    #[command(flatten)]
    pub(crate) policies: PolicyArgs,
    /// Only if the job is still at this revision
    #[arg(long, value_name = "N", help_heading = None::<&str>)]
    pub(crate) if_revision: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct JobListArgs {
    /// Only jobs with this label
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// Only jobs with this tag; may be repeated: those that have all of them
    #[arg(long = "tag", value_name = "TAG", value_parser = tag)]
    pub(crate) tags: Vec<String>,
    /// Only jobs in this state: active, paused, held, finished or cancelled
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Only jobs with this trigger: scheduled, webhook or manual
    #[arg(long, value_name = "TYPE")]
    pub(crate) trigger: Option<String>,
    /// Only jobs whose label contains this, ignoring case
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    #[command(flatten)]
    pub(crate) pages: Pages,
}

/// How much of a list.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Pages {
    /// The most items to show
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count)]
    pub(crate) limit: usize,
    /// Show all items
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) watch: RefreshArgs,
}

impl Pages {
    pub(crate) fn wanted(&self) -> usize {
        if self.all { usize::MAX } else { self.limit }
    }
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    #[command(flatten)]
    pub(crate) pages: Pages,
}

/// One job, or all that match.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// A job's label or id
    #[arg(required_unless_present_any = ["tags", "state", "trigger", "search", "label_prefix"], add = names_of(Listed::Jobs))]
    pub(crate) job: Option<String>,
    /// All jobs with this tag; may be repeated: those that have all of them
    #[arg(long = "tag", value_name = "TAG", value_parser = tag, conflicts_with = "job")]
    pub(crate) tags: Vec<String>,
    /// All jobs in this state: active, paused or held
    #[arg(long, value_name = "STATE", conflicts_with = "job")]
    pub(crate) state: Option<String>,
    /// All jobs with this trigger: scheduled, webhook or manual
    #[arg(long, value_name = "TYPE", conflicts_with = "job")]
    pub(crate) trigger: Option<String>,
    /// All jobs whose label contains this, ignoring case
    #[arg(long, value_name = "TEXT", conflicts_with = "job")]
    pub(crate) search: Option<String>,
    /// All jobs whose label begins with this
    #[arg(long, value_name = "TEXT", conflicts_with = "job")]
    pub(crate) label_prefix: Option<String>,
    /// The reason, kept in the history of the job
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TriggerNowArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// The input for this run instead of the job's own: JSON, @file or @-
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub(crate) input: Option<Value>,
    /// Follow the run to its end and exit with its outcome
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackfillArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// The start of the period: 2026-11-01T00:00:00Z or "2026-11-01 00:00" in --tz
    #[arg(long, value_name = "TIME")]
    pub(crate) from: String,
    /// The end of the period, not included
    #[arg(long, value_name = "TIME")]
    pub(crate) to: String,
    /// The time zone of times without an offset [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// Only show what would run
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// How many times to show
    #[arg(long, short, value_name = "N", default_value_t = 10, value_parser = count)]
    pub(crate) next: usize,
    /// Show times after this one; in the job's time zone unless it has an offset [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
}
