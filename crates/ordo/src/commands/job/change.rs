//! `ordo job pause | resume | cancel`

use ordo_api::jobs::PauseJob;
use serde_json::Value;

use super::words;
use crate::cli::job::{CancelJobArgs, ReasonArgs};
use crate::commands::confirm;
use crate::commands::find;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};

pub(crate) async fn pause(talk: &CommandSession, args: &ReasonArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let answer = talk.post(&format!("/v1/jobs/{id}/pause"), &PauseJob { reason: args.reason.clone() }).await?;
    report(talk, "paused", &id, answer).await
}

pub(crate) async fn resume(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::job(talk, name).await?;
    let answer = talk.post_empty(&format!("/v1/jobs/{id}/resume")).await?;
    report(talk, "resumed", &id, answer).await
}

pub(crate) async fn cancel(talk: &CommandSession, args: &CancelJobArgs) -> Result<Exit> {
    let CancelJobArgs { order: args, yes } = args;
    let id = find::job(talk, &args.job.job).await?;
    if !yes && confirm::is_asked() {
        let label = find::text(&talk.get(&format!("/v1/jobs/{id}")).await?, "label");
        confirm::or_leave(&format!(
            "Cancel {label} ({id}) for good? It never runs again, and what runs now is stopped."
        ))?;
    }
    let reason = crate::locate::query(&[("reason", args.reason.clone())]);
    let answer = talk.client.delete::<Value>(&format!("/v1/jobs/{id}{reason}")).await?;
    report(talk, "cancelled", &id, answer).await
}

async fn report(talk: &CommandSession, done: &str, id: &str, answer: Value) -> Result<Exit> {
    // A server may answer such an order without the job.
    let job = if answer.get("id").is_some() { answer } else { talk.get(&format!("/v1/jobs/{id}")).await? };
    talk.value(&job, || match job["state"].as_str() {
        Some("cancelled") => format!("{done} {} ({id})", find::text(&job, "label")),
        _ => words::describe(talk, done, &job),
    })?;
    Ok(Exit::Done)
}
