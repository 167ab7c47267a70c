//! `ordo cron …`

use clap::{Args, Subcommand};
use ordo_model::schedule::{Repeated, Skipped};

use super::values::{count, named};

#[derive(Debug, Subcommand)]
pub(crate) enum CronCommand {
    /// Explain an expression in words and show when it fires next
    Explain(ExplainArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The expression: 5, 6 or 7 fields, in quotes: "30 2 * * *"
    pub(crate) expr: String,
    /// The time zone of the expression
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub(crate) tz: String,
    /// How many times to show
    #[arg(long, short, value_name = "N", default_value_t = 5, value_parser = count)]
    pub(crate) next: usize,
    /// Show times after this one [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// What to do when the clock skips a time: run at the shift, or skip that day: shift or skip [default: shift]
    #[arg(long, value_name = "RULE", value_parser = named::<Skipped>)]
    pub(crate) dst_skipped: Option<Skipped>,
    /// When to run if the clock repeats a time: first, last or both [default: first]
    #[arg(long, value_name = "RULE", value_parser = named::<Repeated>)]
    pub(crate) dst_repeated: Option<Repeated>,
}
