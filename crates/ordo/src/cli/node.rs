//! `ordo node`.

use clap::Subcommand;

use super::RefreshArgs;
use super::values::names_of;
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// List the nodes that share the store
    #[command(visible_alias = "ls")]
    List(RefreshArgs),
    /// Drain a node before it is stopped or upgraded: others take over new work
    Drain {
        /// The name of the node
        #[arg(add = names_of(Listed::Nodes))]
        name: String,
        /// Undo: let the node accept work again
        #[arg(long)]
        undo: bool,
    },
}
