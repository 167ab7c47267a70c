//! `ordo executor`

use clap::Args;
use ordo_model::Millis;

use super::values::duration;

#[derive(Debug, Args)]
pub(crate) struct ExecutorArgs {
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
