//! `ordo run list`

use serde_json::Value;

use super::words;
use crate::cli::run::RunListArgs;
use crate::commands::find::{self, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{short_id, table, time};
use crate::zone;

const REASON_SHOWN: usize = 50;

pub(crate) async fn run(talk: &CommandSession, args: &RunListArgs) -> Result<Exit> {
    let job = match &args.job {
        Some(name) => Some(find::job(talk, name).await?),
        None => None,
    };
    let moment = |flag: &str, given: &Option<String>| -> Result<Option<String>> {
        let at = given.as_deref().map(|text| zone::since(flag, text, talk.now())).transpose()?;
        Ok(at.map(|at| at.to_string()))
    };
    let filters = [
        ("job_id", job),
        ("status", args.status.clone()),
        ("since", moment("--since", &args.since)?),
        ("until", moment("--until", &args.until)?),
        ("label", args.label.clone()),
        ("reason", args.reason.clone()),
        ("executor", args.executor.clone()),
        ("longer_than", args.longer_than.clone()),
        ("shorter_than", args.shorter_than.clone()),
    ];
    let is_filtered = filters.iter().any(|(_, value)| value.is_some());
    pages::show(talk, "/v1/runs", &filters, &args.pages, |runs| human(talk, runs, is_filtered)).await
}

fn human(talk: &CommandSession, runs: &[Value], is_filtered: bool) -> String {
    if runs.is_empty() {
        return if is_filtered { "No run matches.\n" } else { "No runs yet.\n" }.to_owned();
    }
    let id = short_id::shortened(runs);
    let row = |run: &Value| {
        let fired = time::of(&run["fired_at"]).map(|at| time::ago(at, talk.now()));
        vec![
            talk.paint.state(&text(&run["status"], "type")),
            table::short(&text(run, "label"), 40),
            fired.unwrap_or_default(),
            words::took(run).unwrap_or_else(|| "-".to_owned()),
            words::lateness(run).unwrap_or_else(|| "-".to_owned()),
            id(run),
            words::reason(talk, run).map(|why| table::short(&why, REASON_SHOWN)).unwrap_or_default(),
        ]
    };
    let names = ["STATUS", "LABEL", "FIRED", "TOOK", "LATE", "ID", "WHY"];
    table::rows(&names, runs.iter().map(row).collect(), talk.paint)
}
