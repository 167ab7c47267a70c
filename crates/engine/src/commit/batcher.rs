//! The shell around the rounds: one queue in front of the store. While one round is being made durable, the next one is
//! decided, and whatever else comes gathers.
//!
//! Invariant: nothing is chosen here; see [`Rounds`].

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use ordo_store::{Chunk, CommitOutcome, Fault, Store};
use tokio::sync::mpsc;

use super::command::Submission;
use super::rounds::{ChunkReply, Flight, Gathered, Rounds, Settled, commit, load};
use crate::core::Input;
use crate::read::change_hint::ChangeHints;
use crate::read::metrics::Metrics;
use crate::time::clock::{SharedClock, Stopwatch};

/// How long a store that failed is left alone.
const FAULT_PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

#[derive(Debug)]
pub(crate) enum BatcherMessage {
    /// Commands that came together are decided together, as far as a round takes them.
    Commands(Vec<Submission>),
    Chunks {
        chunks: Vec<Chunk>,
        reply: ChunkReply,
    },
    Stop,
}

pub(crate) struct Batcher {
    pub(crate) rounds: Rounds,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: SharedClock,
    pub(crate) queue: mpsc::UnboundedReceiver<BatcherMessage>,
    pub(crate) core: mpsc::UnboundedSender<Input>,
    pub(crate) hints: ChangeHints,
    pub(crate) metrics: Arc<Metrics>,
}

type Landing = Pin<Box<dyn Future<Output = (Flight, Stopwatch, Result<Vec<CommitOutcome>, Fault>)> + Send>>;

impl Batcher {
    pub(crate) async fn run(mut self) {
        let mut flights: FuturesOrdered<Landing> = FuturesOrdered::new();
        let mut is_stopping = false;
        loop {
            while let Ok(message) = self.queue.try_recv() {
                is_stopping |= self.take(message);
            }
            if let Some(gathered) = self.rounds.gather() {
                flights.push_back(self.take_off(gathered).await);
                continue;
            }
            if is_stopping && self.rounds.is_idle() {
                break;
            }
            tokio::select! {
                biased;
                Some((flight, watch, outcomes)) = flights.next(), if !flights.is_empty() => {
                    if self.land(flight, watch, outcomes) {
                        tokio::time::sleep(FAULT_PAUSE).await;
                    }
                }
                message = self.queue.recv(), if !is_stopping => match message {
                    Some(message) => is_stopping |= self.take(message),
                    None => is_stopping = true,
                },
            }
        }
        self.queue.close();
        while let Ok(message) = self.queue.try_recv() {
            self.take(message);
        }
        self.rounds.refuse_all();
    }

    /// Whether it is the last.
    fn take(&mut self, message: BatcherMessage) -> bool {
        match message {
            BatcherMessage::Commands(submissions) => {
                submissions.into_iter().for_each(|submission| self.rounds.push(submission));
            }
            BatcherMessage::Chunks { chunks, reply } => self.rounds.push_chunks(chunks, reply),
            BatcherMessage::Stop => return true,
        }
        false
    }

    /// Decides a round and sends it to the store.
    async fn take_off(&mut self, gathered: Gathered) -> Landing {
        let watch = Stopwatch::start();
        let moment = self.clock.moment();
        let loaded = load(self.store.as_ref(), &gathered, moment.now).await;
        let mut flight = self.rounds.plan(gathered, loaded, moment);
        let (store, batch) = (self.store.clone(), flight.take_batch());
        let mut committing = Box::pin(async move { commit(store.as_ref(), batch).await });
        // Polled once now: the store has it, and has it before the next round, while that one is being decided.
        let at_once = std::future::poll_fn(|cx| Poll::Ready(committing.as_mut().poll(cx))).await;
        Box::pin(async move {
            match at_once {
                Poll::Ready(outcomes) => (flight, watch, outcomes),
                Poll::Pending => (flight, watch, committing.await),
            }
        })
    }

    /// Lets everybody know what became of a round. Returns whether the store failed.
    fn land(&mut self, flight: Flight, watch: Stopwatch, outcomes: Result<Vec<CommitOutcome>, Fault>) -> bool {
        let commands = flight.len();
        let Settled { changes, hints, fault } = self.rounds.settle(flight, outcomes);
        self.metrics.round(commands, watch.elapsed_micros());
        if let Some(fault) = &fault {
            self.metrics.round_failed();
            tracing::error!(error = %chain(fault), commands, "a round could not be committed");
        }
        for hint in hints {
            // Nobody may be listening.
            self.hints.send(hint);
        }
        if !changes.is_empty() {
            drop(self.core.send(Input::Changed(changes)));
        }
        fault.is_some()
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
