//! `ordo job diff | revert`: the definitions that a job has had.

use ordo_api::jobs::RevertJob;
use serde_json::Value;

use super::words;
use crate::cli::job::{DiffArgs, RevertArgs};
use crate::commands::actor::who;
use crate::commands::find::{self, text};
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::locate::query;
use crate::output::time;

pub(crate) async fn diff(talk: &CommandSession, args: &DiffArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let number = |given: Option<u64>| given.map(|number| number.to_string());
    let path = format!("/v1/jobs/{id}/diff{}", query(&[("from", number(args.from)), ("to", number(args.to))]));
    let diff = talk.get(&path).await?;
    let kept = talk.get(&format!("/v1/jobs/{id}/revisions")).await?;
    talk.value(&diff, || human(talk, &diff, &kept))?;
    Ok(Exit::Done)
}

/// `- before` and `+ after`, as everybody reads it; what was never there has one line.
fn human(talk: &CommandSession, diff: &Value, kept: &Value) -> String {
    let mut lines = vec![title(talk, "---", &diff["from"], kept), title(talk, "+++", &diff["to"], kept)];
    let changes: Vec<&Value> = diff["changes"].as_array().into_iter().flatten().collect();
    if changes.is_empty() {
        lines.push("The definitions are the same.".to_owned());
    }
    for change in changes {
        let field = text(change, "field");
        let line = |mark: &str, value: &Value| format!("{mark} {field}: {value}");
        lines.extend(change.get("before").map(|value| talk.paint.bad(&line("-", value))));
        lines.extend(change.get("after").map(|value| talk.paint.good(&line("+", value))));
    }
    lines.join("\n")
}

fn title(talk: &CommandSession, mark: &str, number: &Value, kept: &Value) -> String {
    let found = kept["items"].as_array().into_iter().flatten().find(|one| one["revision"] == *number);
    let at = found.and_then(|one| time::of(&one["at"])).map(|at| time::absolute(at, &talk.zone));
    let by = found.map(who).unwrap_or_default();
    [format!("{mark} revision {number}"), at.unwrap_or_default(), by].join("  ").trim_end().to_owned()
}

pub(crate) async fn revert(talk: &CommandSession, args: &RevertArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let path = format!("/v1/jobs/{id}/revert");
    let job = talk.client.post_if::<Value, _>(&path, &RevertJob { revision: args.revision }, args.if_revision).await?;
    talk.value(&job, || words::describe(talk, "reverted", &job))?;
    Ok(Exit::Done)
}
