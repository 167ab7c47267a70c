//! `ordo forecast`

use std::path::PathBuf;

use clap::Args;

use super::values::count;

#[derive(Debug, Args)]
pub(crate) struct ForecastArgs {
    /// How many days to look ahead
    #[arg(long, short, value_name = "N", default_value_t = 7, value_parser = count)]
    pub(crate) days: usize,
    /// Where to begin [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// What if this job were added: a file with the job as JSON, as `ordo job show -o json` writes it; may be given more than once, - reads standard input
    #[arg(long = "if", value_name = "JOB.json")]
    pub(crate) proposed: Vec<PathBuf>,
    /// How long a run of the job in --if is likely to take: 5m [default: a moment]
    #[arg(long, value_name = "DURATION", requires = "proposed")]
    pub(crate) took: Option<String>,
}
