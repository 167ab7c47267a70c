//! The shell around the rounds: one queue in front of the store. While one round is being made durable, the next one is
//! decided, and whatever else comes gathers. Where it has a thread of its own, a small round is committed right there.
//!
//! Invariant: nothing is chosen here; see [`Rounds`].

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use ordo_store::{Batch, Chunk, CommitResult, Store};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::command::Submission;
use super::rounds::{ChunkReply, Flight, Gathered, Rounds, Settled, commit, load};
use crate::core::Input;
use crate::read::change_hint::ChangeHints;
use crate::read::metrics::Metrics;
use crate::time::clock::{SharedClock, Stopwatch};

/// How long a store that failed is left alone.
const FAULT_PAUSE: std::time::Duration = std::time::Duration::from_millis(500);
/// A few commands for which nobody waits follow the last round after this at the earliest, on a store that nodes share.
const ROUND_SPACING: std::time::Duration = std::time::Duration::from_millis(4);

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

type Landing = Pin<Box<dyn Future<Output = (Flight, Stopwatch, CommitResult)> + Send>>;

impl Batcher {
    /// Begins to work: on a thread of its own in front of a store of our own, where there are threads. Whatever becomes of
    /// the task, the thread ends with it.
    pub(crate) fn start(self) -> JoinHandle<()> {
        let handle = Handle::current();
        if self.store.is_shared() || handle.runtime_flavor() == RuntimeFlavor::CurrentThread {
            return tokio::spawn(self.run(false));
        }
        let (wanted, ended) = oneshot::channel::<Infallible>();
        let work = async move {
            tokio::select! {
                biased;
                _ = ended => {}
                () = self.run(true) => {}
            }
        };
        let thread = tokio::task::spawn_blocking(move || handle.block_on(work));
        tokio::spawn(async move {
            let _wanted = wanted;
            drop(thread.await);
        })
    }

    /// `may_block`: nobody else needs this thread.
    async fn run(mut self, may_block: bool) {
        let mut flights: FuturesOrdered<Landing> = FuturesOrdered::new();
        let mut is_stopping = false;
        let mut next_at = Instant::now();
        loop {
            is_stopping |= self.take_all();
            let is_resting = !is_stopping && self.rounds.is_patient() && Instant::now() < next_at;
            let gathered = if is_resting { None } else { self.rounds.gather() };
            if let Some(gathered) = gathered {
                next_at = Instant::now() + ROUND_SPACING;
                let (flight, watch, batch) = self.take_off(gathered).await;
                is_stopping |= self.take_all();
                // Behind a round that is on its way, the store keeps the order; beside another one, the writer does the work.
                let is_free = may_block && flights.is_empty() && !self.rounds.has_another();
                match if is_free { self.store.commit_here(batch) } else { Err(batch) } {
                    Ok(outcomes) => self.land_or_pause(flight, watch, outcomes).await,
                    Err(batch) => flights.push_back(self.fly(flight, watch, batch).await),
                }
                continue;
            }
            if is_stopping && self.rounds.is_idle() {
                break;
            }
            tokio::select! {
                biased;
                Some((flight, watch, outcomes)) = flights.next(), if !flights.is_empty() => {
                    self.land_or_pause(flight, watch, outcomes).await;
                }
                message = self.queue.recv(), if !is_stopping => match message {
                    Some(message) => is_stopping |= self.take(message),
                    None => is_stopping = true,
                },
                () = tokio::time::sleep_until(next_at), if is_resting => {}
            }
        }
        self.queue.close();
        self.take_all();
        self.rounds.refuse_all();
    }

    /// Whether the last is among them.
    fn take_all(&mut self) -> bool {
        let mut is_last = false;
        while let Ok(message) = self.queue.try_recv() {
            is_last |= self.take(message);
        }
        is_last
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

    /// Decides a round.
    async fn take_off(&mut self, gathered: Gathered) -> (Flight, Stopwatch, Batch) {
        let watch = Stopwatch::start();
        let moment = self.clock.moment();
        let loaded = load(self.store.as_ref(), &gathered, moment.now).await;
        let mut flight = self.rounds.plan(gathered, loaded, moment);
        let batch = flight.take_batch();
        (flight, watch, batch)
    }

    /// Sends a round to the store.
    async fn fly(&self, flight: Flight, watch: Stopwatch, batch: Batch) -> Landing {
        let store = self.store.clone();
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

    /// A store that failed is left alone for a moment.
    async fn land_or_pause(&mut self, flight: Flight, watch: Stopwatch, outcomes: CommitResult) {
        if self.land(flight, watch, outcomes) {
            tokio::time::sleep(FAULT_PAUSE).await;
        }
    }

    /// Lets everybody know what became of a round. Returns whether the store failed.
    fn land(&mut self, flight: Flight, watch: Stopwatch, outcomes: CommitResult) -> bool {
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
