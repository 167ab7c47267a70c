//! `ordo job pause | resume | cancel`, of one job or of all that match a filter.
//!
//! Invariant: what cannot be undone is asked for on a terminal, and what concerns many is counted before it happens. Doing
//! it again finishes what was interrupted: a job that has changed already no longer matches or is skipped.

use ordo_api::jobs::PauseJob;
use ordo_client::{Client, Error as ClientError};
use serde_json::Value;
use tokio::task::JoinSet;

use super::words;
use crate::cli::job::ChangeArgs;
use crate::commands::confirm;
use crate::commands::find::{self, text};
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::locate::query;
use crate::output::progress::Progress;

/// Requests under way at once: the daemon commits them together.
const AT_ONCE: usize = 64;
/// Fewer are done before anybody reads a bar.
const WORTH_A_BAR: usize = 50;
/// How many refusals are shown.
const REFUSALS_SHOWN: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobChange {
    Pause,
    Resume,
    Cancel,
}

impl JobChange {
    const fn verb(self) -> &'static str {
        match self {
            JobChange::Pause => "pause",
            JobChange::Resume => "resume",
            JobChange::Cancel => "cancel",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            JobChange::Pause => "paused",
            JobChange::Resume => "resumed",
            JobChange::Cancel => "cancelled",
        }
    }

    /// Whether it would change a job in this state.
    fn concerns(self, state: &str) -> bool {
        match self {
            JobChange::Pause => state == "active",
            JobChange::Resume => ["paused", "held"].contains(&state),
            JobChange::Cancel => ["active", "paused", "held"].contains(&state),
        }
    }
}

pub(crate) async fn run(talk: &CommandSession, change: JobChange, args: &ChangeArgs) -> Result<Exit> {
    match &args.job {
        Some(name) => one(talk, change, name, args).await,
        None => many(talk, change, args).await,
    }
}

async fn one(talk: &CommandSession, change: JobChange, name: &str, args: &ChangeArgs) -> Result<Exit> {
    let id = find::job(talk, name).await?;
    if change == JobChange::Cancel && !args.yes && confirm::is_asked() {
        let label = text(&talk.get(&format!("/v1/jobs/{id}")).await?, "label");
        confirm::or_leave(&format!("Cancel {label} ({id}) for good? Its running work is cancelled too."))?;
    }
    let answer = send(talk.client.clone(), change, id.clone(), args.reason.clone()).await?;
    report(talk, change.done(), &id, answer).await
}

async fn many(talk: &CommandSession, change: JobChange, args: &ChangeArgs) -> Result<Exit> {
    let filters = [
        ("tag", words::tags(&args.tags)),
        ("state", args.state.clone()),
        ("trigger", args.trigger.clone()),
        ("search", args.search.clone()),
        ("label_prefix", args.label_prefix.clone()),
    ];
    let found = pages::items(talk, "/v1/jobs", &filters, usize::MAX).await?.items;
    let jobs: Vec<Value> = found.into_iter().filter(|job| change.concerns(&text(job, "state"))).collect();
    if jobs.is_empty() {
        talk.list(&[], || format!("No job to {} matches.\n", change.verb()))?;
        return Ok(Exit::Done);
    }
    agree(change, &jobs, args)?;
    let outcome = all(talk, change, &jobs, args.reason.as_ref()).await;
    let done: Vec<Value> = outcome.done;
    talk.list(&done, || format!("{} {}\n", change.done(), counted(done.len(), "job")))?;
    match outcome.refused.len() {
        0 => Ok(Exit::Done),
        refused => {
            let shown = outcome.refused.into_iter().take(REFUSALS_SHOWN).collect();
            Err(Error::failed(format!("{} could not be {}", counted(refused, "job"), change.done())).fields(shown))
        }
    }
}

fn agree(change: JobChange, jobs: &[Value], args: &ChangeArgs) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    let count = counted(jobs.len(), "job");
    if !confirm::is_asked() {
        return Err(Error::misused(format!("{count} would be {}", change.done())).hint("add --yes to go ahead"));
    }
    let examples: Vec<String> = jobs.iter().take(5).map(|job| text(job, "label")).collect();
    let more = if jobs.len() > examples.len() { ", …" } else { "" };
    let verb = change.verb();
    let question = format!("{}{} {count} ({}{more})?", verb[..1].to_uppercase(), &verb[1..], examples.join(", "));
    confirm::or_leave(&question)
}

/// `1 job`, `3 jobs`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[derive(Default)]
struct BulkOutcome {
    done: Vec<Value>,
    /// (label, why)
    refused: Vec<(String, String)>,
}

async fn all(talk: &CommandSession, change: JobChange, jobs: &[Value], reason: Option<&String>) -> BulkOutcome {
    let progress = (jobs.len() >= WORTH_A_BAR).then(|| Progress::counted(change.verb()));
    let mut outcome = BulkOutcome::default();
    let mut waiting = jobs.iter();
    let mut sent = JoinSet::new();
    loop {
        while sent.len() < AT_ONCE
            && let Some(job) = waiting.next()
        {
            let (client, reason, job) = (talk.client.clone(), reason.cloned(), job.clone());
            sent.spawn(async move {
                let result = send(client, change, text(&job, "id"), reason).await;
                (job, result)
            });
        }
        let Some(ended) = sent.join_next().await else { return outcome };
        match ended {
            Ok((job, Ok(_))) => outcome.done.push(job),
            Ok((job, Err(error))) => outcome.refused.push((text(&job, "label"), error.to_string())),
            Err(error) => outcome.refused.push((String::new(), error.to_string())),
        }
        if let Some(progress) = &progress {
            progress.at((outcome.done.len() + outcome.refused.len()) as u64, jobs.len() as u64);
        }
    }
}

async fn send(
    client: Client,
    change: JobChange,
    id: String,
    reason: Option<String>,
) -> std::result::Result<Value, ClientError> {
    match change {
        JobChange::Pause => client.post(&format!("/v1/jobs/{id}/pause"), &PauseJob { reason }).await,
        JobChange::Resume => client.post_empty(&format!("/v1/jobs/{id}/resume")).await,
        JobChange::Cancel => client.delete(&format!("/v1/jobs/{id}{}", query(&[("reason", reason)]))).await,
    }
}

async fn report(talk: &CommandSession, done: &str, id: &str, answer: Value) -> Result<Exit> {
    // A server may answer such a command without the job.
    let job = if answer.get("id").is_some() { answer } else { talk.get(&format!("/v1/jobs/{id}")).await? };
    talk.value(&job, || match job["state"].as_str() {
        Some("cancelled") => format!("{done} {} ({id})", text(&job, "label")),
        _ => words::describe(talk, done, &job),
    })?;
    Ok(Exit::Done)
}
