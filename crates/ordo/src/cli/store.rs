//! `ordo store …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Prove that everything stored agrees with the events
    Check(StoreArg),
    /// Rebuild everything that follows from the events; stop the daemon first
    Reindex(StoreArg),
    /// How much is stored
    Stats(StoreArg),
    /// Copy one moment of the store to a new file
    Backup(BackupArgs),
    /// Give unused space back to the disk; stop the daemon first
    Compact(StoreArg),
    /// Put a backup in the store's place; stop the daemon first
    Restore(RestoreArgs),
    /// Move everything to another store, from a file to a database or back; stop the daemon first
    Copy(CopyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The store to read: a file or a database's URL
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
    /// The store to make: a file or a database's URL; a copy that was broken off goes on
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
    /// The file to make; it must not exist yet
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
    /// Replace a store that is there; it is kept beside it as PATH.before-restore
    #[arg(long)]
    pub(crate) replace: bool,
}
