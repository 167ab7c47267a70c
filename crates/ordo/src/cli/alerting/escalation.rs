//! `ordo escalation …`

use clap::{Args, Subcommand};
use ordo_model::Millis;
use ordo_model::incident::EscalationStep;

use crate::cli::values::{duration, names_of};
use crate::cli::{RefreshArgs, RemovalArgs};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum EscalationSubcommand {
    /// Add a chain: ordo escalation add night --step '#on-call via slack' --step '15m lead@example.org via email'
    Add(EscalationAddArgs),
    /// List chains: those of the configuration, and those that were added
    #[command(visible_alias = "ls")]
    List(RefreshArgs),
    /// Show one chain
    Show(EscalationArg),
    /// Change a chain; incidents that have begun keep the steps they began with
    Update(EscalationUpdateArgs),
    /// Remove a chain that was added
    #[command(visible_alias = "rm")]
    Remove(RemovalArgs<EscalationArg>),
}

#[derive(Debug, Args)]
pub(crate) struct EscalationArg {
    /// The chain's name; incidents that name none take the one called default
    #[arg(add = names_of(Listed::Escalations))]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct EscalationAddArgs {
    #[command(flatten)]
    pub(crate) chain: EscalationArg,
    /// A step: how long after the one before, whom to notify, and through which channel: "15m #lead via slack". Time and
    /// channel may be left out; may be given several times, in order
    #[arg(long = "step", value_name = "STEP", required = true)]
    pub(crate) steps: Vec<EscalationStep>,
    /// How long an acknowledgement counts: an incident that has not ended by then starts its chain over
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) ack_timeout: Option<Millis>,
}

#[derive(Debug, Args)]
pub(crate) struct EscalationUpdateArgs {
    #[command(flatten)]
    pub(crate) chain: EscalationArg,
    /// The steps, replacing the previous ones; may be repeated
    #[arg(long = "step", value_name = "STEP")]
    pub(crate) steps: Vec<EscalationStep>,
    /// How long an acknowledgement counts
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) ack_timeout: Option<Millis>,
    /// Acknowledgements count until the incident ends
    #[arg(long, conflicts_with = "ack_timeout")]
    pub(crate) no_ack_timeout: bool,
}
