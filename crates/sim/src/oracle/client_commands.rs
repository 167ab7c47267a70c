//! What was asked and answered, against what the log shows of it.
//!
//! Invariant: what was acknowledged took effect; what was refused did not; what was not answered took effect as a
//! whole or not at all.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::job::{Cause, Definition, Event, Trigger};
use ordo_model::schedule::Rule;
use ordo_model::{JobId, RunId};

use super::occurrences::OraclePhase;
use super::{Ruling, require};
use crate::record::history::{ClientCommand, Reply};

#[derive(Debug, Default)]
pub(super) struct ClientCommands {
    open: BTreeMap<u32, (JobId, ClientCommand, i64)>,
    /// Markers that must never show.
    refused: BTreeSet<(JobId, String)>,
    seen: BTreeMap<(JobId, String), i64>,
    labels: BTreeMap<String, JobId>,
    created: BTreeMap<JobId, (Definition, bool)>,
    /// When a job was last seen in a phase, by `mono`.
    phases: BTreeMap<JobId, Vec<(i64, OraclePhase)>>,
}

impl ClientCommands {
    pub(super) fn asked(&mut self, op: u32, job: JobId, client_command: &ClientCommand, mono: i64) {
        if let ClientCommand::Create { definition, held, .. } = client_command {
            self.created.insert(job, ((**definition).clone(), *held));
        }
        self.open.insert(op, (job, client_command.clone(), mono));
    }

    pub(super) fn answered(&mut self, op: u32, reply: &Reply, mono: i64) -> Ruling {
        let (job, client_command, since) = self.open.remove(&op).ok_or("an answer to nothing")?;
        match reply {
            Reply::Unknown => Ok(()),
            Reply::Done => {
                let found = self.took_effect(job, &client_command, since, mono);
                require(found, || format!("op {op} was acknowledged and is lost: {client_command:?} on {job}"))
            }
            Reply::Duplicate(by) => {
                let ClientCommand::Create { marker, .. } = &client_command else {
                    return Err("only creations bear a key".into());
                };
                let found = self.labels.get(marker) == Some(by);
                require(found, || format!("op {op}: said to be done before by {by}, which is not in the log"))
            }
            Reply::Refused(why) => {
                let shown =
                    client_command.marker().is_some_and(|marker| self.seen.contains_key(&(job, marker.clone())));
                self.refused.extend(client_command.marker().map(|marker| (job, marker.clone())));
                require(!shown, || format!("op {op} was refused ({why}) and took effect all the same"))
            }
        }
    }

    fn took_effect(&self, job: JobId, client_command: &ClientCommand, since: i64, mono: i64) -> bool {
        let shown = |marker: &String| self.seen.contains_key(&(job, marker.clone()));
        let fresh = |marker: String| self.seen.get(&(job, marker)).is_some_and(|at| *at >= since);
        match client_command {
            ClientCommand::Create { marker, .. } => self.labels.get(marker) == Some(&job),
            ClientCommand::Update { marker } => shown(marker),
            ClientCommand::Pause { marker } => shown(marker) || self.was(job, OraclePhase::Paused, since, mono),
            ClientCommand::Resume => self.was(job, OraclePhase::Active, since, mono),
            ClientCommand::Cancel { marker } => shown(marker) || self.was(job, OraclePhase::Cancelled, since, mono),
            ClientCommand::Trigger { marker } => shown(marker) || fresh("manual skip".into()),
            ClientCommand::Backfill { from, .. } => fresh(format!("backfill {from}")),
            ClientCommand::CancelRun { run, marker } => shown(marker) || shown(&format!("cancel of {run}")),
            ClientCommand::RetryRun { run } => fresh(format!("retry of {run}")),
        }
    }

    /// Whether the job was in that phase at some time between.
    fn was(&self, job: JobId, phase: OraclePhase, since: i64, until: i64) -> bool {
        let Some(phases) = self.phases.get(&job) else { return false };
        let ends = phases.iter().skip(1).map(|(at, _)| *at).chain([i64::MAX]);
        phases.iter().zip(ends).any(|((begin, was), end)| *was == phase && *begin <= until && end >= since)
    }

    pub(super) fn in_phase(&mut self, job: JobId, phase: OraclePhase, mono: i64) {
        self.phases.entry(job).or_default().push((mono, phase));
    }

