//! `ordo store restore`: puts a backup in the store's place.
//!
//! Invariant: the backup is proved good before anything is moved, and what was there is kept beside it.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{file, offline, say, words};
use crate::cli::store::RestoreArgs;
use crate::commands::talk::CommandSession;
use crate::commands::talk::wire;
use crate::error::{Error, Exit, Result};
use crate::folder::{StateFolder, shown};
use crate::maintenance;
use crate::output::progress::Progress;

pub(super) async fn run(talk: &CommandSession, args: &RestoreArgs) -> Result<Exit> {
    let to = match &args.store.store {
        Some(path) => path.clone(),
        None => StateFolder::here().database(),
    };
    let exists = to.exists();
    if exists && !args.replace {
        return Err(Error::failed(format!("there is a store at {} already", shown(&to)))
            .hint("add --replace to put the backup in its place; the old one is kept beside it"));
    }
    if exists {
        // A daemon that has it is found here.
        drop(file(talk, &args.store, "restore").await?);
        drop(offline::open(&to)?);
    } else if args.store.store.is_none() {
        StateFolder::here().make()?;
    }
    let copy = beside(&to, "restoring");
    let bytes = prepare(&args.from, &copy).await?;
    let kept = exists.then(|| free_name(&to));
    swap(&copy, &to, kept.as_deref())?;
    let answer = json!({ "from": args.from, "to": shown(&to), "bytes": bytes, "kept": kept.as_deref().map(shown) });
    say(talk, &answer, || {
        let kept = kept.as_deref().map(|kept| format!("; the old one is {}", shown(kept))).unwrap_or_default();
        format!("restored {} ({}){kept}", shown(&to), words::size(bytes))
    })
}

/// Copies the backup and checks the copy: the backup itself is never opened for writing.
async fn prepare(from: &Path, copy: &Path) -> Result<u64> {
    let failed = |doing: &str, path: &Path, error: &std::io::Error| {
        Error::failed(format!("cannot {doing} {}", shown(path))).detail(error.to_string())
    };
    if !from.is_file() {
        return Err(Error::failed(format!("there is no backup at {}", shown(from))));
    }
    let bytes = std::fs::copy(from, copy).map_err(|error| failed("copy", from, &error))?;
    let good = prove(copy).await;
    ordo_store_redb::remove_beside(copy);
    if let Err(error) = good {
        let _ = std::fs::remove_file(copy);
        return Err(error);
    }
    std::fs::File::open(copy).and_then(|file| file.sync_all()).map_err(|error| failed("write", copy, &error))?;
    Ok(bytes)
}

async fn prove(copy: &Path) -> Result<()> {
    let store = offline::open(copy)?;
    let progress = Progress::counted("checking the backup");
    let checked = maintenance::check(&store, &mut |done, total| progress.at(done, total)).await?;
    match checked.is_clean() {
        true => Ok(()),
        false => Err(Error::failed("the backup is damaged").detail(wire(&checked.view()).to_string())),
    }
}

fn swap(copy: &Path, to: &Path, kept: Option<&Path>) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::failed(format!("cannot put the backup at {}", shown(to))).detail(error.to_string())
    };
    if let Some(kept) = kept {
        std::fs::rename(to, kept).map_err(failed)?;
    }
    std::fs::rename(copy, to).map_err(failed)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// What an earlier restore kept is kept too.
fn free_name(to: &Path) -> PathBuf {
    let first = beside(to, "before-restore");
    let numbered = (2..).map(|number| beside(&first, &number.to_string()));
    std::iter::once(first.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(first)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
