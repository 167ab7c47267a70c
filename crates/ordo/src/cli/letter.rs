//! `ordo letter …`

use clap::{Args, Subcommand};

use super::job::Pages;

#[derive(Debug, Subcommand)]
pub(crate) enum LetterCommand {
    /// List letters; those that were given up, unless told otherwise
    #[command(visible_alias = "ls")]
    List(LetterListArgs),
    /// Send a letter once more that was given up or delivered
    Replay {
        /// The letter's id
        letter: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LetterListArgs {
    /// waiting, delivered or parked
    #[arg(long, value_name = "STATE", default_value = "parked")]
    pub(crate) state: String,
    #[command(flatten)]
    pub(crate) pages: Pages,
}
