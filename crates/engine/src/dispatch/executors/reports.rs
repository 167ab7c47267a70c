//! What remote executors report: checked against the attempt they had, bounded like everything that runs here.

use ordo_model::executor::Speaker;
use ordo_model::job::{AttemptReport, Command, Refusal};
use ordo_model::limits::NACK_DELAY_MAX;
use ordo_model::{FencingToken, Millis, RunId};
use ordo_store::Fault;
use serde_json::Value;
use std::sync::Arc;

use super::run_lease::RunLease;
use crate::commit::change::StartedAttempt;
use crate::commit::command::SubmitError;
use crate::commit::job_command::Request;
use crate::engine::Engine;
use crate::run::result;

/// What an executor says about an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteReport {
    pub run_id: RunId,
    pub token: FencingToken,
    pub status: RemoteStatus,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RemoteStatus {
    Completed {
        result: Value,
    },
    Failed {
        reason: String,
    },
    /// Ended because it was cancelled.
    Cancelled,
    /// Given back without having been begun.
    Nack {
        delay: Millis,
        reason: Option<String>,
    },
}

/// Why a report changed nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReportError {
    #[error("there is no such run")]
    NoSuchRun,
    #[error("the attempt is no longer the current one: stop it")]
    Stale,
    #[error("the delay is longer than {NACK_DELAY_MAX}")]
    DelayTooLong,
    #[error(transparent)]
    Submit(SubmitError),
    #[error("{0}")]
    Store(Arc<Fault>),
}

impl Engine {
    /// Takes reports in. Each is answered for itself, when its effect is durable; whoever has the answer has the attempt no more.
    pub async fn report(&self, speaker: Speaker, reports: Vec<RemoteReport>) -> Vec<Result<(), ReportError>> {
        self.host_holders(speaker, reports.iter().map(|report| report.run_id)).await;
        let mut waiting = Vec::with_capacity(reports.len());
        for report in reports {
            let attempt = (report.run_id, report.token);
            let prepared = self.prepare(speaker, report).await;
            waiting.push(prepared.map(|request| (attempt, self.queue(request))));
        }
        let mut answers = Vec::with_capacity(waiting.len());
        for one in waiting {
            answers.push(match one {
                Ok(((run_id, token), answer)) => {
                    let answer = settled(answer.await.unwrap_or(Err(SubmitError::Stopped)));
                    if answer.is_ok() {
                        self.registry().reported(run_id, token);
                    }
                    answer
                }
                Err(error) => Err(error),
            });
        }
        answers
    }

    async fn prepare(&self, speaker: Speaker, report: RemoteReport) -> Result<Request, ReportError> {
        let RemoteReport { run_id, token, status } = report;
        let RunLease { job_id, since, mask, .. } = self.who_has(speaker, run_id, token).await?;
        let report = match status {
            RemoteStatus::Completed { result } => {
                let kept = result::bounded(self.batcher(), run_id, since, mask.value_aside(result).await).await;
                kept.map_err(ReportError::Store)?
            }
            RemoteStatus::Failed { reason } => {
                AttemptReport::Failed { started_at: Some(since), reason: mask.text(&reason).into_owned() }
            }
            RemoteStatus::Cancelled => AttemptReport::Cancelled { started_at: Some(since) },
            RemoteStatus::Nack { delay, .. } if delay > NACK_DELAY_MAX => return Err(ReportError::DelayTooLong),
            RemoteStatus::Nack { delay, reason } => {
                AttemptReport::Nack { delay, reason: reason.map(|reason| mask.text(&reason).into_owned()) }
            }
        };
        Ok(Request::new(job_id, Command::Report { run_id, token, report }))
    }

    /// The attempt as it is in the leases of an executor that whoever reports may speak for. A stale one is refused
    /// before its result is stored, and so is one of somebody else.
    async fn who_has(&self, speaker: Speaker, run_id: RunId, token: FencingToken) -> Result<RunLease, ReportError> {
        if let Some(held) = self.registry().lease_of(speaker, run_id) {
            return if held.token == token { Ok(held) } else { Err(ReportError::Stale) };
        }
        let found = self.queries().run(run_id).await.map_err(|fault| ReportError::Store(Arc::new(fault)))?;
        match found {
            Some(_) => Err(ReportError::Stale),
            None => Err(ReportError::NoSuchRun),
        }
    }

    /// Runs that nobody has seen yet wait for somebody else.
    pub(crate) fn give_back(&self, undelivered: Vec<StartedAttempt>, why: &str) {
        for assignment in undelivered {
            let report = AttemptReport::Unclaimed { reason: format!("{} {why}", assignment.executor.executor) };
            let command = Command::Report { run_id: assignment.run_id, token: assignment.token, report };
            drop(self.queue(Request::new(assignment.job_id, command)));
        }
    }
}

fn settled(answer: Result<crate::commit::job_command::Accepted, SubmitError>) -> Result<(), ReportError> {
    match answer {
        Ok(_) => Ok(()),
        Err(SubmitError::Refused(Refusal::StaleToken | Refusal::NoSuchRun | Refusal::NoSuchJob | Refusal::RunOver)) => {
            Err(ReportError::Stale)
        }
        Err(error) => Err(ReportError::Submit(error)),
    }
}
