//! `ordo executor`

use clap::{Args, Subcommand};
use ordo_model::Millis;

use super::values::{duration, names_of};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum ExecutorSubcommand {
    /// Let an executor finish what it has; it gets nothing more and then ends
    Drain {
        /// The executor's name or id; the beginning of an id will do
        #[arg(value_name = "NAME|ID", add = names_of(Listed::Executors))]
        executor: String,
    },
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ExecutorArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ExecutorSubcommand>,
    /// The group whose jobs it runs
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) group: String,
    /// The name of the executor [default: the host name and the process id]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How many runs it accepts at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) capacity: u32,
    /// The tools it offers [default: all: the built-in ones and those of its configuration]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// How long running work may take to finish when the executor is stopped
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) grace: Millis,
}
