//! The batcher: one queue in front of the store. While one round is being made durable, the next one is
//! decided and a third one gathers.
//!
//! Invariant: an answer is sent only after the round it belongs to is durable, or known not to be.

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use ordo_model::EntityId;
use ordo_model::job::Command;
use ordo_store::{Chunk, Fault, Outcome};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::commit::committer::{Answer, Answered, Committer, Prepared, Round, SubmitError, commit};
use crate::commit::deferred::Behind;
use crate::commit::object::ask::{Ask, Lost};
use crate::commit::planner::{Extra, Request};
use crate::core::Input;
use crate::read::change_hint::ChangeHint;
use crate::read::metrics::Metrics;
use crate::time::clock::{SharedClock, Stopwatch};

/// How many orders one round takes at most.
pub const ROUND_MAX: usize = 1_024;
/// How many orders may be on their way to the disk; the cache holds at least as many jobs.
const IN_FLIGHT_MAX: usize = 2_048;
/// How long a store that failed is left alone.
const FAULT_PAUSE: std::time::Duration = std::time::Duration::from_millis(500);
/// How often an order is decided anew because another node was faster.
const CONTENTION_MAX: u32 = 16;
/// The same for reports and orders with a key. Of those that share a round with keys that are taken, each round settles
/// one, and a round has no more than this.
const SHARED_ROUND_MAX: u32 = ROUND_MAX as u32;

#[derive(Debug)]
pub enum Message {
    /// Orders that came together are decided together, as far as a round takes them.
    Orders(Vec<Submission>),
    Ask(Asking),
    Chunks {
        chunks: Vec<Chunk>,
        reply: oneshot::Sender<Result<(), Arc<Fault>>>,
    },
    Stop,
}

#[derive(Debug)]
pub struct Submission {
    pub request: Request,
    pub reply: Option<oneshot::Sender<Answer>>,
    pub tries: u32,
}

/// A command on an object, and how often it was lost to somebody else.
pub struct Asking {
    pub(crate) ask: Box<dyn Ask>,
    pub(crate) tries: u32,
}

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asking").field("entity", &self.ask.entity()).field("tries", &self.tries).finish()
    }
}

impl Submission {
    /// An order, and where its answer comes.
    pub fn answered(request: Request) -> (Submission, oneshot::Receiver<Answer>) {
        let (reply, answer) = oneshot::channel();
        (Submission { request, reply: Some(reply), tries: 0 }, answer)
    }

    /// An order of the engine itself: nobody waits for the answer.
    pub fn unanswered(request: Request) -> Submission {
        Submission { request, reply: None, tries: 0 }
    }
}

#[derive(Debug)]
pub struct Batcher {
    pub committer: Committer,
    pub clock: SharedClock,
    pub queue: mpsc::UnboundedReceiver<Message>,
    pub core: mpsc::UnboundedSender<Input>,
    pub live: broadcast::Sender<ChangeHint>,
    pub metrics: Arc<Metrics>,
    /// Orders that must not get lost, to be tried again.
    pub again: VecDeque<Submission>,
    /// Orders on jobs of rounds that are under way, where such a job must wait; in the order they came.
    pub held: VecDeque<Submission>,
    pub asks: Desk,
    pub behind: Behind,
}

/// Asks on objects. An object has an ask in one round at a time, so that each is decided on what the store holds.
#[derive(Debug, Default)]
pub struct Desk {
    busy: BTreeSet<EntityId>,
    waiting: VecDeque<Asking>,
}

impl Desk {
    /// Those that may be decided now, in the order they came. All asks on one object may share a round.
    fn take(&mut self, max: usize) -> Vec<Asking> {
        let mut taken = Vec::new();
        let mut left = VecDeque::new();
        for asking in self.waiting.drain(..) {
            if taken.len() >= max || self.busy.contains(&asking.ask.entity()) {
                left.push_back(asking);
            } else {
                taken.push(asking);
            }
        }
        self.waiting = left;
        self.busy.extend(taken.iter().map(|asking: &Asking| asking.ask.entity()));
        taken
    }

    fn has_ready(&self) -> bool {
        self.waiting.iter().any(|asking| !self.busy.contains(&asking.ask.entity()))
    }
}

type ChunkReply = oneshot::Sender<Result<(), Arc<Fault>>>;

/// What one round takes from the queue.
#[derive(Default)]
struct Gathered {
    submissions: Vec<Submission>,
    asks: Vec<Asking>,
    chunks: Vec<Chunk>,
    chunk_replies: Vec<ChunkReply>,
    /// Some of the orders were set aside before.
    has_part: bool,
    stop: bool,
}

/// A round on its way to the disk, with those who wait for it.
struct Flight {
    prepared: Prepared,
    waiting: Vec<(Option<Request>, Option<oneshot::Sender<Answer>>, u32)>,
    /// How often each ask was lost before.
    ask_tries: Vec<u32>,
    chunk_replies: Vec<ChunkReply>,
    has_part: bool,
    watch: Stopwatch,
}

