//! Submissions: rows that other programs inserted with SQL become commands, and the rows learn what came of it.
//!
//! Invariant: a row's command is carried out once. Its id is claimed in the command's own commit: a node that dies before it
//! has written the outcome down, or is overtaken by another, leaves a claim by which the next one knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use ordo_model::job::{Command, Definition, Job, JobState, OnConflict, Refusal};
use ordo_model::limits::{
    SUBMISSION_CLAIM, SUBMISSION_KEPT, SUBMISSION_REFUSED_KEPT, SUBMISSION_REMEMBERED, SUBMISSION_SWEEP_EVERY,
    SUBMISSION_TOOL_TRIES, SUBMISSIONS_TAKEN,
};
use ordo_model::submission::{SubmittedOrder, once_key, pause};
use ordo_model::{Actor, ActorSource, JobId, RunId, Timestamp};
use ordo_store::{Fault, SubmissionOutcome, SubmittedRow};
use serde_json::Value;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::commit::batcher::chain;
use crate::commit::command::SubmitError;
use crate::commit::encoding::actor::encode_actor;
use crate::commit::job_command::{Claim, JobReply, Request};
use crate::engine::Engine;
use crate::read::job_list::{JobFilter, JobQuery};
use crate::read::metrics::Metrics;
use crate::run::tool_check::ToolRefusal;
use crate::time::clock::new_id;

/// Before the ids in the value of a submission's claim: a unique key's value has none.
const TAG: u8 = b's';
/// How many settled rows are forgotten at once.
const FORGOTTEN_AT_ONCE: usize = 1_000;
/// How many pages of jobs of one label are looked through for one that is not over.
const LABEL_PAGES: usize = 10;

/// Takes submissions when there is word of some, and now and then without.
pub(super) async fn run(engine: Engine, wake: Arc<Notify>) {
    let mut every = tokio::time::interval(SUBMISSION_SWEEP_EVERY.to_std());
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = wake.notified() => {}
        }
        loop {
            match engine.take_submissions().await {
                // There may be more than one pass takes.
                Ok(taken) if taken == SUBMISSIONS_TAKEN => {}
                Ok(_) => break,
                Err(fault) => {
                    tracing::warn!(error = %chain(&fault), "submissions could not be taken; trying again");
                    break;
                }
            }
        }
    }
}

/// A row on its way to its command.
struct PreparedSubmission {
    row: SubmittedRow,
    request: Request,
    unique: Option<ClaimedUnique>,
}

/// The unique key of a row in words, what to do if somebody has it, and whether it is one of a run.
struct ClaimedUnique {
    key: String,
    on_conflict: OnConflict,
    is_run: bool,
}

/// What is found out about a row before its command is given.
enum Consideration {
    Ready(Box<PreparedSubmission>),
    Over(SubmissionOutcome),
}

