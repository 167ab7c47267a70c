//! `ordo run cancel | retry`

use serde_json::Value;

use crate::commands::find::{self, text};
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};

pub(crate) async fn cancel(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::run(talk, name).await?;
    let answer = talk.post_empty(&format!("/v1/runs/{id}/cancel")).await?;
    talk.value(&answer, || {
        let status = text(&answer["status"], "type");
        match status.as_str() {
            "" | "running" => format!("cancelling run {id}: it is being stopped"),
            _ => format!("run {id} is {status}"),
        }
    })?;
    Ok(Exit::Done)
}

pub(crate) async fn retry(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::run(talk, name).await?;
    let answer = talk.post_empty(&format!("/v1/runs/{id}/retry")).await?;
    talk.value(&answer, || {
        let new = new_run(&answer);
        format!("running {id} once more: run {new}\nfollow it with: ordo run logs -f {new}")
    })?;
    Ok(Exit::Done)
}

fn new_run(answer: &Value) -> String {
    text(answer, if answer.get("run_id").is_some() { "run_id" } else { "id" })
}
