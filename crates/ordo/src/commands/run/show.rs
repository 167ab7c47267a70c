//! `ordo run show`

use serde_json::Value;

use super::words;
use crate::commands::find::{self, text};
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::table;

pub(crate) async fn run(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::run(talk, name).await?;
    let run = talk.get(&format!("/v1/runs/{id}")).await?;
    talk.value(&run, || human(talk, &run))?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, run: &Value) -> String {
    let mut pairs = vec![
        ("run", text(run, "id")),
        ("job", format!("{} ({})", text(run, "label"), text(run, "job_id"))),
        ("status", talk.paint.state(&text(&run["status"], "type"))),
    ];
    pairs.extend(words::reason(talk, run).map(|why| ("why", why)));
    pairs.push(("cause", cause(run)));
    for (name, field) in
        [("scheduled", "scheduled_for"), ("fired", "fired_at"), ("started", "started_at"), ("finished", "finished_at")]
    {
        pairs.extend(words::at(talk, run, field).map(|(_, said)| (name, said)));
    }
    pairs.extend(words::lateness(run).map(|late| ("late", late)));
    pairs.extend(words::took(run).map(|took| ("took", took)));
    pairs.push(("attempt", text(run, "attempt")));
    pairs.extend(run["executor"].as_str().map(|name| ("executor", name.to_owned())));
    if let Some(input) = run.get("tool_input").filter(|input| !input.is_null()) {
        pairs.push(("input", input.to_string()));
    }
    for error in run["errors"].as_array().into_iter().flatten() {
        pairs.push(("error", format!("attempt {}: {}", text(error, "attempt"), text(error, "reason"))));
    }
    if let Some(result) = run["status"].get("result").filter(|result| !result.is_null()) {
        pairs.push(("result", serde_json::to_string_pretty(result).unwrap_or_default()));
    }
    table::fields(&pairs, talk.paint)
}

fn cause(run: &Value) -> String {
    match run["cause"]["type"].as_str() {
        Some("schedule") => "its schedule".to_owned(),
        Some("manual") => "triggered by hand".to_owned(),
        Some("retry") => format!("a repetition of run {}", text(&run["cause"], "of")),
        Some("after") => format!("the end of run {}", text(&run["cause"], "of")),
        Some("webhook") => format!("delivery {} of its hook", text(&run["cause"], "delivery")),
        Some(other) => other.to_owned(),
        None => String::new(),
    }
}