impl Engine {
    /// One pass: takes what waits, up to a limit, and carries it out. Returns how many it took.
    pub async fn take_submissions(&self) -> Result<usize, Fault> {
        let store = self.shared.queries.store().clone();
        let Some(queue) = store.submissions() else { return Ok(0) };
        let rows = queue.take(SUBMISSION_CLAIM, SUBMISSIONS_TAKEN).await?;
        let taken = rows.len();
        let engine = self.by_itself();
        // What is to run may be what the same transaction adds.
        let (new, runs): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_new_job);
        for rows in [new, runs] {
            let outcomes = engine.carry_out(rows).await?;
            engine.announce(&outcomes);
            let settled: Vec<(Uuid, SubmissionOutcome)> =
                outcomes.into_iter().map(|(row, outcome)| (row.id, outcome)).collect();
            if !settled.is_empty() {
                queue.settle(&settled).await?;
            }
        }
        Ok(taken)
    }

    pub(super) async fn forget_submissions(&self) -> Result<(), Fault> {
        match self.shared.queries.store().submissions() {
            Some(queue) => queue.forget(SUBMISSION_KEPT, SUBMISSION_REFUSED_KEPT, FORGOTTEN_AT_ONCE).await.map(drop),
            None => Ok(()),
        }
    }

    async fn carry_out(&self, rows: Vec<SubmittedRow>) -> Result<Vec<(SubmittedRow, SubmissionOutcome)>, Fault> {
        let mut labels = BTreeMap::new();
        let (mut outcomes, mut considered) = (Vec::new(), Vec::new());
        for row in rows {
            match self.consider(&row, &mut labels).await? {
                Consideration::Ready(ready) => considered.push(*ready),
                Consideration::Over(outcome) => outcomes.push((row, outcome)),
            }
        }
        let mut requests = Vec::with_capacity(considered.len());
        let mut asked = Vec::with_capacity(considered.len());
        for PreparedSubmission { row, request, unique } in considered {
            asked.push((row, request.job_id, unique));
            requests.push(request);
        }
        for ((row, job, unique), reply) in asked.into_iter().zip(self.send_signed(requests).await) {
            // Without an outcome the row comes again when its claim ends.
            if let Some(outcome) = self.outcome(&row, job, unique, reply).await? {
                outcomes.push((row, outcome));
            }
        }
        Ok(outcomes)
    }

    async fn consider(&self, row: &SubmittedRow, labels: &mut LabelledJobs) -> Result<Consideration, Fault> {
        let now = self.shared.clock.now();
        let over = |outcome| Ok(Consideration::Over(outcome));
        if row.tries > 1
            && let Some(done) = self.done_before(row.id, now).await?
        {
            return over(done);
        }
        if now.since(row.taken_at) >= SUBMISSION_REMEMBERED {
            return over(refused(
                "a node took it and did not say what came of it, too long ago to find out: look whether its job is there, and submit it anew if not",
            ));
        }
        let order = match row.form.clone().map(|form| form.order(row.submitted_at, now)) {
            Ok(Ok(order)) => order,
            Ok(Err(invalid)) => return over(refused(invalid.to_string())),
            Err(unreadable) => return over(refused(unreadable)),
        };
        let (job, command, definition, input) = match order {
            SubmittedOrder::Schedule { definition, held } => {
                let input = definition.tool_input.clone();
                let command = Command::Schedule { definition: definition.clone(), held };
                (JobId(new_id()), command, Arc::new(*definition), Some(input))
            }
            SubmittedOrder::Run { label, input } => {
                let found = self.labelled(label, labels).await?;
                let job = match found {
                    Ok(job) => job,
                    Err(reason) => return over(refused(reason)),
                };
                (job.id, Command::Enqueue { tool_input: input.clone() }, job.definition.clone(), input)
            }
        };
        if let Some(input) = &input
            && let Err(refusal) = self.check_tool(&definition, input).await
        {
            return over(self.misfit(row, refusal));
        }
        Ok(Consideration::Ready(Box::new(self.ready(row, job, command, &definition, input.as_ref(), now))))
    }

    fn ready(
        &self,
        row: &SubmittedRow,
        job: JobId,
        command: Command,
        definition: &Definition,
        input: Option<&Value>,
        now: Timestamp,
    ) -> PreparedSubmission {
        let is_run = matches!(command, Command::Enqueue { .. });
        let value = std::iter::once(TAG).chain(*job.0.as_bytes()).collect();
        let until = now.plus(SUBMISSION_REMEMBERED);
        let mut claims = vec![Claim { key: once_key(row.id), until, value, names_run: is_run }];
        let unique = definition.unique_key.as_ref().map(|unique| {
            let input = input.unwrap_or(&definition.tool_input);
            let (claim, words) = match is_run {
                true => Claim::of_unique_run(unique, &definition.label, input, job, now),
                false => Claim::of_unique_job(unique, &definition.label, input, job, now),
            };
            claims.push(claim);
            ClaimedUnique { key: words, on_conflict: unique.on_conflict, is_run }
        });
        let actor = encode_actor(&Actor::new(row.submitted_by.clone(), ActorSource::Sql));
        PreparedSubmission {
            row: row.clone(),
            request: Request { claims, actor, ..Request::new(job, command) },
            unique,
        }
    }

    /// What an earlier try came to.
    async fn done_before(&self, id: Uuid, now: Timestamp) -> Result<Option<SubmissionOutcome>, Fault> {
        let value = self.shared.queries.store().dedup(&once_key(id), now).await?;
        value
            .map(|value| claimed(&value).ok_or_else(|| Fault::damaged("a claim of a submission cannot be read")))
            .transpose()
    }

    /// A tool that nobody offers may be on its way: whoever offers it is being restarted.
    fn misfit(&self, row: &SubmittedRow, refusal: ToolRefusal) -> SubmissionOutcome {
        match refusal {
            ToolRefusal::UnknownTool(reason) if row.tries < SUBMISSION_TOOL_TRIES => postponed(row, reason),
            refusal => refused(refusal.to_string()),
        }
    }

    async fn outcome(
        &self,
        row: &SubmittedRow,
        job: JobId,
        unique: Option<ClaimedUnique>,
        reply: JobReply,
    ) -> Result<Option<SubmissionOutcome>, Fault> {
        Ok(Some(match reply {
            Ok(accepted) => {
                let run = accepted.run_begun().map(|run| run.id);
                SubmissionOutcome::Accepted { job, run }
            }
            Err(SubmitError::Duplicate(value)) => match claimed(&value) {
                Some(done) => done,
                None => match self.done_before(row.id, self.shared.clock.now()).await? {
                    Some(done) => done,
                    None => taken(job, unique, &value)?,
                },
            },
            Err(
                error @ (SubmitError::Refused(Refusal::QueueFull) | SubmitError::Contended | SubmitError::Overloaded),
            ) => postponed(row, error.to_string()),
            Err(SubmitError::Refused(refusal)) => refused(refusal.to_string()),
            Err(SubmitError::Stopped) => return Ok(None),
            Err(SubmitError::Store(fault)) => {
                tracing::warn!(submission = %row.id, error = %chain(fault.as_ref()), "a submission could not be written; it is tried again");
                return Ok(None);
            }
        }))
    }

    /// The one job of a label that is not over.
    async fn labelled<'a>(&self, label: String, known: &'a mut LabelledJobs) -> Result<Result<&'a Job, String>, Fault> {
        if !known.contains_key(&label) {
            let found = self.shared.queries.live_jobs(&label, 2).await?;
            known.insert(label.clone(), only(&label, found));
        }
        Ok(known.get(&label).map_or_else(|| Err(no_job(&label)), |found| found.as_ref().map_err(Clone::clone)))
    }

    fn announce(&self, outcomes: &[(SubmittedRow, SubmissionOutcome)]) {
        for (row, outcome) in outcomes {
            let (submission, by, tries) = (row.id, &row.submitted_by, row.tries);
            match outcome {
                SubmissionOutcome::Accepted { job, .. } => {
                    Metrics::count(&self.shared.metrics.submissions_accepted);
                    tracing::debug!(%submission, by, job_id = %job, "a submission was accepted");
                }
                SubmissionOutcome::Refused { reason } => {
                    Metrics::count(&self.shared.metrics.submissions_refused);
                    tracing::warn!(%submission, by, reason, "a submission was refused");
                }
                SubmissionOutcome::Postponed { reason, .. } => {
                    tracing::debug!(%submission, by, reason, tries, "a submission has to wait");
                }
            }
        }
    }
}

