//! `ordo cron …`

use clap::{Args, Subcommand};

use super::definition::{DstRepeated, DstSkipped};
use super::values::count;

#[derive(Debug, Subcommand)]
pub(crate) enum CronCommand {
    /// Say an expression in words and show when it fires next
    Explain(ExplainArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// 5, 6 or 7 fields, in quotes: "30 2 * * *"
    pub(crate) expr: String,
    /// The zone in which its times are read
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub(crate) tz: String,
    /// How many times to show
    #[arg(long, short, value_name = "N", default_value_t = 5, value_parser = count)]
    pub(crate) next: usize,
    /// Those after this time [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// When the clock skips a time: run at the shift, or not that day
    #[arg(long, value_enum, value_name = "RULE")]
    pub(crate) dst_skipped: Option<DstSkipped>,
    /// When the clock repeats a time: which of the two
    #[arg(long, value_enum, value_name = "RULE")]
    pub(crate) dst_repeated: Option<DstRepeated>,
}
