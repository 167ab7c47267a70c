//! The way to the batcher: a queue of messages; and past it, for a caller who is alone.
//!
//! Invariant: what somebody sent before goes first. A caller takes the batcher's place only if nothing waits, nothing is on its
//! way and commits are quick; whatever it leaves unfinished, the batcher goes on with.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Mutex, MutexGuard};

use super::batcher::{BatcherMessage, BatcherState};
use super::command::Submission;

/// A caller's thread may have others to serve: it waits for a disk that took no longer than this, the last time.
const CALLER_WAITS_MICROS: u64 = 1_000;

/// The batcher has ended.
#[derive(Debug)]
pub(crate) struct BatcherGone;

/// As those who send see it.
#[derive(Clone)]
pub(crate) struct BatcherQueue {
    messages: UnboundedSender<BatcherMessage>,
    /// How many messages were sent and not taken.
    waiting: Arc<AtomicUsize>,
    /// What the batcher works with, where callers may.
    state: Arc<OnceLock<Arc<Mutex<BatcherState>>>>,
}

/// As the batcher sees it.
#[derive(Debug)]
pub(crate) struct BatcherInbox {
    messages: UnboundedReceiver<BatcherMessage>,
    waiting: Arc<AtomicUsize>,
}

pub(crate) fn batcher_queue() -> (BatcherQueue, BatcherInbox) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let queue = BatcherQueue { messages: sender, waiting: waiting.clone(), state: Arc::default() };
    (queue, BatcherInbox { messages: receiver, waiting })
}

impl BatcherQueue {
    pub(crate) fn send(&self, message: BatcherMessage) -> Result<(), BatcherGone> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        self.messages.send(message).map_err(|_| BatcherGone)
    }

    /// Has a command carried out by the batcher; on this thread instead if the caller is alone, and nobody is at work.
    pub(crate) fn submit(&self, submission: Submission, is_alone: bool) -> Result<(), BatcherGone> {
        let Some(mut state) = is_alone.then(|| self.idle_state()).flatten() else {
            return self.send(BatcherMessage::Commands(vec![submission]));
        };
        let stop_on_panic = StopOnPanic(self);
        state.commit_here(submission);
        drop(stop_on_panic);
        if state.is_idle() {
            return Ok(());
        }
        drop(state);
        self.send(BatcherMessage::GoOn)
    }

    /// From now on callers may work with it.
    pub(crate) fn lend(&self, state: Arc<Mutex<BatcherState>>) {
        // There is one batcher, which starts once.
        drop(self.state.set(state));
    }

    fn idle_state(&self) -> Option<MutexGuard<'_, BatcherState>> {
        let state = self.state.get()?.try_lock().ok()?;
        let is_first = self.waiting.load(Ordering::Acquire) == 0 && !self.messages.is_closed();
        (is_first && state.is_idle() && state.commit_micros() <= CALLER_WAITS_MICROS).then_some(state)
    }
}

/// A round that a panic leaves half done is nobody's to go on with: the batcher ends, as it does when it panics itself.
struct StopOnPanic<'q>(&'q BatcherQueue);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(self.0.send(BatcherMessage::Stop));
        }
    }
}

impl std::fmt::Debug for BatcherQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatcherQueue").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl BatcherInbox {
    pub(crate) async fn recv(&mut self) -> Option<BatcherMessage> {
        self.messages.recv().await
    }

    pub(crate) fn try_recv(&mut self) -> Option<BatcherMessage> {
        self.messages.try_recv().ok()
    }

    /// A message that was received is in the rounds.
    pub(crate) fn taken(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn close(&mut self) {
        self.messages.close();
    }
}
