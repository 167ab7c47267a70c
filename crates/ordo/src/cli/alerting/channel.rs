//! `ordo channel …`

use clap::Subcommand;

use crate::cli::RefreshArgs;
use crate::cli::values::names_of;
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelSubcommand {
    /// List the channels that the configuration names: slack, email, file
    #[command(visible_alias = "ls")]
    List(RefreshArgs),
    /// Send a test message through a channel and say how it went
    Test {
        /// The channel's name: slack, email or file
        #[arg(add = names_of(Listed::Channels))]
        channel: String,
    },
    /// List the escalation chains: the same as ordo escalation list
    Escalations(RefreshArgs),
}
