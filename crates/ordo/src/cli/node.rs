//! `ordo node`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// The nodes that share the store
    #[command(visible_alias = "ls")]
    List,
    /// Have a node leave new work to the others, before it is stopped or upgraded
    Drain {
        /// The name of the node
        name: String,
        /// Undo: let the node take work again
        #[arg(long)]
        undo: bool,
    },
}
