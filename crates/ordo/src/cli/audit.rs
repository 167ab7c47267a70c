//! `ordo audit`

use clap::Args;

use crate::cli::job::Pages;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Only changes by this name, or on behalf of it
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Only changes of such things: job, incident, hook, monitor, subscription, silence, secret, token, login
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only events of this name: JobUpdated, LoginDenied
    #[arg(long = "type", value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Only changes that came this way: api, cli, page, slack
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Only changes of this stream: ordo-job-…
    #[arg(long, value_name = "STREAM")]
    pub(crate) stream: Option<String>,
    /// Only changes since: a time, or a duration before now (2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only changes before: a time, or a duration before now
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    #[command(flatten)]
    pub(crate) pages: Pages,
}
