//! `ordo channel …`

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelSubcommand {
    /// List the channels that the configuration names: slack, email, file
    #[command(visible_alias = "ls")]
    List,
    /// Send a test message through a channel and say how it went
    Test {
        /// The channel's name: slack, email or file
        channel: String,
    },
    /// List the chains of escalation that the configuration names
    Escalations,
}
