//! The way in: commands on jobs and objects, one by one or many at once.
//!
//! Invariant: a caller is answered when the effect is durable, or learns that it is not; a chain is checked before its
//! job is taken in. Every command carries the actor of the handle it was given through.

use std::sync::Arc;

use ordo_model::JobId;
use ordo_model::job::{Command, Definition, Run};
use ordo_model::limits::WAITING_COMMANDS_MAX;
use ordo_store::{Chunk, Fault};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::commit::batcher::BatcherMessage;
use crate::commit::chains;
use crate::commit::command::{Submission, SubmitError};
use crate::commit::entity_command::{CommitExtras, Committed, EntityCommand};
use crate::commit::job_command::{Claim, JobReply, Request};
use crate::commit::kinds::Stored;
use crate::engine::Engine;
use crate::time::clock::new_id;

impl Engine {
    /// Has one command carried out. Answers when its effect is durable.
    pub async fn submit(&self, job: JobId, command: Command) -> JobReply {
        self.send(Request::new(job, command)).await
    }

    /// The same for many at once; the answers come in order.
    pub async fn submit_all(&self, commands: Vec<(JobId, Command)>) -> Vec<JobReply> {
        self.send_all(commands.into_iter().map(|(job, command)| Request::new(job, command)).collect()).await
    }

    /// The command as one of whoever holds this handle.
    fn sign(&self, request: Request) -> Request {
        Request { actor: self.actor(), ..request }
    }

    pub(crate) async fn send_all(&self, requests: Vec<Request>) -> Vec<JobReply> {
        self.send_signed(requests.into_iter().map(|request| self.sign(request)).collect()).await
    }

    /// The same for commands that carry the names of those who gave them.
    pub(crate) async fn send_signed(&self, requests: Vec<Request>) -> Vec<JobReply> {
        let (mut submissions, mut waiting) = (Vec::with_capacity(requests.len()), Vec::with_capacity(requests.len()));
        for mut request in requests {
            waiting.push(match chains::prepare(self, &mut request).await {
                Ok(()) => {
                    let (submission, answer) = request.answered();
                    submissions.push(submission);
                    Ok(answer)
                }
                Err(error) => Err(error),
            });
        }
        if self.admit(&mut submissions).is_err() {
            return waiting.into_iter().map(|one| one.and(Err(SubmitError::Overloaded))).collect();
        }
        // In one message: the batcher must not take the first of them and leave the others to a commit of their own.
        drop(self.batcher().send(BatcherMessage::Commands(submissions)));
        let mut answers = Vec::with_capacity(waiting.len());
        for one in waiting {
            answers.push(match one {
                Ok(answer) => answer.await.unwrap_or(Err(SubmitError::Stopped)),
                Err(error) => Err(error),
            });
        }
        answers
    }

    /// Has a command carried out unless the same was done before.
    pub async fn submit_once(&self, job: JobId, command: Command, claim: Claim) -> JobReply {
        self.send(Request { claims: vec![claim], ..Request::new(job, command) }).await
    }

    /// The same for many at once; the answers come in order.
    pub async fn submit_all_once(&self, submissions: Vec<(JobId, Command, Claim)>) -> Vec<JobReply> {
        let request = |(job, command, claim)| Request { claims: vec![claim], ..Request::new(job, command) };
        self.send_all(submissions.into_iter().map(request).collect()).await
    }

    pub(crate) async fn send(&self, mut request: Request) -> JobReply {
        chains::prepare(self, &mut request).await?;
        let (submission, answer) = self.sign(request).answered();
        self.hand_in(submission).map_err(|Full| SubmitError::Overloaded)?;
        answer.await.unwrap_or(Err(SubmitError::Stopped))
    }

    /// Gives a command its share of what may wait, and has it carried out: right here if nothing else waits.
    fn hand_in(&self, submission: Submission) -> Result<(), Full> {
        let mut admitted = [submission];
        self.admit(&mut admitted)?;
        let [submission] = admitted;
        let is_alone = self.admission().available_permits() + 1 >= WAITING_COMMANDS_MAX;
        // A batcher that is gone drops the reply, and whoever waits for it learns that.
        drop(self.batcher().submit(submission, is_alone));
        Ok(())
    }

    /// Gives each command its share of what may wait at once. Wakes, starts and reports need none: the slots bound them,
    /// and a report is never refused.
    fn admit(&self, submissions: &mut [Submission]) -> Result<(), Full> {
        let outside = || submissions.iter().filter(|submission| !submission.command.can_wait());
        let count = u32::try_from(outside().count()).map_err(|_| Full)?;
        let mut permits = self.admission().clone().try_acquire_many_owned(count).map_err(|_| Full)?;
        for submission in submissions.iter_mut().filter(|submission| !submission.command.can_wait()) {
            submission.permit = permits.split(1);
        }
        Ok(())
    }

    pub(crate) fn queue(&self, request: Request) -> oneshot::Receiver<JobReply> {
        let (submission, answer) = self.sign(request).answered();
        // A batcher that is gone drops the reply, and the receiver says so.
        drop(self.batcher().send(BatcherMessage::Commands(vec![submission])));
        answer
    }

    /// Has a command on an object carried out. Answers when its effect is durable.
    pub async fn command<T: Stored>(
        &self,
        id: Uuid,
        command: T::Command,
    ) -> Result<Committed<T>, SubmitError<T::Refusal>> {
        self.command_with::<T>(id, command, CommitExtras::default()).await
    }

    /// The same, together with what must become durable with it.
    pub async fn command_with<T: Stored>(
        &self,
        id: Uuid,
        command: T::Command,
        extras: CommitExtras,
    ) -> Result<Committed<T>, SubmitError<T::Refusal>> {
        let (command, answer) = EntityCommand::<T>::pair(id, command, extras, self.actor());
        self.hand_in(Submission::new(command)).map_err(|Full| SubmitError::Overloaded)?;
        answer.await.unwrap_or(Err(SubmitError::Stopped))
    }

    /// Stores bytes that belong to a run.
    pub async fn store_chunks(&self, chunks: Vec<Chunk>) -> Result<(), Arc<Fault>> {
        let (reply, done) = oneshot::channel();
        drop(self.batcher().send(BatcherMessage::Chunks { chunks, reply }));
        done.await.unwrap_or_else(|_| Err(Arc::new(Fault::Held { what: "Ordo is shutting down".into() })))
    }

    /// A new job. Its id is made here.
    pub async fn schedule(&self, definition: Definition, held: bool) -> JobReply {
        self.submit(JobId(new_id()), Command::Schedule { definition: Box::new(definition), held }).await
    }

    /// Runs a finished run once more.
    pub async fn retry(&self, run: Run) -> JobReply {
        self.submit(run.job_id, Command::RetryRun { run: Box::new(run) }).await
    }
}

/// As many commands wait as may wait.
struct Full;
