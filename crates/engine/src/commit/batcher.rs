//! The shell around the rounds: one queue in front of the store. While one round is being made durable, the next one is
//! decided, and whatever else comes gathers. Where it has a thread of its own, a small round is committed right there.
//!
//! Invariant: nothing is chosen here; see [`Rounds`]. Who holds the state is the only one at work: the batcher as long as
//! anything is on its way, otherwise a caller who is alone (see [`BatcherQueue`]).

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use ordo_store::{Batch, Chunk, CommitResult, Store};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::command::Submission;
use super::queue::{BatcherInbox, BatcherQueue};
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
    /// Somebody else began what is to be gone on with.
    GoOn,
    Stop,
}

/// What a round is decided and committed with.
pub(crate) struct BatcherState {
    rounds: Rounds,
    /// Gathered, and not decided yet: what it rests on could not be read at once.
    unread: Option<Gathered>,
    flights: FuturesOrdered<Landing>,
    /// Since the last round was begun by the batcher.
    since_round: Option<Stopwatch>,
    /// The store failed.
    must_pause: bool,
    /// How long the last round took that was committed by whoever decided it.
    commit_micros: u64,
    store: Arc<dyn Store>,
    clock: SharedClock,
    core: mpsc::UnboundedSender<Input>,
    hints: ChangeHints,
    metrics: Arc<Metrics>,
}

type Landing = Pin<Box<dyn Future<Output = (Flight, Stopwatch, CommitResult)> + Send>>;

impl BatcherState {
    pub(crate) fn new(
        rounds: Rounds,
        store: Arc<dyn Store>,
        clock: SharedClock,
        core: mpsc::UnboundedSender<Input>,
        hints: ChangeHints,
        metrics: Arc<Metrics>,
    ) -> BatcherState {
        BatcherState {
            rounds,
            unread: None,
            flights: FuturesOrdered::new(),
            since_round: None,
            must_pause: false,
            commit_micros: 0,
            store,
            clock,
            core,
            hints,
            metrics,
        }
    }

