//! `ordo subscription …`

use clap::{Args, Subcommand};
use ordo_model::subscription::EventPattern;

use crate::cli::RemovalArgs;
use crate::cli::job::Pages;
use crate::cli::values::{named, names_of};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionSubcommand {
    /// Add a subscription: events go to a URL as signed webhooks
    Add(SubscriptionAddArgs),
    /// List subscriptions
    #[command(visible_alias = "ls")]
    List(SubscriptionListArgs),
    /// Change a subscription, or replace its secret
    Update(SubscriptionUpdateArgs),
    /// Remove a subscription
    #[command(visible_alias = "rm")]
    Remove(RemovalArgs<SubscriptionArg>),
    /// Send a test message now and show the response
    Test(SubscriptionArg),
}

#[derive(Debug, Args)]
pub(crate) struct SubscriptionArg {
    /// A subscription's id, or enough of its beginning
    #[arg(value_name = "ID", add = names_of(Listed::Subscriptions))]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct SubscriptionAddArgs {
    /// The URL that receives the messages
    pub(crate) url: String,
    /// The events to send: incident.*, job.failed, …; may be given several times
    #[arg(long = "event", value_name = "PATTERN", required = true, value_parser = named::<EventPattern>)]
    pub(crate) events: Vec<EventPattern>,
    /// Only events of jobs whose label matches: nightly-*
    #[arg(long, value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) label: Option<EventPattern>,
    /// A description
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The signing secret (whsec_…) [default: a new one, shown once]
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
    /// The URL that receives the messages
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// The events to send, replacing the previous ones; may be repeated
    #[arg(long = "event", value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) events: Vec<EventPattern>,
    /// Only events of jobs whose label matches
    #[arg(long, value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) label: Option<EventPattern>,
    /// Sign with a new secret; the previous one stays valid for a day
    #[arg(long)]
    pub(crate) new_secret: bool,
    /// Disable the subscription
    #[arg(long, conflicts_with = "enable")]
    pub(crate) disable: bool,
    /// Enable the subscription
    #[arg(long)]
    pub(crate) enable: bool,
}
