//! `ordo incident show`

use ordo_model::Millis;
use serde_json::Value;

use super::find;
use crate::cli::alerting::incident::IncidentArg;
use crate::commands::actor::for_whom;
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{table, time};

pub(crate) async fn run(talk: &CommandSession, args: &IncidentArg) -> Result<Exit> {
    let id = find(talk, &args.incident).await?;
    let incident = talk.get(&format!("/v1/incidents/{id}")).await?;
    talk.value(&incident, || human(talk, &incident))?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, incident: &Value) -> String {
    let mut pairs = vec![
        ("incident", text(incident, "id")),
        ("title", text(incident, "title")),
        ("status", talk.paint.state(&text(incident, "status"))),
        ("severity", text(incident, "severity")),
    ];
    for (name, field) in [("about", "description"), ("identifier", "identifier"), ("assignee", "assignee")] {
        pairs.extend(incident[field].as_str().filter(|text| !text.is_empty()).map(|text| (name, text.to_owned())));
    }
    for role in ["lead", "communications"] {
        pairs.extend(incident["roles"][role].as_str().map(|name| (role, name.to_owned())));
    }
    pairs.extend(incident["impact"].as_str().filter(|text| !text.is_empty()).map(|text| ("impact", text.to_owned())));
    if let Some(by) = incident["acknowledged"].get("by") {
        pairs.push(("acknowledged", format!("by {}", for_whom(&text(by, "actor"), by))));
    }
    for (name, field) in [("started", "created_at"), ("ended", "ended_at")] {
        pairs.extend(time::of(&incident[field]).map(|at| (name, time::both(at, talk.now(), &talk.zone))));
    }
    if let Some(ms) = incident["duration_ms"].as_u64() {
        pairs.push(("lasted", Millis::from_ms(ms / 1_000 * 1_000).to_string()));
    }
    if let Some(at) = time::of(&incident["snoozed"]["until"]) {
        pairs.push(("snoozed", format!("until {}", time::both(at, talk.now(), &talk.zone))));
    }
    if let Some(at) = time::of(&incident["escalation"]["due_at"]) {
        pairs.push(("escalates", time::both(at, talk.now(), &talk.zone)));
    }
    for link in incident["links"].as_array().into_iter().flatten() {
        pairs.push(("linked", format!("{} {}", text(link, "type"), text(link, "id"))));
    }
    for item in incident["action_items"].as_array().into_iter().flatten() {
        let mark = if item["done_at"].is_string() { "x" } else { " " };
        let owner = item["owner"].as_str().map(|name| format!(" ({name})")).unwrap_or_default();
        pairs.push(("action", format!("[{mark}] {}. {}{owner}", item["number"], text(item, "text"))));
    }
    let lines = incident["timeline"].as_array().into_iter().flatten().map(|event| line(talk, event));
    format!("{}\n{}", table::fields(&pairs, talk.paint), lines.collect::<String>())
}

fn line(talk: &CommandSession, event: &Value) -> String {
    let at = time::of(&event["at"]).map(|at| time::absolute(at, &talk.zone)).unwrap_or_default();
    let data = &event["data"];
    let words =
        ["title", "severity", "assignee", "status", "message", "role", "person", "text", "owner", "until", "notify"];
    let said: Vec<String> = words.iter().map(|word| text(data, word)).filter(|text| !text.is_empty()).collect();
    // What Ordo does by itself has a cause: the job, the monitor or the escalation chain.
    let by = &data["by"];
    let who = format!("{} ({})", for_whom(&text(by, "actor"), by), text(by, "source"));
    format!("{}  {}  {}  {}\n", talk.paint.dim(&at), text(event, "type"), who, table::short(&said.join(", "), 200))
}
