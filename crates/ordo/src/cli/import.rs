//! `ordo import …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ordo_model::Timestamp;

use crate::cli::values::named;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Jobs from a crontab: crontab -l | ordo import crontab - --dry-run
    Crontab(CrontabArgs),
    /// Jobs from CronJobs of Kubernetes, in YAML
    Cronjob(CronjobArgs),
    /// Import XXL-JOB's jobs from a dump of xxl_job_group and xxl_job_info; they are held until --cut-over
    Xxl(XxlArgs),
    /// Jobs from actions in JSON: label, tool_name, tool_input, trigger with next_tick_at, status, recurrence
    Actions(ActionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CrontabArgs {
    #[command(flatten)]
    pub(crate) common: ImportArgs,
    /// The sixth field names a user, as in /etc/crontab [default: found out from the file]
    #[arg(long, conflicts_with = "user")]
    pub(crate) system: bool,
    /// There is no field for a user, as crontab -l prints it
    #[arg(long)]
    pub(crate) user: bool,
    /// With what the labels begin [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The zone of times where no CRON_TZ is set [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// Where commands run, unless HOME is set in the file [default: your home for a user's crontab, as under cron]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CronjobArgs {
    #[command(flatten)]
    pub(crate) common: ImportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct XxlArgs {
    /// The dumps to read, as mysqldump writes them; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Only show what would be new, changed or the same
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The time zone in which XXL-JOB's admin ran [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// Let the jobs that are started in the dump fire here from this time on; XXL-JOB must fire nothing from then on
    #[arg(long, value_name = "TIME", value_parser = named::<Timestamp>)]
    pub(crate) cut_over: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub(crate) struct ActionsArgs {
    #[command(flatten)]
    pub(crate) common: ImportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file to read, - for standard input
    pub(crate) file: PathBuf,
    /// New jobs wait until they are resumed, so that no two schedulers run the same
    #[arg(long)]
    pub(crate) held: bool,
    /// Only show what would be new, changed or the same
    #[arg(long)]
    pub(crate) dry_run: bool,
}
