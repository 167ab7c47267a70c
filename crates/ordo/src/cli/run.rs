//! `ordo run …`

use clap::{Args, Subcommand};

use super::job::Pages;
use super::values::names_of;
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum RunCommand {
    /// List runs, newest first
    #[command(visible_alias = "ls")]
    List(Box<RunListArgs>),
    /// Show one run in full
    Show(RunArg),
    /// Print what a run wrote
    Logs(LogsArgs),
    /// Stop a run
    Cancel(RunArg),
    /// Run a finished run once more, with the same input
    Retry(RunArg),
}

#[derive(Debug, Args)]
pub(crate) struct RunArg {
    /// A run's id (its beginning will do), or a job's label or id for its newest run
    #[arg(add = names_of(Listed::Jobs))]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct RunListArgs {
    /// Only runs of this job, by label or id
    #[arg(long, value_name = "JOB", add = names_of(Listed::Jobs))]
    pub(crate) job: Option<String>,
    /// Only runs with this status: pending, running, completed, failed, cancelled or skipped
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only runs fired since: a time, or a duration before now (2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only runs fired before: a time, or a duration before now (1h)
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only runs of jobs with this in their label, in any case
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Only runs that ended, or had an attempt that ended, with this in the reason, in any case
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Only runs that this executor has or had
    #[arg(long, value_name = "NAME", add = names_of(Listed::Executors))]
    pub(crate) executor: Option<String>,
    /// Only runs that took at least this long, or have so far: 10s
    #[arg(long, value_name = "DURATION")]
    pub(crate) longer_than: Option<String>,
    /// Only runs that are over and took less than this: 1m
    #[arg(long, value_name = "DURATION")]
    pub(crate) shorter_than: Option<String>,
    #[command(flatten)]
    pub(crate) pages: Pages,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// Follow the run to its end; with the label of a job that fires by itself, go on with its next run
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print the time of each line before it
    #[arg(long, short)]
    pub(crate) timestamps: bool,
}
