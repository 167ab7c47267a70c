//! `ordo job history`: what happened to a job, event by event.

use serde_json::Value;

use crate::cli::job::HistoryArgs;
use crate::commands::actor::who;
use crate::commands::find::{self, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{short_id, table, time};

const DATA_SHOWN: usize = 100;

pub(crate) async fn run(talk: &CommandSession, args: &HistoryArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let path = format!("/v1/streams/ordo-job-{id}");
    pages::show(talk, &path, &[], &args.pages, |events| human(talk, events)).await
}

fn human(talk: &CommandSession, events: &[Value]) -> String {
    let runs = short_id::length(events.iter().filter_map(|event| event["data"]["run_id"].as_str()));
    let row = |event: &Value| {
        let at = time::of(&event["at"]).map(|at| time::absolute(at, &talk.zone));
        vec![
            text(event, "version"),
            at.unwrap_or_default(),
            text(event, "type"),
            who(event),
            about(&event["data"], runs),
        ]
    };
    table::rows(&["VERSION", "AT", "EVENT", "BY", "ABOUT"], events.iter().map(row).collect(), talk.paint)
}

/// What of an event's data a person looks for; of the id of a run, as much as tells it from the others.
fn about(data: &Value, id_shown: usize) -> String {
    let Value::Object(fields) = data else { return String::new() };
    let mut said = Vec::new();
    for name in ["run_id", "attempt", "reason", "timeliness", "retry_at"] {
        match fields.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if name == "run_id" => {
                said.push(format!("run {}", text.chars().take(id_shown).collect::<String>()));
            }
            Some(_) => said.push(format!("{name} {}", text(data, name))),
        }
    }
    match data["cause"]["type"].as_str() {
        Some("manual") => said.push("by hand".to_owned()),
        Some("backfill") => said.push("backfill".to_owned()),
        Some("retry") => said.push(format!("again after run {}", text(&data["cause"], "of"))),
        _ => {}
    }
    if let Some(occurrence) = data["cause"]["occurrence"]["nominal"].as_str() {
        said.push(format!("for {occurrence}"));
    }
    if let Some(count) = data["gap"]["count"].as_u64() {
        said.push(format!("{count} occurrences from {} to {}", text(&data["gap"], "from"), text(&data["gap"], "to")));
    }
    table::short(&said.join(", "), DATA_SHOWN)
}
