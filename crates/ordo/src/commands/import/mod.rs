//! `ordo import …`: read a file, compare it with the jobs there are, carry out the difference.
//!
//! Invariant: importing the same file twice changes nothing the second time; what was interrupted goes on with the next.

mod carry;
mod compare;
mod origin;
mod report;

use std::path::PathBuf;

use super::talk::CommandSession;
use crate::cli::import::{GithubActionsArgs, ImportArgs, ImportCommand, QuartzArgs, SystemdArgs};
use crate::error::{Error, Exit, Result};
use compare::ImportScope;
use ordo_import::quartz::QuartzOrigin;
use ordo_import::workflow::WorkflowOrigin;
use ordo_import::{Imported, actions, cronjob, crontab, dkron, quartz, systemd, workflow};

pub(crate) async fn run(talk: &CommandSession, command: ImportCommand) -> Result<Exit> {
    match command {
        ImportCommand::Crontab(args) => {
            let text = origin::text(&args.source.file)?;
            let (from, notes) = origin::of_crontab(&args, &text)?;
            let mut reading = crontab::read(&text, &from);
            reading.notes.splice(0..0, notes);
            let scope = ImportScope::Beginning(format!("{}/", from.name));
            import(talk, &args.common, &args.source.file.display().to_string(), &reading, scope).await
        }
        ImportCommand::Systemd(args) => named(talk, &args.common, &args.source.files, &units(&args)?).await,
        ImportCommand::Cronjob(args) => {
            let files = [args.source.file];
            let reading = each(&files, "YAML", |_, text| cronjob::read(text))?;
            named(talk, &args.common, &files, &reading).await
        }
        ImportCommand::Quartz(args) => named(talk, &args.common, &args.source.files, &quartz_jobs(&args)?).await,
        ImportCommand::GithubActions(args) => named(talk, &args.common, &args.source.files, &workflows(&args)?).await,
        ImportCommand::Dkron(args) => {
            let reading = each(&args.source.files, "JSON", |_, text| dkron::read(text))?;
            named(talk, &args.common, &args.source.files, &reading).await
        }
        ImportCommand::Actions(args) => {
            let files = [args.source.file];
            let reading = each(&files, "JSON", |_, text| actions::read(text))?;
            named(talk, &args.common, &files, &reading).await
        }
    }
}

/// Reads each file and joins what they led to.
fn each<E: std::fmt::Display>(
    files: &[PathBuf],
    format: &str,
    read: impl Fn(&str, &str) -> std::result::Result<Imported, E>,
) -> Result<Imported> {
    let mut all = Imported::default();
    for file in files {
        let text = origin::text(file)?;
        let invalid =
            |error: E| Error::failed(format!("{} is not valid {format}", file.display())).detail(error.to_string());
        let one = read(&origin::file_name(file), &text).map_err(invalid)?;
        all.drafts.extend(one.drafts);
        all.refused.extend(one.refused);
        all.notes.extend(one.notes);
    }
    all.notes.dedup();
    Ok(all)
}

fn units(args: &SystemdArgs) -> Result<Imported> {
    let mut texts = Vec::new();
    for file in &args.source.files {
        texts.push(systemd::UnitText { name: origin::file_name(file), text: origin::text(file)? });
    }
    let beside = origin::services_beside(&args.source.files, &systemd::missing_services(&texts));
    let notes: Vec<String> = beside.iter().map(|unit| format!("{} was read from the same folder", unit.name)).collect();
    texts.extend(beside);
    let mut reading = systemd::read(&texts, &origin::zone_name(args.tz.as_deref())?);
    reading.notes.splice(0..0, notes);
    Ok(reading)
}

fn quartz_jobs(args: &QuartzArgs) -> Result<Imported> {
    let from = QuartzOrigin { group: args.group.clone(), zone: origin::zone_name(args.tz.as_deref())? };
    each(&args.source.files, "XML", |_, text| quartz::read(text, &from))
}

fn workflows(args: &GithubActionsArgs) -> Result<Imported> {
    let from = WorkflowOrigin {
        repository: args.repo.clone(),
        reference: args.reference.clone(),
        secret: args.token_secret.clone(),
        api: args.api_url.clone(),
    };
    each(&args.source.files, "YAML", |name, text| workflow::read(name, text, &from))
}

async fn named(talk: &CommandSession, args: &ImportArgs, files: &[PathBuf], reading: &Imported) -> Result<Exit> {
    let names = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    import(talk, args, &names, reading, ImportScope::Named).await
}

async fn import(
    talk: &CommandSession,
    args: &ImportArgs,
    files: &str,
    reading: &Imported,
    wanted: ImportScope,
) -> Result<Exit> {
    if reading.drafts.is_empty() && reading.refused.is_empty() {
        return Err(Error::failed(format!("there is no job in {files}"))
            .fields(reading.notes.iter().map(|note| ("note".to_owned(), note.clone())).collect()));
    }
    let mut items = compare::with_server(talk, reading, wanted).await?;
    if !args.dry_run {
        carry::out(talk, &mut items, args.held).await?;
    }
    report::print(talk, &items, &reading.notes, args)?;
    Ok(if items.iter().any(compare::ImportItem::is_refused) { Exit::Failed } else { Exit::Done })
}