type Landing = Pin<Box<dyn Future<Output = (Flight, Result<Vec<Outcome>, Fault>)> + Send>>;

impl Batcher {
    pub async fn run(mut self) {
        let mut flights: FuturesOrdered<Landing> = FuturesOrdered::new();
        let mut in_flight = 0;
        let mut stop = false;
        // What was held back, or had no room in a round, and may be decided now.
        let mut released = VecDeque::new();
        while !stop || in_flight > 0 || !released.is_empty() || !self.behind.is_empty() {
            tokio::select! {
                biased;
                Some((flight, outcomes)) = flights.next(), if in_flight > 0 => {
                    in_flight -= flight.weight();
                    if self.land(flight, outcomes) {
                        tokio::time::sleep(FAULT_PAUSE).await;
                    }
                    // What was held back came before what a round had no room for.
                    self.held.append(&mut released);
                    std::mem::swap(&mut self.held, &mut released);
                }
                gathered = gather(&mut self.queue, &mut self.again, &mut released, &mut self.asks, self.behind.is_ready()),
                    if (!stop || !released.is_empty() || self.behind.is_ready()) && in_flight < IN_FLIGHT_MAX && !self.committer.must_settle() => {
                    stop |= gathered.stop;
                    let gathered = self.hold_back(gathered);
                    let gathered = self.set_aside(gathered);
                    if gathered.is_empty() {
                        continue;
                    }
                    let flight = self.take_off(gathered).await;
                    in_flight += flight.1;
                    flights.push_back(flight.0);
                }
            }
        }
        self.queue.close();
        for asking in self.asks.waiting.drain(..) {
            asking.ask.answer(Some(Lost::Stopped));
        }
        while let Ok(message) = self.queue.try_recv() {
            refuse(message);
        }
    }

    /// Orders of slow jobs give way to all others.
    fn set_aside(&mut self, mut gathered: Gathered) -> Gathered {
        self.behind.set_aside(&mut gathered.submissions, |job| self.committer.is_slow(job));
        if let Some(part) = self.behind.part() {
            gathered.has_part = true;
            gathered.submissions.extend(part);
        }
        gathered
    }

    /// Leaves out what must wait for a round that is under way. All orders on one job wait, so they keep their order.
    fn hold_back(&mut self, mut gathered: Gathered) -> Gathered {
        let is_busy = |submission: &mut Submission| self.committer.is_busy(submission.request.job_id);
        self.held.extend(gathered.submissions.extract_if(.., is_busy));
        gathered
    }

    /// Decides a round and sends it to the store.
    async fn take_off(&mut self, gathered: Gathered) -> (Landing, usize) {
        let Gathered { submissions, asks, chunks, chunk_replies, has_part, stop: _ } = gathered;
        let shared = self.committer.is_shared();
        let mut requests = Vec::with_capacity(submissions.len());
        let mut waiting = Vec::with_capacity(submissions.len());
        for Submission { request, reply, tries } in submissions {
            if tries > 0
                && let Some(value) = self.claimed(&request).await
            {
                reply.into_iter().for_each(|reply| drop(reply.send(Err(SubmitError::Duplicate(value.clone())))));
                continue;
            }
            waiting.push((keepsake(&request, shared), reply, tries));
            requests.push(request);
        }
        let (asks, ask_tries) = asks.into_iter().map(|Asking { ask, tries }| (ask, tries)).unzip();
        let watch = Stopwatch::start();
        let mut prepared = self.committer.prepare_with(requests, asks, chunks, self.clock.now()).await;
        let (store, batch) = (self.committer.store(), prepared.take_batch());
        let mut committing = Box::pin(async move { commit(store.as_ref(), batch).await });
        // Polled once now: the store has it, and has it before the next round, while that one is being decided.
        let at_once = std::future::poll_fn(|cx| Poll::Ready(committing.as_mut().poll(cx))).await;
        let flight = Flight { prepared, waiting, ask_tries, chunk_replies, has_part, watch };
        let weight = flight.weight();
        let landing = async move {
            match at_once {
                Poll::Ready(outcomes) => (flight, outcomes),
                Poll::Pending => (flight, committing.await),
            }
        };
        (Box::pin(landing), weight)
    }

    /// What stands under the key of an order that lost once. One round tells of one key that was used before; asking
    /// for the others spares each of them a round of its own. A store that cannot be read is found out by the commit.
    async fn claimed(&self, request: &Request) -> Option<Vec<u8>> {
        let claim = request.claim.as_ref()?;
        self.committer.store().dedup(&claim.key, self.clock.now()).await.ok().flatten()
    }

