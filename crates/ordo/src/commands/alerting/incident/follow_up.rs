//! `ordo incident action | postmortem`: what is left to do when the fire is out.

use std::path::Path;

use ordo_api::alerting::incidents::{AddAction, SetAction, WritePostmortem};
use serde_json::Value;

use super::change::{change, named, report};
use super::find;
use crate::cli::alerting::incident::{ActionAddArgs, ActionArg, ActionCommand, PostmortemArgs};
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output;

pub(crate) async fn action(talk: &CommandSession, command: ActionCommand) -> Result<Exit> {
    match command {
        ActionCommand::Add(ActionAddArgs { incident, text, owner, actor }) => {
            let body = AddAction { text, owner, actor: named(actor) };
            change(talk, &incident.incident, "actions", &body).await
        }
        ActionCommand::Done(args) => set(talk, args, true).await,
        ActionCommand::Reopen(args) => set(talk, args, false).await,
    }
}

async fn set(talk: &CommandSession, args: ActionArg, done: bool) -> Result<Exit> {
    let path = format!("actions/{}", args.number);
    change(talk, &args.incident.incident, &path, &SetAction { done, actor: named(args.actor) }).await
}

pub(crate) async fn postmortem(talk: &CommandSession, args: PostmortemArgs) -> Result<Exit> {
    let id = find(talk, &args.incident.incident).await?;
    let Some(file) = &args.from else {
        let incident = talk.get(&format!("/v1/incidents/{id}")).await?;
        let written = text(&incident, "postmortem");
        output::print(&if written.is_empty() { "Nothing is written yet.\n".to_owned() } else { written })?;
        return Ok(Exit::Done);
    };
    let body = WritePostmortem { text: read(file)?, actor: named(args.actor) };
    let incident: Value = talk.client.put(&format!("/v1/incidents/{id}/postmortem"), &body).await?;
    report(talk, "postmortem written", &incident)
}

/// The text of a file; `-` is standard input.
fn read(file: &Path) -> Result<String> {
    let text = match file.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    text.map_err(|error| Error::failed(format!("cannot read {}", file.display())).detail(error.to_string()))
}
