//! `ordo channel …`

use clap::{Args, Subcommand};
use ordo_api::alerting::channels::ChannelKind;
use ordo_model::subscription::EventPattern;

use crate::cli::hook::secret;
use crate::cli::values::{named, names_of};
use crate::cli::{RefreshArgs, RemovalArgs};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelSubcommand {
    /// Add a channel: ordo channel add ops --kind slack --channel '#ops' --secret-name slack-token
    Add(ChannelAddArgs),
    /// List channels: those of the configuration, and those that were added
    #[command(visible_alias = "ls")]
    List(RefreshArgs),
    /// Show one channel
    Show(ChannelArg),
    /// Change a channel; options that are not given stay as they are
    Update(ChannelUpdateArgs),
    /// Remove a channel that was added; notifications that wait for it are given up
    #[command(visible_alias = "rm")]
    Remove(RemovalArgs<ChannelArg>),
    /// Send a test message through a channel and say how it went
    Test(ChannelArg),
    /// List the escalation chains: the same as ordo escalation list
    Escalations(RefreshArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ChannelArg {
    /// The channel's name
    #[arg(value_name = "CHANNEL", add = names_of(Listed::Channels))]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelAddArgs {
    #[command(flatten)]
    pub(crate) channel: ChannelArg,
    /// What it is: webhook (signed messages to a URL), slack (cards, by an app's token), slack_webhook (lines, to an address
    /// that Slack gave out) or email
    #[arg(long, value_name = "KIND", value_parser = named::<ChannelKind>)]
    pub(crate) kind: ChannelKind,
    #[command(flatten)]
    pub(crate) settings: ChannelSettingsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelUpdateArgs {
    #[command(flatten)]
    pub(crate) channel: ChannelArg,
    #[command(flatten)]
    pub(crate) settings: ChannelSettingsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelSettingsArgs {
    /// For webhook: the URL that receives the messages
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// For slack: the channel in Slack, such as #ops, or its id
    #[arg(long = "channel", value_name = "NAME")]
    pub(crate) slack_channel: Option<String>,
    /// For email: the mail server, smtps://user@mail.example.com or smtp://user@mail.example.com?tls=required
    #[arg(long = "mail-server", value_name = "URL")]
    pub(crate) mail_server: Option<String>,
    /// For email: the sender
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) from: Option<String>,
    /// For email: a receiver; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: Vec<String>,
    /// The events to send: incident.*, job.failed, …; may be given several times [default: incident.*]
    #[arg(long = "event", value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) events: Vec<EventPattern>,
    /// No events: only what escalation chains send through it
    #[arg(long, conflicts_with = "events")]
    pub(crate) no_events: bool,
    /// Only jobs whose label matches, and incidents whose identifier does
    #[arg(long, value_name = "PATTERN", value_parser = named::<EventPattern>)]
    pub(crate) label: Option<EventPattern>,
    /// A description
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The signing key, the app's token, the address that Slack gave out, or the password; @FILE reads it from a file, @- from
    /// standard input. A new signing key is made where none is given
    #[arg(long, value_name = "SECRET", value_parser = secret, conflicts_with = "secret_name")]
    pub(crate) secret: Option<String>,
    /// The name of a stored secret (ordo secret set) with it
    #[arg(long, value_name = "NAME", add = names_of(Listed::Secrets))]
    pub(crate) secret_name: Option<String>,
}
