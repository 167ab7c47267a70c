//! `ordo store …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Check that everything stored agrees with the events
    Check(StoreArg),
    /// Rebuild everything derived from the events; stop the daemon first
    Reindex(StoreArg),
    /// Show how much is stored
    Stats(StoreArg),
    /// Back up the store to a new file, as of one moment
    Backup(BackupArgs),
    /// Return unused space to the disk; stop the daemon first
    Compact(StoreArg),
    /// Restore a backup; stop the daemon first
    Restore(RestoreArgs),
    /// Copy everything to another store, from a file to a database or back; stop the daemon first
    Copy(CopyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The store to read: a file or a database's URL
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
    /// The store to create: a file or a database's URL; an interrupted copy is resumed
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArg {
    /// The store's file, when no daemon has it open, or a database's URL [default: ask the daemon, then .ordo/orchestrator.db]
    #[arg(long, value_name = "PATH|URL")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to create; it must not exist yet
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The backup to read
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Replace an existing store; it is kept as PATH.before-restore
    #[arg(long)]
    pub(crate) replace: bool,
}
