//! `ordo secret …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values::names_of;
use super::{RefreshArgs, RemovalArgs};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretSubcommand {
    /// Store a secret; jobs refer to it by {"secret": "NAME"}
    Set(SetArgs),
    /// List the names of all secrets
    #[command(visible_alias = "ls")]
    List(RefreshArgs),
    /// Remove a secret
    #[command(visible_alias = "rm")]
    Remove(RemovalArgs<NameArg>),
    /// Re-encrypt all secrets with the first key of the key file
    Reseal,
}

#[derive(Debug, Args)]
pub(crate) struct NameArg {
    /// The name: letters, digits, '.', '_' and '-'
    #[arg(add = names_of(Listed::Secrets))]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without --value-file the value is read from standard input; on a terminal it is asked for and \
not shown. The newline behind a value of one line does not belong to it."
)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) name: NameArg,
    /// Reads standard input, which is the default
    #[arg(value_name = "-", conflicts_with = "value_file")]
    pub(crate) from: Option<PathBuf>,
    /// The file with the value; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) value_file: Option<PathBuf>,
}
