//! `ordo notification …`

use clap::{Args, Subcommand};

use crate::cli::job::Pages;

#[derive(Debug, Subcommand)]
pub(crate) enum NotificationSubcommand {
    /// List notifications, by default those that were given up
    #[command(visible_alias = "ls")]
    List(NotificationListArgs),
    /// Send a notification once more that was given up or delivered
    Replay {
        /// The notification's id
        notification: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NotificationListArgs {
    /// waiting, delivered or dead-lettered
    #[arg(long, value_name = "STATE", default_value = "dead_lettered")]
    pub(crate) state: String,
    #[command(flatten)]
    pub(crate) pages: Pages,
}