    /// Notes what an event shows of an ask.
    pub(super) fn logged(&mut self, job: JobId, event: &Event, mono: i64) -> Ruling {
        match event {
            Event::JobScheduled { definition, held, .. } => return self.created(job, definition, *held),
            Event::JobUpdated { definition, .. } => self.see_all(job, definition.description.clone(), mono),
            Event::JobPaused { reason } | Event::JobCancelled { reason } => self.see_all(job, reason.clone(), mono),
            Event::JobTriggered { cause, tool_input, .. } => {
                let by = tool_input.as_ref().and_then(|input| input["by"].as_str()).map(str::to_owned);
                self.see_all(job, by.filter(|_| *cause == Cause::Manual), mono);
                self.see_all(job, retry_of(cause), mono);
            }
            Event::JobSkipped { cause, .. } => {
                self.see_all(job, (*cause == Cause::Manual).then(|| "manual skip".into()), mono);
                self.see_all(job, retry_of(cause), mono);
            }
            Event::RunCancelled { run_id, reason } | Event::RunCancelRequested { run_id, reason } => {
                self.see_all(job, [reason.clone(), format!("cancel of {run_id}")], mono);
            }
            Event::BackfillRequested { from, .. } => self.see_all(job, [format!("backfill {}", from.ms())], mono),
            Event::JobResumed { .. }
            | Event::JobStarted { .. }
            | Event::JobExecuted { .. }
            | Event::JobFailed { .. }
            | Event::RunReady { .. }
            | Event::RunReturned { .. }
            | Event::RunExpired { .. }
            | Event::RunBroadcast { .. }
            | Event::ShardTriggered { .. }
            | Event::RunOrphaned { .. }
            | Event::AttemptExtended { .. }
            | Event::ClockStepped { .. }
            | Event::HistoryTrimmed { .. }
            | Event::JobFollowed {}
            | Event::UpstreamEnded { .. }
            | Event::Published { .. } => {}
        }
        Ok(())
    }

    fn see_all(&mut self, job: JobId, markers: impl IntoIterator<Item = String>, mono: i64) {
        for marker in markers {
            self.seen.insert((job, marker), mono);
        }
    }

    fn created(&mut self, job: JobId, definition: &Definition, held: bool) -> Ruling {
        let before = self.labels.insert(definition.label.clone(), job);
        require(before.is_none(), || format!("{} was created twice, as {before:?} and {job}", definition.label))?;
        let (asked, asked_held) = self.created.get(&job).ok_or_else(|| format!("nobody asked for {job}"))?;
        require(same(asked, definition) && *asked_held == held, || format!("{job} is not as it was asked for"))
    }

    /// Refused markers that show in the log after all.
    pub(super) fn close(&self) -> Vec<String> {
        let shown = self.refused.iter().filter(|refused| self.seen.contains_key(refused));
        shown.map(|(job, marker)| format!("{marker} on {job} was refused and took effect later")).collect()
    }
}

fn retry_of(cause: &Cause) -> Option<String> {
    match cause {
        Cause::Retry { of, .. } => Some(retry_marker(*of)),
        Cause::Schedule { .. }
        | Cause::Manual
        | Cause::Backfill { .. }
        | Cause::Webhook { .. }
        | Cause::After { .. } => None,
    }
}

fn retry_marker(run: RunId) -> String {
    format!("retry of {run}")
}

/// As asked, but for the start that an interval is given when it is created.
fn same(asked: &Definition, logged: &Definition) -> bool {
    let mut asked = asked.clone();
    if let (Trigger::Scheduled(asked), Trigger::Scheduled(logged)) = (&mut asked.trigger, &logged.trigger)
        && matches!(asked.rule, Rule::Every { .. })
        && asked.start.is_none()
    {
        asked.start = logged.start;
    }
    asked == *logged
}

impl ClientCommand {
    fn marker(&self) -> Option<&String> {
        match self {
            ClientCommand::Create { .. }
            | ClientCommand::Resume
            | ClientCommand::Backfill { .. }
            | ClientCommand::RetryRun { .. } => None,
            ClientCommand::Update { marker }
            | ClientCommand::Pause { marker }
            | ClientCommand::Cancel { marker }
            | ClientCommand::Trigger { marker }
            | ClientCommand::CancelRun { marker, .. } => Some(marker),
        }
    }
}
