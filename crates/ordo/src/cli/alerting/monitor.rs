//! `ordo monitor …` and `ordo watch`

use clap::{Args, Subcommand};
use ordo_model::Millis;
use ordo_model::incident::Severity;

use crate::cli::RemovalArgs;
use crate::cli::job::Pages;
use crate::cli::values::{duration, named, names_of};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum MonitorSubcommand {
    /// Add a monitor, or change the one of that name: ordo monitor add backup --every 1d --grace 1h
    Add(AddMonitorArgs),
    /// List monitors
    #[command(visible_alias = "ls")]
    List(Pages),
    /// Show one monitor and its last pings
    Show {
        /// The monitor's name
        #[arg(add = names_of(Listed::Monitors))]
        name: String,
    },
    /// Remove a monitor and its pings
    Remove(RemovalArgs<MonitorArg>),
}

#[derive(Debug, Args)]
pub(crate) struct MonitorArg {
    /// The monitor's name
    #[arg(add = names_of(Listed::Monitors))]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct AddMonitorArgs {
    pub(crate) name: String,
    /// The longest time between two pings
    #[arg(long, value_name = "DURATION", value_parser = duration, group = "rule", required = true)]
    pub(crate) every: Option<Millis>,
    /// When a ping is expected, as a cron expression: "0 2 * * *"
    #[arg(long, value_name = "EXPR", group = "rule")]
    pub(crate) cron: Option<String>,
    /// The time zone of --cron [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "cron")]
    pub(crate) tz: Option<String>,
    /// How late a ping may be, and how long a run may take [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) grace: Option<Millis>,
    /// The severity of the incident opened when pings stop: sev1 (worst) to sev5, or high, medium, low [default: sev3]
    #[arg(long, value_name = "SEVERITY", value_parser = named::<Severity>)]
    pub(crate) severity: Option<Severity>,
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The escalation chain, by its name (ordo escalation list)
    #[arg(long, value_name = "NAME", add = names_of(Listed::Escalations))]
    pub(crate) escalation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The monitor to ping
    #[arg(long, value_name = "NAME", add = names_of(Listed::Monitors))]
    pub(crate) monitor: String,
    /// The command and its arguments; no shell interprets them
    #[arg(last = true, value_name = "COMMAND", required = true)]
    pub(crate) command: Vec<String>,
}
