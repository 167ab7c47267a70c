//! `ordo run logs`: what a run printed, or prints while somebody watches.
//!
//! Invariant: a stream that breaks is taken up again after the last line that was seen; no line is shown twice.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use ordo_client::{Error as ClientError, SseEvent};
use ordo_model::Timestamp;
use serde_json::Value;

use crate::cli::Format;
use crate::cli::run::LogsArgs;
use crate::commands::find::{self, FoundRun, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output::terminal::tamed;
use crate::output::{self, time};

/// How often a broken stream is taken up again without a line in between.
const TRIES_MAX: u32 = 3;
/// How often a job is asked for its next run: nobody can say when somebody triggers it.
const NEXT_RUN_EVERY: std::time::Duration = std::time::Duration::from_millis(500);
/// How often a run is looked at whose log has ended before it.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

pub(crate) async fn run(talk: &CommandSession, args: &LogsArgs) -> Result<Exit> {
    let FoundRun { id, of_job } = find::run_or_newest(talk, &args.run.run).await?;
    let show = |line: &Value| match talk.format {
        Format::Table => print(line, args.timestamps),
        Format::Json | Format::Ndjson => output::print(&output::line(line)),
    };
    if args.follow {
        follow(talk, &id, show).await?;
        if let Some(job) = of_job {
            follow_next(talk, &job, id, show).await?;
        }
    } else {
        let lines = pages::items(talk, &format!("/v1/runs/{id}/logs"), &[], usize::MAX).await?.items;
        lines.iter().try_for_each(show)?;
    }
    Ok(Exit::Done)
}

/// Goes on with the next runs of a job for as long as there can be one.
async fn follow_next(
    talk: &CommandSession,
    job: &str,
    mut last: String,
    show: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    while let Some(next) = next_run(talk, job, &last).await? {
        output::note(&talk.paint.dim(&format!("--- run {next} ---")));
        follow(talk, &next, &show).await?;
        last = next;
    }
    Ok(())
}

/// By itself: nobody waits for somebody to trigger a job by hand.
fn may_run_again(job: &Value) -> bool {
    let by_itself = job["trigger"]["type"] != "manual" || job["after"].is_object();
    by_itself && !matches!(job["state"].as_str(), Some("finished" | "cancelled"))
}

/// Waits for a run after this one; none when the job will not run again by itself.
async fn next_run(talk: &CommandSession, job: &str, last: &str) -> Result<Option<String>> {
    loop {
        let newest = find::newest(talk, job).await?;
        if newest.as_deref().is_some_and(|newest| newest != last) {
            return Ok(newest);
        }
        let found = talk.get(&format!("/v1/jobs/{job}")).await?;
        if !may_run_again(&found) {
            return Ok(None);
        }
        tokio::time::sleep(NEXT_RUN_EVERY).await;
    }
}

/// Every line of a run, until it is over.
pub(crate) async fn follow(talk: &CommandSession, run: &str, mut show: impl FnMut(&Value) -> Result<()>) -> Result<()> {
    let path = format!("/v1/runs/{run}/logs");
    let (mut seen, mut tries) = (None, 0);
    loop {
        let before = seen.clone();
        match read(talk, &path, &mut seen, &mut show).await {
            Ok(()) => return Ok(()),
            Err(error) if tries >= TRIES_MAX || error.exit() == Exit::Unreachable => return Err(error),
            Err(_) => tries = if seen == before { tries + 1 } else { 0 },
        }
    }
}

async fn read(
    talk: &CommandSession,
    path: &str,
    seen: &mut Option<String>,
    show: &mut impl FnMut(&Value) -> Result<()>,
) -> Result<()> {
    let mut events = talk.client.follow(path, seen.clone()).await?;
    while let Some(event) = events.next().await {
        let event: SseEvent = event.map_err(|error: ClientError| Error::from(error))?;
        match event.event.as_deref() {
            Some("end") => return Ok(()),
            Some("error") => return Err(Error::failed("the log cannot be followed").detail(event.data)),
            _ => show(&serde_json::from_str(&event.data).unwrap_or(Value::Null))?,
        }
        *seen = event.id.or(seen.take());
    }
    Err(Error::failed("the log was cut off").detail("the daemon ended the connection before the run was over"))
}

/// What the command wrote to its standard error goes to ours: into a file or a pipe as it was written, to a terminal without
/// what that would obey.
pub(crate) fn print(line: &Value, timestamps: bool) -> Result<()> {
    let at = time::of(&line["at"]).filter(|_| timestamps).map(|at: Timestamp| format!("{at} ")).unwrap_or_default();
    let (is_error, text) = (line["stream"] == "stderr", text(line, "text"));
    let is_terminal = if is_error { std::io::stderr().is_terminal() } else { std::io::stdout().is_terminal() };
    let said = format!("{at}{}", if is_terminal { tamed(&text) } else { Cow::Borrowed(text.as_str()) });
    if is_error {
        // Whoever closed standard error does not want it.
        let _ = writeln!(std::io::stderr(), "{said}");
        return Ok(());
    }
    output::print(&format!("{said}\n"))
}

/// The run once it has come to its end.
pub(crate) async fn until_over(talk: &CommandSession, run: &str) -> Result<Value> {
    loop {
        let found = talk.get(&format!("/v1/runs/{run}")).await?;
        if !matches!(found["status"]["type"].as_str(), Some("pending" | "running")) {
            return Ok(found);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
