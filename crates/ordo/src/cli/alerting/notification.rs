//! `ordo notification …`

use clap::{Args, Subcommand};

use crate::cli::job::Pages;
use crate::cli::values::names_of;
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum NotificationSubcommand {
    /// List notifications; by default the dead-lettered ones
    #[command(visible_alias = "ls")]
    List(NotificationListArgs),
    /// Send a delivered or dead-lettered notification again, or all dead-lettered ones
    Replay(NotificationReplayArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NotificationReplayArgs {
    /// The notification's id, or enough of its beginning
    #[arg(required_unless_present = "all", add = names_of(Listed::Notifications))]
    pub(crate) notification: Option<String>,
    /// All that are dead-lettered now
    #[arg(long, conflicts_with = "notification")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NotificationListArgs {
    /// The state: waiting, delivered or dead-lettered
    #[arg(long, value_name = "STATE", default_value = "dead_lettered")]
    pub(crate) state: String,
    #[command(flatten)]
    pub(crate) pages: Pages,
}
