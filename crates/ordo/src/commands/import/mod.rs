//! `ordo import …`: read a file, compare it with the jobs there are, carry out the difference.
//!
//! Invariant: importing the same file twice changes nothing the second time; what was interrupted goes on with the next.

mod carry;
mod compare;
mod origin;
mod report;
mod xxl;

use super::talk::CommandSession;
use crate::cli::import::{ImportArgs, ImportCommand};
use crate::error::{Error, Exit, Result};
use compare::ImportScope;
use ordo_import::{Imported, actions, cronjob, crontab};

pub(crate) async fn run(talk: &CommandSession, command: ImportCommand) -> Result<Exit> {
    match command {
        ImportCommand::Crontab(args) => {
            let text = origin::text(&args.common.file)?;
            let (from, note) = origin::of_crontab(&args, &text)?;
            let mut reading = crontab::read(&text, &from);
            reading.notes.splice(0..0, note);
            import(talk, &args.common, &reading, ImportScope::Beginning(format!("{}/", from.name))).await
        }
        ImportCommand::Cronjob(args) => {
            let text = origin::text(&args.common.file)?;
            let not_yaml = |error: cronjob::NotYaml| Error::failed("the file is no YAML").detail(error.to_string());
            let reading = cronjob::read(&text).map_err(not_yaml)?;
            import(talk, &args.common, &reading, ImportScope::Named).await
        }
        ImportCommand::Xxl(args) => xxl::run(talk, &args).await,
        ImportCommand::Actions(args) => {
            let text = origin::text(&args.common.file)?;
            let not_json = |error: actions::NotJson| Error::failed("the file is no JSON").detail(error.to_string());
            let reading = actions::read(&text).map_err(not_json)?;
            import(talk, &args.common, &reading, ImportScope::Named).await
        }
    }
}

async fn import(talk: &CommandSession, args: &ImportArgs, reading: &Imported, wanted: ImportScope) -> Result<Exit> {
    if reading.drafts.is_empty() && reading.refused.is_empty() {
        return Err(Error::failed(format!("there is no job in {}", args.file.display()))
            .fields(reading.notes.iter().map(|note| ("note".to_owned(), note.clone())).collect()));
    }
    let mut items = compare::with_server(talk, reading, wanted).await?;
    if !args.dry_run {
        carry::out(talk, &mut items, args.held).await?;
    }
    report::print(talk, &items, &reading.notes, args)?;
    Ok(if items.iter().any(compare::ImportItem::is_refused) { Exit::Failed } else { Exit::Done })
}
