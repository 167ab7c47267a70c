//! The way in: commands on jobs and objects, one by one or many at once.
//!
//! Invariant: whoever asks is answered when the effect is durable, or told that it is not; a chain is checked before its
//! job is taken in.

use std::sync::Arc;

use ordo_model::JobId;
use ordo_model::job::{Command, Definition, Run};
use ordo_store::{Chunk, Fault};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::commit::batcher::{Asking, Message, Submission};
use crate::commit::chains;
use crate::commit::committer::{Answer, SubmitError};
use crate::commit::object::ask::TypedAsk;
use crate::commit::object::{CommandError, CommitExtras, Committed, Stored};
use crate::commit::planner::{Claim, Request};
use crate::engine::Engine;
use crate::time::clock::new_id;

impl Engine {
    /// Has one command carried out. Answers when its effect is durable.
    pub async fn submit(&self, job: JobId, command: Command) -> Answer {
        self.send(Request::new(job, command)).await
    }

    /// The same for many at once; the answers come in order.
    pub async fn submit_all(&self, commands: Vec<(JobId, Command)>) -> Vec<Answer> {
        self.send_all(commands.into_iter().map(|(job, command)| Request::new(job, command)).collect()).await
    }

    pub(crate) async fn send_all(&self, requests: Vec<Request>) -> Vec<Answer> {
        let (mut orders, mut waiting) = (Vec::with_capacity(requests.len()), Vec::with_capacity(requests.len()));
        for request in requests {
            waiting.push(match chains::prepare(self, &request).await {
                Ok(()) => {
                    let (order, answer) = Submission::answered(request);
                    orders.push(order);
                    Ok(answer)
                }
                Err(error) => Err(error),
            });
        }
        // In one message: the batcher must not take the first of them and leave the others to a commit of their own.
        drop(self.batcher().send(Message::Orders(orders)));
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
    pub async fn submit_once(&self, job: JobId, command: Command, claim: Claim) -> Answer {
        self.send(Request { claim: Some(claim), ..Request::new(job, command) }).await
    }

    /// The same for many at once; the answers come in order.
    pub async fn submit_all_once(&self, orders: Vec<(JobId, Command, Claim)>) -> Vec<Answer> {
        let request = |(job, command, claim)| Request { claim: Some(claim), ..Request::new(job, command) };
        self.send_all(orders.into_iter().map(request).collect()).await
    }

    pub(crate) async fn send(&self, request: Request) -> Answer {
        chains::prepare(self, &request).await?;
        self.queue(request).await.unwrap_or(Err(SubmitError::Stopped))
    }

    pub(crate) fn queue(&self, request: Request) -> oneshot::Receiver<Answer> {
        let (submission, answer) = Submission::answered(request);
        // A batcher that is gone drops the reply, and the receiver says so.
        drop(self.batcher().send(Message::Orders(vec![submission])));
        answer
    }

    /// Has a command on an object carried out. Answers when its effect is durable.
    pub async fn command<T: Stored>(
        &self,
        id: Uuid,
        command: T::Command,
    ) -> Result<Committed<T>, CommandError<T::Refusal>> {
        self.command_with::<T>(id, command, CommitExtras::default()).await
    }

    /// The same, together with what must become durable with it.
    pub async fn command_with<T: Stored>(
        &self,
        id: Uuid,
        command: T::Command,
        extras: CommitExtras,
    ) -> Result<Committed<T>, CommandError<T::Refusal>> {
        let (ask, answer) = TypedAsk::<T>::pair(id, command, extras);
        drop(self.batcher().send(Message::Ask(Asking { ask, tries: 0 })));
        answer.await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Stores bytes that belong to a run.
    pub async fn store_chunks(&self, chunks: Vec<Chunk>) -> Result<(), Arc<Fault>> {
        let (reply, done) = oneshot::channel();
        drop(self.batcher().send(Message::Chunks { chunks, reply }));
        done.await.unwrap_or_else(|_| Err(Arc::new(Fault::Held { what: "Ordo is shutting down".into() })))
    }

    /// A new job. Its id is made here.
    pub async fn schedule(&self, definition: Definition, held: bool) -> Answer {
        self.submit(JobId(new_id()), Command::Schedule { definition: Box::new(definition), held }).await
    }

    /// Runs a finished run once more.
    pub async fn retry(&self, run: Run) -> Answer {
        self.submit(run.job_id, Command::RetryRun { run: Box::new(run) }).await
    }
}
