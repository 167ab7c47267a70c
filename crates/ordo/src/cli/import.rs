//! `ordo import …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import a crontab: crontab -l | ordo import crontab - --dry-run
    Crontab(CrontabArgs),
    /// Import systemd timers with the services they start
    Systemd(SystemdArgs),
    /// Import Kubernetes CronJobs from YAML
    Cronjob(CronjobArgs),
    /// Import Quartz jobs and triggers from XML (job-scheduling-data)
    Quartz(QuartzArgs),
    /// Import the schedules of GitHub Actions workflows
    GithubActions(GithubActionsArgs),
    /// Import Dkron jobs from JSON, as GET /v1/jobs of its API returns them
    Dkron(DkronArgs),
    /// Import actions from JSON: label, tool_name, tool_input, trigger with next_tick_at, status, recurrence
    Actions(ActionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CrontabArgs {
    #[command(flatten)]
    pub(crate) source: ImportFile,
    #[command(flatten)]
    pub(crate) common: ImportArgs,
    /// The sixth field names a user, as in /etc/crontab [default: detected from the file]
    #[arg(long, conflicts_with = "user")]
    pub(crate) system: bool,
    /// There is no user field, as in the output of crontab -l
    #[arg(long)]
    pub(crate) user: bool,
    /// The prefix of the labels [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The time zone where no CRON_TZ is set [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// The working directory of commands, unless the file sets HOME [default: your home for a user crontab, as with cron]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SystemdArgs {
    #[command(flatten)]
    pub(crate) source: ImportFiles,
    #[command(flatten)]
    pub(crate) common: ImportArgs,
    /// The time zone for events that name none [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CronjobArgs {
    #[command(flatten)]
    pub(crate) source: ImportFile,
    #[command(flatten)]
    pub(crate) common: ImportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct QuartzArgs {
    #[command(flatten)]
    pub(crate) source: ImportFiles,
    #[command(flatten)]
    pub(crate) common: ImportArgs,
    /// The group of the executors that offer the job classes as tools
    #[arg(long, value_name = "GROUP", default_value = "quartz")]
    pub(crate) group: String,
    /// The time zone for triggers that name none [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GithubActionsArgs {
    #[command(flatten)]
    pub(crate) source: ImportFiles,
    #[command(flatten)]
    pub(crate) common: ImportArgs,
    /// The repository of the workflows
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    pub(crate) repo: String,
    /// The branch or tag on which a workflow is started
    #[arg(long = "ref", value_name = "REF", default_value = "main")]
    pub(crate) reference: String,
    /// The secret with a GitHub token that may start workflows: ordo secret set github-token
    #[arg(long, value_name = "SECRET", default_value = "github-token")]
    pub(crate) token_secret: String,
    /// The base URL of GitHub's API; for GitHub Enterprise https://HOST/api/v3
    #[arg(long, value_name = "URL", default_value = "https://api.github.com")]
    pub(crate) api_url: String,
}

fn repository(text: &str) -> Result<String, String> {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    match text.split_once('/') {
        Some((owner, name)) if is_name(owner) && is_name(name) => Ok(text.to_owned()),
        Some(_) | None => Err("write it as OWNER/NAME, for example acme/shop".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct DkronArgs {
    #[command(flatten)]
    pub(crate) source: ImportFiles,
    #[command(flatten)]
    pub(crate) common: ImportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ActionsArgs {
    #[command(flatten)]
    pub(crate) source: ImportFile,
    #[command(flatten)]
    pub(crate) common: ImportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportFile {
    /// The file to read; - reads standard input
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportFiles {
    /// The files to read; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Create new jobs held: none runs until it is resumed, so that no two schedulers run the same work
    #[arg(long)]
    pub(crate) held: bool,
    /// Only show what would be new, changed or the same
    #[arg(long)]
    pub(crate) dry_run: bool,
}