type LabelledJobs = BTreeMap<String, Result<Job, String>>;

impl crate::read::queries::Queries {
    /// Jobs of this label that are not over, the oldest first; at most so many.
    pub async fn live_jobs(&self, label: &str, limit: usize) -> Result<Vec<Job>, Fault> {
        let mut found = Vec::new();
        for state in [JobState::Active, JobState::Paused, JobState::Held] {
            let filter = JobFilter { label: Some(label.to_owned()), state: Some(state), ..JobFilter::default() };
            let mut query = JobQuery { filter, limit, ..JobQuery::default() };
            for _ in 0..LABEL_PAGES {
                let page = self.jobs(&query).await?;
                found.extend(page.items);
                match page.next {
                    Some(next) if found.len() < limit => query.after = Some(next),
                    Some(_) | None => break,
                }
            }
        }
        found.sort_by_key(|job| job.id);
        found.truncate(limit);
        Ok(found)
    }
}

fn is_new_job(row: &SubmittedRow) -> bool {
    row.form.as_ref().is_ok_and(|form| form.job.is_some() || form.tool.is_some())
}

fn only(label: &str, mut found: Vec<Job>) -> Result<Job, String> {
    match (found.pop(), found.is_empty()) {
        (Some(job), true) => Ok(job),
        (Some(_), false) => Err(format!("several jobs are called {label:?}: give all but one another label")),
        (None, _) => Err(no_job(label)),
    }
}

fn no_job(label: &str) -> String {
    format!("no job is called {label:?}: add it first, or give a tool for a new one")
}

fn refused(reason: impl Into<String>) -> SubmissionOutcome {
    SubmissionOutcome::Refused { reason: reason.into() }
}

fn postponed(row: &SubmittedRow, reason: String) -> SubmissionOutcome {
    SubmissionOutcome::Postponed { reason, pause: pause(row.tries) }
}

/// The job, and the run if there is one, that a submission's claim names. None: it is not a submission's.
fn claimed(value: &[u8]) -> Option<SubmissionOutcome> {
    if value.len() == 16 {
        return None;
    }
    let (tag, ids) = value.split_first()?;
    let (job, run) = ids.split_first_chunk::<16>()?;
    let run = match run {
        [] => None,
        run => Some(RunId(Uuid::from_slice(run).ok()?)),
    };
    (*tag == TAG).then_some(SubmissionOutcome::Accepted { job: JobId(Uuid::from_bytes(*job)), run })
}

/// Somebody has the unique key.
fn taken(job: JobId, unique: Option<ClaimedUnique>, value: &[u8]) -> Result<SubmissionOutcome, Fault> {
    let (Some(ClaimedUnique { key, on_conflict, is_run }), Ok(first)) = (unique, Uuid::from_slice(value)) else {
        return Err(Fault::damaged("a remembered key cannot be read"));
    };
    Ok(match (on_conflict, is_run) {
        (OnConflict::Refuse, true) => refused(format!("run {first} has the unique key {key}")),
        (OnConflict::Refuse, false) => refused(format!("job {first} has the unique key {key}")),
        (OnConflict::Merge, true) => SubmissionOutcome::Accepted { job, run: Some(RunId(first)) },
        (OnConflict::Merge, false) => SubmissionOutcome::Accepted { job: JobId(first), run: None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_of_a_submission_says_what_it_came_to_and_a_unique_key_does_not() {
        let (job, run) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let value = |parts: &[&[u8]]| parts.concat();
        let accepted = |run| Some(SubmissionOutcome::Accepted { job: JobId(job), run });
        assert_eq!(claimed(&value(&[b"s", job.as_bytes()])), accepted(None));
        assert_eq!(claimed(&value(&[b"s", job.as_bytes(), run.as_bytes()])), accepted(Some(RunId(run))));
        assert_eq!(claimed(job.as_bytes()), None);
        assert_eq!(claimed(&value(&[b"s", job.as_bytes(), b"half"])), None);
        assert_eq!(claimed(b""), None);
    }
}
