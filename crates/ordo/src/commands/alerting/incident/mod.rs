//! `ordo incident …`

pub(super) mod change;
mod export;
mod follow_up;
mod list;
mod show;

use uuid::Uuid;

use crate::cli::alerting::incident::IncidentSubcommand;
use crate::commands::find::{self, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};

/// How many incidents are looked at for one identifier.
const LOOKED_AT: usize = 1_000;

pub(crate) async fn run(talk: &CommandSession, command: IncidentSubcommand) -> Result<Exit> {
    match command {
        IncidentSubcommand::Start(args) => change::start(talk, args).await,
        IncidentSubcommand::List(args) => list::run(talk, &args).await,
        IncidentSubcommand::Show(args) => show::run(talk, &args).await,
        IncidentSubcommand::Severity(args) => change::severity(talk, args).await,
        IncidentSubcommand::Assign(args) => change::assign(talk, args).await,
        IncidentSubcommand::Status(args) => change::status(talk, args).await,
        IncidentSubcommand::Ack(args) => change::acknowledge(talk, args).await,
        IncidentSubcommand::Note(args) => change::note(talk, args).await,
        IncidentSubcommand::Role(args) => change::role(talk, args).await,
        IncidentSubcommand::Impact(args) => change::impact(talk, args).await,
        IncidentSubcommand::Action(command) => follow_up::action(talk, command).await,
        IncidentSubcommand::Snooze(args) => change::snooze(talk, args).await,
        IncidentSubcommand::Postmortem(args) => follow_up::postmortem(talk, args).await,
        IncidentSubcommand::Similar(args) => list::similar(talk, &args).await,
        IncidentSubcommand::Export(args) => export::run(talk, &args).await,
    }
}

/// The id of an incident: its own, or of the newest one with that identifier.
async fn find(talk: &CommandSession, name: &str) -> Result<String> {
    if name.parse::<Uuid>().is_ok() {
        return Ok(name.to_owned());
    }
    let found = pages::items(talk, "/v1/incidents", &[], LOOKED_AT).await?.items;
    let newest = found.iter().find(|incident| incident["identifier"] == name);
    if let Some(incident) = newest {
        return Ok(text(incident, "id"));
    }
    match find::beginning(talk, "/v1/incidents", "incident", name).await? {
        Some(id) => Ok(id),
        None => Err(Error::failed(format!("no incident is called {name:?}")).hint("see: ordo incident list")),
    }
}
