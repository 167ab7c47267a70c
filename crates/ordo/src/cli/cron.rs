//! `ordo cron …`

use clap::{Args, Subcommand};
use ordo_model::schedule::{Repeated, Skipped};

use super::values::{count, named};

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
    /// When the clock skips a time, run at the shift, or not that day: shift or skip [default: shift]
    #[arg(long, value_name = "RULE", value_parser = named::<Skipped>)]
    pub(crate) dst_skipped: Option<Skipped>,
    /// When the clock repeats a time, which of the two: first, last or both [default: first]
    #[arg(long, value_name = "RULE", value_parser = named::<Repeated>)]
    pub(crate) dst_repeated: Option<Repeated>,
}
