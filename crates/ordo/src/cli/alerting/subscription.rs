//! `ordo subscription …`

use clap::{Args, Subcommand};
use ordo_model::subscription::EventPattern;

use crate::cli::job::Pages;
use crate::cli::values::named;

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionSubcommand {
    /// Send events to a URL, as signed webhooks
    Add(SubscriptionAddArgs),
    /// List subscriptions
    #[command(visible_alias = "ls")]
    List(SubscriptionListArgs),
    /// Change a subscription, or replace its secret
    Update(SubscriptionUpdateArgs),
    /// Remove a subscription
    #[command(visible_alias = "rm")]
    Remove(SubscriptionArg),
    /// Send one message now, and see what the receiver says
    Test(SubscriptionArg),
}

#[derive(Debug, Args)]
pub(crate) struct SubscriptionArg {
    /// A subscription's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct SubscriptionAddArgs {
    /// Where messages go
    pub(crate) url: String,
    /// Which events: incident.*, job.failed, …; may be given several times
    #[arg(long = "event", value_name = "PATTERN", required = true, value_parser = named::<EventPattern>)]
    pub(crate) events: Vec<EventPattern>,
    /// Only what concerns jobs with such a label: nightly-*
    #[arg(long, value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) label: Option<EventPattern>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// A signing secret (whsec_…); one is made and shown if it is left out
    #[arg(long, value_name = "SECRET", env = "ORDO_WEBHOOK_SECRET", hide_env_values = true)]
    pub(crate) secret: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SubscriptionListArgs {
    #[command(flatten)]
    pub(crate) pages: Pages,
}

#[derive(Debug, Args)]
pub(crate) struct SubscriptionUpdateArgs {
    #[command(flatten)]
    pub(crate) subscription: SubscriptionArg,
    /// Where messages go
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// Which events, in the place of those before; may be given several times
    #[arg(long = "event", value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) events: Vec<EventPattern>,
    /// Only what concerns jobs with such a label
    #[arg(long, value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) label: Option<EventPattern>,
    /// Sign with a new secret; the one before signs too for a day
    #[arg(long)]
    pub(crate) new_secret: bool,
    /// Send nothing until it is enabled again
    #[arg(long, conflicts_with = "enable")]
    pub(crate) disable: bool,
    /// Send again
    #[arg(long)]
    pub(crate) enable: bool,
}
