//! `ordo job …`

pub(crate) mod definition;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::values::{count, json};
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
    /// What happened to a job, event by event
    History(HistoryArgs),
    /// Stop firing until resumed
    Pause(ReasonArgs),
    /// Go on firing
    Resume(JobArg),
    /// End a job for good; what runs is cancelled too
    Cancel(CancelJobArgs),
    /// Run a job now
    Trigger(TriggerNowArgs),
    /// Change a job; what is not named stays as it is
    Update(Box<JobUpdateArgs>),
    /// Run the occurrences of a time that has passed once more
    Backfill(BackfillArgs),
    /// When a job fires next
    Preview(PreviewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JobArg {
    /// A job's id, or its label
    pub(crate) job: String,
}

#[derive(Debug, Args)]
pub(crate) struct JobAddArgs {
    /// What people call it
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) trigger: TriggerArgs,
    #[command(flatten)]
    pub(crate) action: ActionArgs,
    #[command(flatten)]
    pub(crate) policies: PolicyArgs,
    /// Create it, but do not start it until it is resumed
    #[arg(long)]
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
    /// Only when triggered by hand from now on
    #[arg(long, group = "rule")]
    pub(crate) manual: bool,
    #[command(flatten)]
    pub(crate) action: ActionArgs,
    #[command(flatten)]
    pub(crate) policies: PolicyArgs,
    /// Only if the job is still at this revision
    #[arg(long, value_name = "N")]
    pub(crate) if_revision: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct JobListArgs {
    /// Only jobs with this label
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
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
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count)]
    pub(crate) limit: usize,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
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

#[derive(Debug, Args)]
pub(crate) struct CancelJobArgs {
    #[command(flatten)]
    pub(crate) order: ReasonArgs,
    /// Do not ask; on a terminal it is asked otherwise
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// Why, for those who come after
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TriggerNowArgs {
    #[command(flatten)]
    pub(crate) job: JobArg,
    /// Another input for this run: JSON, @file or @-
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
    /// The first time to run again: 2026-11-01T00:00:00Z or "2026-11-01 00:00" in --tz
    #[arg(long, value_name = "TIME")]
    pub(crate) from: String,
    /// Up to, but not including
    #[arg(long, value_name = "TIME")]
    pub(crate) to: String,
    /// The zone of times without an offset [default: this machine's]
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
    /// Those after this time, in the job's zone if it names none [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
}
