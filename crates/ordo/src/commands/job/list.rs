//! `ordo job list`

use serde_json::Value;

use super::words;
use crate::cli::job::JobListArgs;
use crate::commands::find::text;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{short_id, table, time};

const TRIGGER_SHOWN: usize = 48;

pub(crate) async fn run(talk: &CommandSession, args: &JobListArgs) -> Result<Exit> {
    let filters = [
        ("label", args.label.clone()),
        ("tag", words::tags(&args.tags)),
        ("state", args.state.clone()),
        ("trigger", args.trigger.clone()),
        ("search", args.search.clone()),
    ];
    let is_filtered = filters.iter().any(|(_, value)| value.is_some());
    pages::show(talk, "/v1/jobs", &filters, &args.pages, |jobs| human(talk, jobs, is_filtered)).await
}

fn human(talk: &CommandSession, jobs: &[Value], is_filtered: bool) -> String {
    if jobs.is_empty() {
        let none = "No jobs. Add one: ordo job add hello --every 10s -- echo hi\n";
        return if is_filtered { "No job matches.\n" } else { none }.to_owned();
    }
    let id = short_id::shortened(jobs);
    let row = |job: &Value| {
        let next = time::of(&job["next_tick_at"]).map(|at| time::relative(at, talk.now()));
        vec![
            table::short(&text(job, "label"), 40),
            talk.paint.state(&text(job, "state")),
            table::short(&words::trigger(job), TRIGGER_SHOWN),
            next.unwrap_or_else(|| "-".to_owned()),
            last(talk, job),
            id(job),
        ]
    };
    table::rows(&["LABEL", "STATE", "RUNS", "NEXT", "LAST", "ID"], jobs.iter().map(row).collect(), talk.paint)
}

fn last(talk: &CommandSession, job: &Value) -> String {
    let last = &job["last"];
    match (last["status"].as_str(), time::of(&last["at"])) {
        (Some(status), Some(at)) => format!("{} {}", talk.paint.state(status), time::ago(at, talk.now())),
        _ => "-".to_owned(),
    }
}
