//! Who commits, as stories: a caller who is alone, or the batcher.

use ordo_model::job::{Command, Definition};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{JobId, Timestamp};
use ordo_store_redb::RedbStore;
use uuid::Uuid;

use super::*;
use crate::commit::command::SubmitError;
use crate::commit::job_command::{JobReply, Request};
use crate::commit::queue::batcher_queue;
use crate::time::clock::{Clock, SetClock};

/// A batcher that does not run, and its state, lent to callers.
struct Still {
    queue: BatcherQueue,
    inbox: BatcherInbox,
    state: Arc<Mutex<BatcherState>>,
}

impl Still {
    fn new() -> Still {
        Still::with_clock(Arc::new(SetClock::new(Timestamp::from_ms(1_900_000_000_000).unwrap())))
    }

    fn with_clock(clock: SharedClock) -> Still {
        let (queue, inbox) = batcher_queue();
        let (core, _) = mpsc::unbounded_channel();
        let rounds = Rounds::new(false, OUTBOX_FLUSH_DELAY, Arc::default());
        let store = Arc::new(RedbStore::in_memory().unwrap());
        let state = BatcherState::new(rounds, store, clock, core, ChangeHints::new(), Arc::default());
        let state = Arc::new(Mutex::new(state));
        queue.lend(state.clone());
        Still { queue, inbox, state }
    }

    fn submit(&self, job: u128, input: &str, is_alone: bool) -> oneshot::Receiver<JobReply> {
        let (submission, answer) = schedule(job, input).answered();
        drop(self.queue.submit(submission, is_alone));
        answer
    }

    /// The batcher does what was left to it, and ends.
    async fn run(self) {
        self.queue.send(BatcherMessage::Stop).unwrap();
        Batcher { state: self.state, inbox: self.inbox, may_block: true }.run().await;
    }
}

fn schedule(job: u128, input: &str) -> Request {
    let form = serde_json::json!({
        "label": "l", "tool_name": "noop", "tool_input": { "text": input }, "trigger": { "type": "manual" }
    });
    let definition: Definition = serde_json::from_value(form).unwrap();
    Request::new(JobId(Uuid::from_u128(job)), Command::Schedule { definition: Box::new(definition), held: false })
}

#[tokio::test]
async fn a_caller_who_is_alone_is_answered_without_the_batcher() {
    let mut still = Still::new();
    assert!(still.submit(1, "", true).try_recv().unwrap().is_ok());
    // However slow this machine is at the moment.
    still.state.lock().await.commit_micros = 0;
    let mut twice = still.submit(1, "", true);
    assert!(matches!(twice.try_recv().unwrap(), Err(SubmitError::Refused(_))), "it sees what the first left behind");
    assert!(still.inbox.try_recv().is_none(), "nothing is left for the batcher");
}

#[tokio::test]
async fn beside_others_a_command_goes_to_the_batcher() {
    let still = Still::new();
    let mut answer = still.submit(1, "", false);
    assert!(answer.try_recv().is_err(), "nobody has carried it out yet");
    still.run().await;
    assert!(answer.try_recv().unwrap().is_ok());
}

#[tokio::test]
async fn what_was_sent_before_goes_first() {
    let still = Still::new();
    let (first, mut first_answer) = schedule(1, "").answered();
    still.queue.send(BatcherMessage::Commands(vec![first])).unwrap();
    let mut second_answer = still.submit(1, "", true);
    assert!(second_answer.try_recv().is_err());
    still.run().await;
    assert!(first_answer.try_recv().unwrap().is_ok());
    assert!(second_answer.try_recv().unwrap().is_err(), "the job was there already");
}

#[tokio::test]
async fn while_the_batcher_is_at_work_nobody_takes_its_place() {
    let still = Still::new();
    let state = still.state.clone();
    let at_work = state.lock().await;
    let mut answer = still.submit(1, "", true);
    assert!(answer.try_recv().is_err());
    drop(at_work);
    still.run().await;
    assert!(answer.try_recv().unwrap().is_ok());
}

#[tokio::test]
async fn a_slow_disk_is_waited_for_by_the_batcher() {
    let still = Still::new();
    still.state.lock().await.commit_micros = 4_000;
    let mut answer = still.submit(1, "", true);
    assert!(answer.try_recv().is_err());
    still.run().await;
    assert!(answer.try_recv().unwrap().is_ok());
}

#[tokio::test]
async fn the_batcher_goes_on_with_what_is_too_large_to_be_committed_here() {
    let still = Still::new();
    let mut answer = still.submit(1, &"x".repeat(200_000), true);
    assert!(answer.try_recv().is_err(), "it is on its way");
    still.run().await;
    assert!(answer.try_recv().unwrap().is_ok());
}

/// Stands for a bug wherever a command is decided.
#[derive(Debug)]
struct BrokenClock;

impl Clock for BrokenClock {
    fn now(&self) -> Timestamp {
        panic!("a bug on purpose")
    }
}

#[tokio::test]
async fn a_caller_that_panics_at_work_ends_the_batcher() {
    let still = Still::with_clock(Arc::new(BrokenClock));
    let submitted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(still.submit(1, "", true))));
    assert!(submitted.is_err());
    let Still { queue, inbox, state } = still;
    Batcher { state, inbox, may_block: true }.run().await;
    let (submission, _) = schedule(2, "").answered();
    assert!(queue.submit(submission, true).is_err(), "nobody goes on with what is half done");
}

#[tokio::test]
async fn a_batcher_that_has_ended_is_not_replaced() {
    let Still { queue, inbox, state: _state } = Still::new();
    drop(inbox);
    let (submission, mut answer) = schedule(1, "").answered();
    assert!(queue.submit(submission, true).is_err());
    assert!(answer.try_recv().is_err(), "it was not carried out");
}
