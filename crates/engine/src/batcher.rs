//! The batcher: one queue in front of the store. While one round is being made durable, the next one gathers.
//!
//! Invariant: an answer is sent only after the round it belongs to is durable, or known not to be.

use std::collections::VecDeque;
use std::sync::Arc;

use ordo_model::job::Command;
use ordo_store::{Chunk, Fault};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::clock::{SharedClock, Stopwatch};
use crate::committer::{Answer, Committer, Round, SubmitError};
use crate::core::Input;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::planner::Request;

/// How many orders one round takes at most.
pub const ROUND_MAX: usize = 2_048;
/// How long a store that failed is left alone.
const FAULT_PAUSE: std::time::Duration = std::time::Duration::from_millis(500);
/// How often an order is decided anew because another node was faster.
const CONTENTION_MAX: u32 = 16;

#[derive(Debug)]
pub enum Message {
    Order(Box<Submission>),
    Chunks { chunks: Vec<Chunk>, reply: oneshot::Sender<Result<(), Arc<Fault>>> },
    Stop,
}

#[derive(Debug)]
pub struct Submission {
    pub request: Request,
    pub reply: Option<oneshot::Sender<Answer>>,
    pub tries: u32,
}

impl Submission {
    /// An order of the engine itself: nobody waits for the answer.
    pub fn unanswered(request: Request) -> Submission {
        Submission { request, reply: None, tries: 0 }
    }
}

pub struct Batcher {
    pub committer: Committer,
    pub clock: SharedClock,
    pub queue: mpsc::UnboundedReceiver<Message>,
    pub core: mpsc::UnboundedSender<Input>,
    pub live: broadcast::Sender<Live>,
    pub metrics: Arc<Metrics>,
    /// Orders that must not get lost, to be tried again.
    pub again: VecDeque<Submission>,
}

type ChunkReply = oneshot::Sender<Result<(), Arc<Fault>>>;

/// What one round takes from the queue.
#[derive(Default)]
struct Gathered {
    submissions: Vec<Submission>,
    chunks: Vec<Chunk>,
    chunk_replies: Vec<ChunkReply>,
    stop: bool,
}

impl Batcher {
    pub async fn run(mut self) {
        loop {
            let gathered = self.gather().await;
            let stop = gathered.stop;
            let failed = self.round(gathered).await;
            if stop {
                break;
            }
            if failed {
                tokio::time::sleep(FAULT_PAUSE).await;
            }
        }
        self.queue.close();
        while let Ok(message) = self.queue.try_recv() {
            refuse(message);
        }
    }

    async fn gather(&mut self) -> Gathered {
        let mut gathered = Gathered { submissions: self.again.drain(..).collect(), ..Gathered::default() };
        if gathered.submissions.is_empty() {
            match self.queue.recv().await {
                Some(message) => gathered.take(message),
                None => gathered.stop = true,
            }
        }
        while gathered.submissions.len() < ROUND_MAX
            && !gathered.stop
            && let Ok(message) = self.queue.try_recv()
        {
            gathered.take(message);
        }
        gathered
    }

    /// Answers whether the store failed.
    async fn round(&mut self, gathered: Gathered) -> bool {
        let Gathered { submissions, chunks, chunk_replies, .. } = gathered;
        let mut requests = Vec::with_capacity(submissions.len());
        let mut waiting = Vec::with_capacity(submissions.len());
        for Submission { request, reply, tries } in submissions {
            waiting.push((keepsake(&request), reply, tries));
            requests.push(request);
        }
        let watch = Stopwatch::start();
        let orders = requests.len();
        let Round { answers, changes } = self.committer.round(requests, chunks, self.clock.now()).await;
        self.metrics.round(orders, watch.elapsed_micros());
        let fault = answers.iter().find_map(|answer| match answer {
            Err(SubmitError::Store(fault)) => Some(fault.clone()),
            Err(_) | Ok(_) => None,
        });
        for reply in chunk_replies {
            drop(reply.send(fault.clone().map_or(Ok(()), Err)));
        }
        if let Some(fault) = &fault {
            tracing::error!(error = %chain(fault), orders, "a round could not be committed");
        }
        for ((kept, reply, tries), answer) in waiting.into_iter().zip(answers) {
            self.answer(kept, reply, tries, answer);
        }
        if !changes.is_empty() {
            drop(self.core.send(Input::Changed(changes)));
        }
        fault.is_some()
    }

    fn answer(&mut self, kept: Option<Request>, reply: Option<oneshot::Sender<Answer>>, tries: u32, answer: Answer) {
        if let Ok(accepted) = &answer {
            self.metrics.accepted(accepted);
            for run in &accepted.runs {
                drop(self.live.send(Live::Run(run.id)));
            }
            if !accepted.events.is_empty() {
                drop(self.live.send(Live::Job(accepted.job.id)));
            }
        }
        let retry = matches!(answer, Err(SubmitError::Store(_)))
            || (matches!(answer, Err(SubmitError::Contended)) && tries < CONTENTION_MAX);
        match kept {
            Some(request) if retry => self.again.push_back(Submission { request, reply, tries: tries + 1 }),
            Some(_) | None => {
                if let Some(reply) = reply {
                    drop(reply.send(answer));
                }
            }
        }
    }
}

/// A report must reach the store however often that takes: its attempt cannot be run again to find out.
fn keepsake(request: &Request) -> Option<Request> {
    match &request.order.command {
        command @ Command::Report { .. } => Some(Request::new(request.job_id, command.clone())),
        _ => None,
    }
}

impl Gathered {
    fn take(&mut self, message: Message) {
        match message {
            Message::Order(submission) => self.submissions.push(*submission),
            Message::Chunks { chunks, reply } => {
                self.chunks.extend(chunks);
                self.chunk_replies.push(reply);
            }
            Message::Stop => self.stop = true,
        }
    }
}

fn refuse(message: Message) {
    match message {
        Message::Order(submission) => {
            if let Some(reply) = submission.reply {
                drop(reply.send(Err(SubmitError::Stopped)));
            }
        }
        Message::Chunks { reply, .. } => {
            let stopped = Fault::Held { what: "Ordo is shutting down".into() };
            drop(reply.send(Err(Arc::new(stopped))));
        }
        Message::Stop => {}
    }
}

/// An error with all its causes, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
