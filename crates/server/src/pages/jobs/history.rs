//! What happened to a job: the last events of its stream, as sentences.

use ordo_engine::actor::actor_of;
use ordo_model::job::{Cause, Event, Job};
use ordo_model::moment::step_in_words;
use ordo_model::{ActorSource, Timestamp};
use ordo_store::{Fault, StoredEvent as Stored};
use serde_json::Value;

use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::{Times, relative};
use crate::pages::layout::shell::queries;
use crate::pages::runs::outcome::{occurrences, shortened};

#[derive(Debug, Clone)]
pub(crate) struct HistoryEntry {
    pub(crate) version: u64,
    pub(crate) at: Html,
    pub(crate) kind: String,
    /// The class that gives it colour.
    pub(crate) class: &'static str,
    pub(crate) text: String,
    /// Empty for what Ordo does by itself: that goes without saying.
    pub(crate) who: String,
    pub(crate) href: Option<String>,
}

/// The last so many, newest first.
pub(crate) async fn read(ctx: &PageContext, job: &Job, times: &Times, count: u64) -> Result<Vec<HistoryEntry>, Fault> {
    let from = job.version.saturating_sub(count.saturating_sub(1)).max(1);
    let (stored, _) = queries(ctx).history(job.id.into(), from, usize::try_from(count).unwrap_or(usize::MAX)).await?;
    stored.iter().rev().map(|event| entry(ctx, event, times)).collect()
}

fn entry(ctx: &PageContext, stored: &Stored, times: &Times) -> Result<HistoryEntry, Fault> {
    let described = event_of(stored).map(|event| (describe(&event, stored.at), class(&event), run_of(&event)));
    let (text, class, run) = described.unwrap_or_else(|| ("earlier events were folded into one".into(), "quiet", None));
    let actor = actor_of(stored)?;
    Ok(HistoryEntry {
        version: stored.version,
        at: times.short(stored.at),
        kind: stored.kind.clone(),
        class,
        text,
        who: if actor.source == ActorSource::Ordo { String::new() } else { actor.to_string() },
        href: run.map(|run| ctx.link(&format!("/runs/{run}"))),
    })
}

/// None for a checkpoint, and for what a later version wrote.
pub(crate) fn event_of(stored: &Stored) -> Option<Event> {
    let data: Value = serde_json::from_slice(&stored.data).ok()?;
    serde_json::from_value(serde_json::json!({ "type": stored.kind, "data": data })).ok()
}

