//! `ordo job trigger`: run a job now, and with `--wait` see it through.

use ordo_api::jobs::TriggerJob;

use super::words::quoted;
use crate::cli::Format;
use crate::cli::job::TriggerNowArgs;
use crate::commands::find::{self, text};
use crate::commands::run::logs;
use crate::commands::run::words;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output;

pub(crate) async fn run(talk: &CommandSession, args: &TriggerNowArgs) -> Result<Exit> {
    let id = find::job(talk, &args.job.job).await?;
    let body = TriggerJob { tool_input: args.input.clone() };
    let answer = talk.post(&format!("/v1/jobs/{id}/trigger"), &body).await?;
    let run = text(&answer, "run_id");
    if args.wait {
        return wait(talk, &run).await;
    }
    talk.value(&answer, || {
        format!("triggered {}: run {run}\nfollow it with: ordo run logs -f {run}", quoted(&args.job.job))
    })?;
    Ok(Exit::Done)
}

/// Shows what the run prints, then how it ended.
async fn wait(talk: &CommandSession, run: &str) -> Result<Exit> {
    let print_lines = talk.format == Format::Table;
    logs::follow(talk, run, |line| if print_lines { logs::print(line, false) } else { Ok(()) }).await?;
    let over = logs::until_over(talk, run).await?;
    match talk.format {
        Format::Table => output::note(&words::outcome(talk, &over)),
        Format::Json | Format::Ndjson => talk.value(&over, String::new)?,
    }
    Ok(if over["status"]["type"] == "completed" { Exit::Done } else { Exit::Failed })
}
