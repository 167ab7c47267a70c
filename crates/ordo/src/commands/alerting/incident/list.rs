//! `ordo incident list`

use serde_json::Value;

use super::find;
use crate::cli::alerting::incident::{IncidentArg, IncidentListArgs};
use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{short_id, table, time};
use crate::zone;

const TITLE_SHOWN: usize = 50;

pub(crate) async fn run(talk: &CommandSession, args: &IncidentListArgs) -> Result<Exit> {
    let since = args.since.as_deref().map(|text| zone::since("--since", text, talk.now())).transpose()?;
    let filters = [
        ("status", args.status.clone()),
        ("severity", args.severity.clone()),
        ("search", args.search.clone()),
        ("assignee", args.assignee.clone()),
        ("since", since.map(|since| since.to_string())),
    ];
    let is_filtered = filters.iter().any(|(_, value)| value.is_some());
    let none = if is_filtered { "No incident matches.\n" } else { "No incidents.\n" };
    pages::show(talk, "/v1/incidents", &filters, &args.pages, |incidents| human(talk, incidents, none)).await
}

pub(crate) async fn similar(talk: &CommandSession, args: &IncidentArg) -> Result<Exit> {
    let id = find(talk, &args.incident).await?;
    let found = talk.get(&format!("/v1/incidents/{id}/similar")).await?;
    let items = found["items"].as_array().cloned().unwrap_or_default();
    talk.list(&items, || human(talk, &items, "No similar incidents.\n"))?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, incidents: &[Value], none: &str) -> String {
    if incidents.is_empty() {
        return none.to_owned();
    }
    let id = short_id::shortened(incidents);
    let row = |incident: &Value| {
        let started = time::of(&incident["created_at"]).map(|at| time::ago(at, talk.now()));
        let assignee = text(incident, "assignee");
        vec![
            talk.paint.state(&text(incident, "status")),
            text(incident, "severity"),
            table::short(&text(incident, "title"), TITLE_SHOWN),
            started.unwrap_or_default(),
            if assignee.is_empty() { "-".to_owned() } else { assignee },
            id(incident),
        ]
    };
    let names = ["STATUS", "SEVERITY", "TITLE", "STARTED", "ASSIGNEE", "ID"];
    table::rows(&names, incidents.iter().map(row).collect(), talk.paint)
}
