//! `ordo silence …`

use clap::{Args, Subcommand};
use ordo_model::Millis;
use ordo_model::subscription::EventPattern;

use crate::cli::RefreshArgs;
use crate::cli::alerting::incident::ActorArg;
use crate::cli::values::{duration, named, names_of};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum SilenceSubcommand {
    /// Hold back notifications for a while: ordo silence add 'backup-*' --for 2h --reason "disk replacement"
    Add(SilenceAddArgs),
    /// List the silences in force
    #[command(visible_alias = "ls")]
    List(RefreshArgs),
    /// End a silence early
    End(SilenceArg),
}

#[derive(Debug, Args)]
pub(crate) struct SilenceArg {
    /// A silence's id, or enough of its beginning
    #[arg(value_name = "ID", add = names_of(Listed::Silences))]
    pub(crate) id: String,
}

/// When it is over.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct EndArgs {
    /// How long: 30m, 2h, 1d
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) length: Option<Millis>,
    /// Until when: a time such as 2026-05-01T09:00 or 2026-05-01T09:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SilenceAddArgs {
    /// The label of a job, the name of a monitor or the identifier of an incident; * matches anything
    #[arg(value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) matching: EventPattern,
    #[command(flatten)]
    pub(crate) end: EndArgs,
    /// Why, for those who wonder later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}
