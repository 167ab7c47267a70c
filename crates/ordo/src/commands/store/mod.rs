//! `ordo store …`: through the daemon where it has the store, on the file where nobody has.

mod copy;
mod database;
mod offline;
mod online;
mod restore;
mod words;

use serde_json::{Value, json};

use super::talk::CommandSession;
use crate::cli::store::{BackupArgs, StoreArg, StoreCommand};
use crate::error::{Error, Exit, Result};
use crate::maintenance::DUMP;
use crate::store_location::StoreLocation;
use database::DatabaseStore;
use offline::File;
use online::OnlineStore;

/// Who is asked.
enum StoreAccess {
    Daemon(OnlineStore),
    File(File),
    Database(DatabaseStore),
}

pub(crate) async fn run(talk: &CommandSession, command: StoreCommand) -> Result<Exit> {
    match command {
        StoreCommand::Check(store) => check(talk, &store).await,
        StoreCommand::Stats(store) => stats(talk, &store).await,
        StoreCommand::Backup(args) => backup(talk, &args).await,
        StoreCommand::Reindex(store) => reindex(talk, &store).await,
        StoreCommand::Compact(store) => compact(talk, &store).await,
        StoreCommand::Restore(args) => restore::run(talk, &args).await,
        StoreCommand::Copy(args) => copy::run(talk, &args).await,
    }
}

/// A named file is meant itself; otherwise the daemon is asked, and where none answers, its file.
async fn place(talk: &CommandSession, asked: &StoreArg) -> Result<StoreAccess> {
    if let Some(path) = &asked.store {
        return match StoreLocation::of(path) {
            StoreLocation::File(path) => File::at(path).map(StoreAccess::File),
            StoreLocation::Database(url) => Ok(StoreAccess::Database(DatabaseStore::at(url))),
        };
    }
    match OnlineStore::find(talk).await? {
        Some(daemon) => Ok(StoreAccess::Daemon(daemon)),
        None => File::nearby().map(StoreAccess::File),
    }
}

/// For work that needs the file alone.
async fn file(talk: &CommandSession, asked: &StoreArg, verb: &str) -> Result<File> {
    match place(talk, asked).await? {
        StoreAccess::File(file) => Ok(file),
        StoreAccess::Daemon(daemon) => Err(daemon.in_the_way(verb)),
        StoreAccess::Database(_) => {
            Err(Error::misused(format!("a database is not for ordo store {verb}")).hint(match verb {
                "compact" => "PostgreSQL gives unused space back by itself (VACUUM)",
                _ => "use PostgreSQL's own tools: pg_dump and pg_restore",
            }))
        }
    }
}

async fn check(talk: &CommandSession, store: &StoreArg) -> Result<Exit> {
    let checked = match place(talk, store).await? {
        StoreAccess::Daemon(daemon) => daemon.check().await?,
        StoreAccess::File(file) => file.check().await?,
        StoreAccess::Database(database) => database.check().await?,
    };
    talk.value(&checked, || words::checked(talk, &checked))?;
    Ok(if checked["clean"] == true { Exit::Done } else { Exit::Failed })
}

async fn stats(talk: &CommandSession, store: &StoreArg) -> Result<Exit> {
    let stats = match place(talk, store).await? {
        StoreAccess::Daemon(daemon) => daemon.stats().await?,
        StoreAccess::File(file) => file.stats().await?,
        StoreAccess::Database(database) => database.stats().await?,
    };
    talk.value(&stats, || words::stats(talk, &stats))?;
    Ok(Exit::Done)
}

async fn backup(talk: &CommandSession, args: &BackupArgs) -> Result<Exit> {
    // The daemon may run in another folder: it gets the whole path.
    let to = std::path::absolute(&args.to).unwrap_or_else(|_| args.to.clone());
    match place(talk, &args.store).await? {
        StoreAccess::Daemon(daemon) => daemon.backup(&to).await?,
        StoreAccess::File(file) => file.backup(&to)?,
        StoreAccess::Database(_) => return Err(Error::misused("a database is not for ordo store backup").hint(DUMP)),
    }
    let bytes = std::fs::metadata(&to).map_or(0, |file| file.len());
    let answer = json!({ "to": to.display().to_string(), "bytes": bytes });
    say(talk, &answer, || format!("backed up to {} ({})", to.display(), words::size(bytes)))
}

async fn reindex(talk: &CommandSession, store: &StoreArg) -> Result<Exit> {
    let entities = match place(talk, store).await? {
        StoreAccess::Daemon(daemon) => return Err(daemon.in_the_way("reindex")),
        StoreAccess::File(file) => file.reindex().await?,
        StoreAccess::Database(database) => database.reindex().await?,
    };
    say(talk, &json!({ "entities": entities }), || {
        format!("rebuilt everything that follows from the events of {}", words::counted(entities, "stream"))
    })
}

async fn compact(talk: &CommandSession, store: &StoreArg) -> Result<Exit> {
    let compacted = file(talk, store, "compact").await?.compact()?;
    let (before, after) = (compacted.bytes_before, compacted.bytes_after);
    say(talk, &json!({ "bytes_before": before, "bytes_after": after }), || {
        format!("compacted from {} to {}", words::size(before), words::size(after))
    })
}

fn say(talk: &CommandSession, data: &Value, human: impl FnOnce() -> String) -> Result<Exit> {
    talk.value(data, human)?;
    Ok(Exit::Done)
}