    /// Tells everybody what became of a round. Answers whether the store failed.
    fn land(&mut self, flight: Flight, outcomes: Result<Vec<Outcome>, Fault>) -> bool {
        let Flight { prepared, waiting, ask_tries, chunk_replies, has_part, watch } = flight;
        if has_part {
            self.behind.landed();
        }
        let fault = outcomes.as_ref().err().cloned().map(Arc::new);
        let Round { answers, changes, asks } = self.committer.settle(prepared, outcomes);
        self.metrics.round(waiting.len() + asks.len(), watch.elapsed_micros());
        for reply in chunk_replies {
            drop(reply.send(fault.clone().map_or(Ok(()), Err)));
        }
        if let Some(fault) = &fault {
            self.metrics.round_failed();
            tracing::error!(error = %chain(fault), orders = waiting.len(), "a round could not be committed");
        }
        for ((kept, reply, tries), answer) in waiting.into_iter().zip(answers) {
            self.answer(kept, reply, tries, answer);
        }
        for (answered, tries) in asks.into_iter().zip(ask_tries) {
            self.answer_ask(answered, tries);
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
                drop(self.live.send(ChangeHint::Run(run.id)));
            }
            if !accepted.events.is_empty() {
                drop(self.live.send(ChangeHint::Job(accepted.job.id)));
            }
        }
        let most = kept.as_ref().map_or(0, tries_of);
        let contended = matches!(answer, Err(SubmitError::Contended)) && tries < most;
        let lost = matches!(answer, Err(SubmitError::Store(_)));
        match kept {
            Some(request) if contended || (lost && is_report(&request)) => {
                self.again.push_back(Submission { request, reply, tries: tries + 1 });
            }
            Some(_) | None => {
                if let Some(reply) = reply {
                    drop(reply.send(answer));
                }
            }
        }
    }
}

impl Batcher {
    fn answer_ask(&mut self, answered: Answered, tries: u32) {
        let Answered { ask, lost } = answered;
        self.asks.busy.remove(&ask.entity());
        match lost {
            Some(Lost::Contended) if tries < CONTENTION_MAX => {
                self.asks.waiting.push_back(Asking { ask, tries: tries + 1 });
            }
            lost => {
                if lost.is_none() {
                    drop(self.live.send(ChangeHint::Object(ask.entity())));
                }
                ask.answer(lost);
            }
        }
    }
}

impl Flight {
    /// How much of what may be in flight at once it takes up.
    fn weight(&self) -> usize {
        (self.waiting.len() + self.ask_tries.len()).max(1)
    }
}

/// What is decided anew if others were faster: reports; orders with a key, which meet their like in one round; and, where
/// other nodes write too, everybody's: losing to one of them is no reason to refuse.
fn keepsake(request: &Request, shared: bool) -> Option<Request> {
    let plain = request.place.is_none() && matches!(request.extra, Extra::Nothing);
    let kept = is_report(request) || (plain && (shared || request.claim.is_some()));
    let again = || Request::new(request.job_id, request.order.command.clone());
    kept.then(|| Request { claim: request.claim.clone(), ..again() })
}

fn tries_of(request: &Request) -> u32 {
    if is_report(request) || request.claim.is_some() { SHARED_ROUND_MAX } else { CONTENTION_MAX }
}

/// A report must reach the store however often that takes: its attempt cannot be run again to find out.
fn is_report(request: &Request) -> bool {
    matches!(request.order.command, Command::Report { .. })
}

/// Waits for something to do and takes all that is there. Safe to be dropped while it waits.
async fn gather(
    queue: &mut mpsc::UnboundedReceiver<Message>,
    again: &mut VecDeque<Submission>,
    released: &mut VecDeque<Submission>,
    desk: &mut Desk,
    is_part_ready: bool,
) -> Gathered {
    let mut gathered = Gathered::default();
    if again.is_empty() && released.is_empty() && !desk.has_ready() && !is_part_ready {
        match queue.recv().await {
            Some(message) => gathered.take(message, desk),
            None => gathered.stop = true,
        }
    }
    gathered.submissions.extend(released.drain(..));
    gathered.submissions.extend(again.drain(..));
    while gathered.submissions.len() + desk.waiting.len() < ROUND_MAX
        && !gathered.stop
        && let Ok(message) = queue.try_recv()
    {
        gathered.take(message, desk);
    }
    released.extend(gathered.submissions.drain(ROUND_MAX.min(gathered.submissions.len())..));
    gathered.asks = desk.take(ROUND_MAX);
    gathered
}

impl Gathered {
    /// Nothing to decide and nobody to answer.
    fn is_empty(&self) -> bool {
        self.submissions.is_empty() && self.asks.is_empty() && self.chunk_replies.is_empty()
    }

    fn take(&mut self, message: Message, desk: &mut Desk) {
        match message {
            Message::Orders(submissions) => self.submissions.extend(submissions),
            Message::Ask(asking) => desk.waiting.push_back(asking),
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
        Message::Orders(submissions) => {
            for reply in submissions.into_iter().filter_map(|submission| submission.reply) {
                drop(reply.send(Err(SubmitError::Stopped)));
            }
        }
        Message::Ask(asking) => asking.ask.answer(Some(Lost::Stopped)),
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
