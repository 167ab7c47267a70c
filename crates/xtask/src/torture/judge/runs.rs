//! The story of each run as its stream tells it.

use std::collections::BTreeMap;

use super::super::jobs::{BACKOFF_MS, OrderedJob};
use super::super::stream::{JobRecord, StreamEvent, moment};
use super::Judgement;

/// What moved shortly before the end may not be over.
const UNFINISHED_MS: i64 = 15_000;

#[derive(Debug, Clone)]
pub(super) struct RecordedAttempt {
    pub(super) attempt: u32,
    pub(super) token: u64,
    pub(super) at: i64,
    /// The event that settled it, and where it stands.
    pub(super) settled: Option<(u64, String)>,
}

impl RecordedAttempt {
    /// Whether the system says that it was never begun.
    pub(super) fn is_returned(&self) -> bool {
        self.settled.as_ref().is_some_and(|(_, kind)| kind == "RunReturned")
    }
}

#[derive(Debug, Clone)]
pub(super) struct RunStory {
    pub(super) nominal: Option<i64>,
    pub(super) attempts: Vec<RecordedAttempt>,
    /// How it ended, in the words of the API.
    pub(super) end: Option<&'static str>,
    /// Not before this.
    retry_at: Option<i64>,
    /// When it was last heard of.
    moved_at: i64,
}

pub(super) fn fold(job: &OrderedJob, record: &JobRecord, judgement: &mut Judgement) -> BTreeMap<String, RunStory> {
    let mut runs: BTreeMap<String, RunStory> = BTreeMap::new();
    let mut latest_token = 0;
    for event in &record.events {
        let Some(run) = event.run() else { continue };
        match event.kind.as_str() {
            // Occurrences that led to no run have only this.
            "JobSkipped" if !runs.contains_key(run) => continue,
            "JobTriggered" => {
                let story = RunStory {
                    nominal: event.nominal(),
                    attempts: Vec::new(),
                    end: None,
                    retry_at: None,
                    moved_at: event.at,
                };
                if runs.insert(run.to_owned(), story).is_some() {
                    judgement.breach("P3", &record.label, event.nominal(), format!("run {run} was triggered twice"));
                }
                continue;
            }
            _ => {}
        }
        let Some(story) = runs.get_mut(run) else {
            judgement.breach(
                "P2",
                &record.label,
                None,
                format!("{} of run {run}, which was never triggered", event.kind),
            );
            continue;
        };
        if let Some(end) = story.end {
            judgement.breach(
                "P7",
                &record.label,
                story.nominal,
                format!("{} of run {run}, which had ended as {end}", event.kind),
            );
        }
        if event.kind == "JobStarted" {
            let token = event.data["token"].as_u64().unwrap_or(0);
            if token <= latest_token {
                judgement.breach(
                    "P4",
                    &record.label,
                    story.nominal,
                    format!("fence {token} of run {run} after {latest_token}"),
                );
            }
            latest_token = token;
        }
        story.moved_at = event.at;
        step(job, record, run, story, event, judgement);
    }
    for (run, story) in &runs {
        if story.end.is_none() && story.moved_at + UNFINISHED_MS < record.read_at {
            judgement.breach("P11", &record.label, story.nominal, format!("run {run} never ended: {story:?}"));
        }
    }
    runs
}

fn step(
    job: &OrderedJob,
    record: &JobRecord,
    run: &str,
    story: &mut RunStory,
    event: &StreamEvent,
    judgement: &mut Judgement,
) {
    let mut breach =
        |property, what: String| judgement.breach(property, &record.label, story.nominal, format!("run {run}: {what}"));
    match event.kind.as_str() {
        "JobStarted" => {
            let (attempt, token) = (event.attempt().unwrap_or(0), event.data["token"].as_u64().unwrap_or(0));
            if story.attempts.last().is_some_and(|last| last.settled.is_none()) {
                breach("P4", format!("attempt {attempt} was started while another had not been settled"));
            }
            if attempt as usize != story.attempts.len() + 1 {
                breach("P8", format!("attempt {attempt} comes after {} others", story.attempts.len()));
            }
            // One that was given back without having been begun does not count.
            let begun = story.attempts.iter().filter(|before| !before.is_returned()).count() + 1;
            if begun > job.plan.max_attempts as usize {
                breach(
                    "P8",
                    format!("attempt {attempt}, of which {begun} count, {} are allowed", job.plan.max_attempts),
                );
            }
            if story.retry_at.is_some_and(|at| event.at < at) {
                breach("P8", format!("attempt {attempt} was started before its backoff was over"));
            }
            story.attempts.push(RecordedAttempt { attempt, token, at: event.at, settled: None });
        }
        "JobExecuted" | "JobFailed" | "RunReturned" => {
            let last = story.attempts.last_mut();
            match last.filter(|last| event.attempt().is_none_or(|attempt| attempt == last.attempt)) {
                Some(last) => last.settled = Some((event.version, event.kind.clone())),
                // An attempt that was never started fails where no executor could take it.
                None if event.kind == "JobFailed" => {}
                None => {
                    breach("P4", format!("{} of attempt {:?}, which is not the latest", event.kind, event.attempt()));
                }
            }
            let tried = story.attempts.iter().filter(|attempt| !attempt.is_returned()).count();
            if let Some(waits) =
                event.retry_at().map(|at| at - event.at).filter(|waits| tried > 0 && *waits != backoff_ms(tried))
            {
                breach("P8", format!("after {tried} tries it waits {waits} ms, it should {} ms", backoff_ms(tried)));
            }
            story.retry_at = event.retry_at().or_else(|| moment(&event.data["until"]));
        }
        "RunCancelled" | "RunExpired" => {
            if let Some(last) = story.attempts.last_mut() {
                last.settled = Some((event.version, event.kind.clone()));
            }
        }
        _ => {}
    }
    if event.is_terminal() {
        story.end = Some(match event.kind.as_str() {
            "JobExecuted" => "completed",
            "RunCancelled" => "cancelled",
            "JobFailed" => "failed",
            _ => "skipped",
        });
    }
}

/// How long a job of this trial waits after so many tries, by what was asked for: each time twice as long. None waits as long
/// as Ordo lets a job wait at most.
fn backoff_ms(tried: usize) -> i64 {
    BACKOFF_MS << tried.saturating_sub(1).min(16)
}

/// What was shown once is what is shown at the end.
pub(super) fn judge_seen(run: &str, seen: &str, story: Option<&RunStory>, judgement: &mut Judgement) {
    match story {
        Some(story) if story.end == Some(seen) => {}
        Some(story) => {
            judgement.breach("P7", "-", story.nominal, format!("run {run} was seen {seen} and is {:?} now", story.end));
        }
        // What led to no run is shown as one that was skipped.
        None if seen == "skipped" => {}
        None => judgement.breach("P9", "-", None, format!("run {run} was seen {seen} and is gone")),
    }
}