pub(crate) fn describe(event: &Event, at: Timestamp) -> String {
    let because = |reason: &Option<String>| reason.as_ref().map_or_else(String::new, |text| format!(": {text}"));
    match event {
        Event::JobScheduled { held: true, .. } => "created, held".to_owned(),
        Event::JobScheduled { .. } => "created".to_owned(),
        Event::JobUpdated { .. } => "changed".to_owned(),
        Event::JobPaused { reason } => format!("paused{}", because(reason)),
        Event::JobResumed { .. } => "resumed".to_owned(),
        Event::JobCancelled { reason } => format!("cancelled{}", because(reason)),
        Event::JobTriggered { cause, timeliness, .. } => {
            let late = if timeliness.is_on_time() { "" } else { ", late" };
            match cause {
                Cause::Schedule { .. } => format!("fired by its schedule{late}"),
                Cause::Manual => "triggered by hand".to_owned(),
                Cause::Backfill { .. } => "fired by a backfill".to_owned(),
                Cause::Retry { .. } => "run again by hand".to_owned(),
                Cause::Webhook { .. } => "triggered by a webhook".to_owned(),
                Cause::After { .. } => "triggered by the end of another job".to_owned(),
            }
        }
        Event::JobStarted { attempt, executor, .. } => format!("attempt {attempt} given to {}", executor.executor),
        Event::JobExecuted { attempt, .. } => format!("attempt {attempt} completed"),
        Event::JobFailed { attempt, reason, retry_at, .. } => {
            let again =
                retry_at.map_or_else(String::new, |retry| format!("; next try {}", relative(retry.ms() - at.ms())));
            format!("attempt {attempt} failed: {}{again}", shortened(reason, 160))
        }
        Event::JobSkipped { reason, gap, .. } => {
            let count = gap.map_or_else(String::new, |gap| format!(", {}", occurrences(gap.count)));
            format!("skipped: {}{count}", reason.name().replace('_', " "))
        }
        Event::RunReady { .. } => "ready for the next attempt".to_owned(),
        Event::RunCancelRequested { reason, .. } => format!("cancelled: {}", shortened(reason, 160)),
        Event::RunCancelled { reason, .. } => format!("cancelled: {}", shortened(reason, 160)),
        Event::RunReturned { reason, .. } => format!("given back{}", because(reason)),
        Event::RunExpired { .. } => "given up: no executor took it in time".to_owned(),
        Event::RunBroadcast { total, .. } => format!("shared by {total} executors"),
        Event::ShardTriggered { index, executor, .. } => format!("shard {index} meant for {}", executor.executor),
        Event::RunOrphaned { .. } => "its executor is gone".to_owned(),
        Event::AttemptExtended { .. } => "its timeout starts over after a restart of the server".to_owned(),
        Event::ClockStepped { by_ms, .. } => format!("the wall clock was set {}", step_in_words(*by_ms)),
        Event::BackfillRequested { from, to, .. } => format!("backfill from {from} to {to}"),
        Event::HistoryTrimmed { runs, .. } => format!("{runs} old runs forgotten"),
        Event::JobFollowed {} => "another job now follows it".to_owned(),
        Event::UpstreamEnded { end } => format!("{} ended: {}; still waiting for others", end.label, end.status),
        Event::Published { .. } => "published to notifications and followers".to_owned(),
    }
}

pub(crate) fn class(event: &Event) -> &'static str {
    match event {
        Event::JobExecuted { .. } => "completed",
        Event::JobFailed { .. } | Event::RunOrphaned { .. } => "failed",
        Event::JobCancelled { .. } | Event::RunCancelled { .. } | Event::RunCancelRequested { .. } => "cancelled",
        Event::JobSkipped { .. } | Event::JobPaused { .. } | Event::RunExpired { .. } => "skipped",
        Event::JobStarted { .. } => "running",
        Event::JobScheduled { .. }
        | Event::JobUpdated { .. }
        | Event::JobResumed { .. }
        | Event::JobTriggered { .. }
        | Event::RunReady { .. }
        | Event::RunReturned { .. }
        | Event::RunBroadcast { .. }
        | Event::ShardTriggered { .. }
        | Event::AttemptExtended { .. }
        | Event::ClockStepped { .. }
        | Event::BackfillRequested { .. }
        | Event::HistoryTrimmed { .. }
        | Event::JobFollowed {}
        | Event::UpstreamEnded { .. }
        | Event::Published { .. } => "quiet",
    }
}

/// The run that an event is about.
pub(crate) fn run_of(event: &Event) -> Option<ordo_model::RunId> {
    match event {
        Event::JobTriggered { run_id, .. }
        | Event::JobStarted { run_id, .. }
        | Event::JobExecuted { run_id, .. }
        | Event::JobFailed { run_id, .. }
        | Event::JobSkipped { run_id, .. }
        | Event::RunReady { run_id }
        | Event::RunReturned { run_id, .. }
        | Event::RunExpired { run_id }
        | Event::RunBroadcast { run_id, .. }
        | Event::ShardTriggered { run_id, .. }
        | Event::RunCancelRequested { run_id, .. }
        | Event::RunCancelled { run_id, .. }
        | Event::RunOrphaned { run_id, .. }
        | Event::AttemptExtended { run_id, .. } => Some(*run_id),
        Event::JobScheduled { .. }
        | Event::JobUpdated { .. }
        | Event::JobPaused { .. }
        | Event::JobResumed { .. }
        | Event::JobCancelled { .. }
        | Event::ClockStepped { .. }
        | Event::BackfillRequested { .. }
        | Event::HistoryTrimmed { .. }
        | Event::JobFollowed {}
        | Event::UpstreamEnded { .. }
        | Event::Published { .. } => None,
    }
}