    /// Nothing waits and nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.rounds.is_idle() && self.unread.is_none() && !self.must_pause
    }

    pub(crate) fn commit_micros(&self) -> u64 {
        self.commit_micros
    }

    /// Decides a command and commits it on this thread, as far as that can be done without waiting for anybody.
    pub(crate) fn commit_here(&mut self, submission: Submission) {
        self.rounds.push(submission);
        let Some(gathered) = self.rounds.gather() else { return };
        let (watch, moment) = (Stopwatch::start(), self.clock.moment());
        let Some(loaded) = load(self.store.as_ref(), &gathered, moment.now).now_or_never() else {
            self.unread = Some(gathered);
            return;
        };
        let mut flight = self.rounds.plan(gathered, loaded, moment);
        let batch = flight.take_batch();
        self.commit_decided(flight, watch, batch);
    }

    fn commit_decided(&mut self, flight: Flight, watch: Stopwatch, batch: Batch) {
        match self.store.commit_here(batch) {
            Ok(outcomes) => {
                self.commit_micros = watch.elapsed_micros();
                self.land(flight, watch, outcomes);
            }
            Err(batch) => self.fly(flight, watch, batch),
        }
    }

    /// For how long what waits may still wait for others to come along.
    fn rest(&self) -> Option<std::time::Duration> {
        let passed = self.since_round.as_ref().filter(|_| self.rounds.is_patient())?.elapsed_micros();
        let rest = ROUND_SPACING.saturating_sub(std::time::Duration::from_micros(passed));
        (!rest.is_zero()).then_some(rest)
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
    fn fly(&mut self, flight: Flight, watch: Stopwatch, batch: Batch) {
        let store = self.store.clone();
        let mut committing = Box::pin(async move { commit(store.as_ref(), batch).await });
        // Polled once now: the store has it, and has it before the next round, while that one is being decided. Whoever waits
        // for the landing polls again.
        let at_once = committing.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        self.flights.push_back(Box::pin(async move {
            match at_once {
                Poll::Ready(outcomes) => (flight, watch, outcomes),
                Poll::Pending => (flight, watch, committing.await),
            }
        }));
    }

    /// Lets everybody know what became of a round.
    fn land(&mut self, flight: Flight, watch: Stopwatch, outcomes: CommitResult) {
        let commands = flight.len();
        let Settled { changes, hints, fault } = self.rounds.settle(flight, outcomes);
        self.metrics.round(commands, watch.elapsed_micros());
        if let Some(fault) = &fault {
            self.must_pause = true;
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
    }

    /// A store that failed is left alone for a moment.
    async fn pause(&mut self) {
        if std::mem::take(&mut self.must_pause) {
            tokio::time::sleep(FAULT_PAUSE).await;
        }
    }

    /// Whether it is the last message.
    fn take(&mut self, message: BatcherMessage) -> bool {
        match message {
            BatcherMessage::Commands(submissions) => {
                submissions.into_iter().for_each(|submission| self.rounds.push(submission));
            }
            BatcherMessage::Chunks { chunks, reply } => self.rounds.push_chunks(chunks, reply),
            BatcherMessage::GoOn => {}
            BatcherMessage::Stop => return true,
        }
        false
    }
}

pub(crate) struct Batcher {
    state: Arc<Mutex<BatcherState>>,
    inbox: BatcherInbox,
    /// Nobody else needs its thread.
    may_block: bool,
}

impl Batcher {
    /// Begins to work: on a thread of its own in front of a store of our own, where there are threads. Whatever becomes of
    /// the task, the thread ends with it. A caller who is alone may then do without it.
    pub(crate) fn start(state: BatcherState, inbox: BatcherInbox, queue: &BatcherQueue) -> JoinHandle<()> {
        let handle = Handle::current();
        let may_block = !state.store.is_shared() && handle.runtime_flavor() != RuntimeFlavor::CurrentThread;
        let state = Arc::new(Mutex::new(state));
        let batcher = Batcher { state: state.clone(), inbox, may_block };
        if !may_block {
            return tokio::spawn(batcher.run());
        }
        queue.lend(state);
        let (wanted, ended) = oneshot::channel::<Infallible>();
        let work = async move {
            tokio::select! {
                biased;
                _ = ended => {}
                () = batcher.run() => {}
            }
        };
        let thread = tokio::task::spawn_blocking(move || handle.block_on(work));
        tokio::spawn(async move {
            let _wanted = wanted;
            drop(thread.await);
        })
    }

    async fn run(mut self) {
        let shared = self.state.clone();
        let mut is_last = false;
        while !is_last && let Some(message) = self.inbox.recv().await {
            let mut state = shared.lock().await;
            is_last = self.take(&mut state, message);
            is_last |= self.work_off(&mut state, is_last).await;
        }
        let mut state = shared.lock().await;
        self.inbox.close();
        self.take_all(&mut state);
        state.rounds.refuse_all();
    }

    /// Commits until nothing waits and nothing is on its way. Returns whether the last message came meanwhile.
    async fn work_off(&mut self, state: &mut BatcherState, mut is_last: bool) -> bool {
        loop {
            state.pause().await;
            is_last |= self.take_all(state);
            let rest = state.rest().filter(|_| !is_last);
            let gathered = if rest.is_some() { None } else { state.unread.take().or_else(|| state.rounds.gather()) };
            if let Some(gathered) = gathered {
                state.since_round = Some(Stopwatch::start());
                let (flight, watch, batch) = state.take_off(gathered).await;
                is_last |= self.take_all(state);
                // Behind a round that is on its way, the store keeps the order; beside another one, the writer does the work.
                match self.may_block && state.flights.is_empty() && !state.rounds.has_another() {
                    true => state.commit_decided(flight, watch, batch),
                    false => state.fly(flight, watch, batch),
                }
                continue;
            }
            if rest.is_none() && state.flights.is_empty() {
                return is_last;
            }
            tokio::select! {
                biased;
                Some((flight, watch, outcomes)) = state.flights.next(), if !state.flights.is_empty() => {
                    state.land(flight, watch, outcomes);
                }
                message = self.inbox.recv(), if !is_last => match message {
                    Some(message) => is_last |= self.take(state, message),
                    None => is_last = true,
                },
                () = tokio::time::sleep(rest.unwrap_or_default()), if rest.is_some() => {}
            }
        }
    }

    /// Whether the last is among them.
    fn take_all(&mut self, state: &mut BatcherState) -> bool {
        let mut is_last = false;
        while let Some(message) = self.inbox.try_recv() {
            is_last |= self.take(state, message);
        }
        is_last
    }

    /// Whether it is the last.
    fn take(&mut self, state: &mut BatcherState, message: BatcherMessage) -> bool {
        let is_last = state.take(message);
        self.inbox.taken();
        is_last
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

#[cfg(test)]
mod tests;
