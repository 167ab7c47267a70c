//! `ordo node`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// List the nodes that share the store
    #[command(visible_alias = "ls")]
    List,
    /// Drain a node before it is stopped or upgraded: others take over new work
    Drain {
        /// The name of the node
        name: String,
        /// Undo: let the node accept work again
        #[arg(long)]
        undo: bool,
    },
}
