//! `ordo run …`

use clap::{Args, Subcommand};

use super::job::Pages;

#[derive(Debug, Subcommand)]
pub(crate) enum RunCommand {
    /// List runs, newest first
    #[command(visible_alias = "ls")]
    List(RunListArgs),
    /// Show one run in full
    Show(RunArg),
    /// What a run printed
    Logs(LogsArgs),
    /// Stop a run
    Cancel(RunArg),
    /// Run a finished run once more, with the same input
    Retry(RunArg),
}

#[derive(Debug, Args)]
pub(crate) struct RunArg {
    /// A run's id, or a job's label or id for its newest run
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct RunListArgs {
    /// Only runs of this job, by id or label
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Only runs with this status: pending, running, completed, failed, cancelled or skipped
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only runs fired since: a time, or a duration before now (2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    #[command(flatten)]
    pub(crate) pages: Pages,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) run: RunArg,
    /// Go on until the run is over
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Begin each line with its time
    #[arg(long, short)]
    pub(crate) timestamps: bool,
}
