//! The writer: one thread that gathers the batches waiting for it into one transaction.
//!
//! Invariant: an answer is sent after the commit is durable, never before; batches are applied in the order they came.

use std::sync::Arc;
use std::thread::JoinHandle;

use ordo_store::{Batch, Fault, Outcome};
use tokio::sync::{mpsc, oneshot};

use crate::commit::Writing;
use crate::handle::{Done, Handle};

/// One transaction gathers at most this many items,
pub const GATHERED_ITEMS_MAX: usize = 8_192;
/// or about this many bytes; a single batch may be larger.
pub const GATHERED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Batches that wait for the writer; whoever comes next waits for a place.
pub const QUEUED_BATCHES_MAX: usize = 1_024;

type Answer = Result<Vec<Outcome>, Fault>;
type Task = Box<dyn FnOnce(&Handle) + Send>;

enum Work {
    Commit(Waiting),
    Task(Task),
}

struct Waiting {
    batch: Batch,
    answer: oneshot::Sender<Answer>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    /// None once the writer is told to end.
    queue: Option<mpsc::Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(handle: Arc<Handle>) -> Result<Writer, Fault> {
        let (queue, work) = mpsc::channel(QUEUED_BATCHES_MAX);
        let thread = std::thread::Builder::new()
            .name("ordo-writer".into())
            .spawn(move || run(&handle, work))
            .map_err(|error| Fault::unavailable("starting the writer", error))?;
        Ok(Writer { queue: Some(queue), thread: Some(thread) })
    }

    pub(crate) async fn commit(&self, batch: Batch) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.send(Work::Commit(Waiting { batch, answer })).await?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Does something else that writes, in its turn.
    pub(crate) async fn task<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Handle) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (answer, answered) = oneshot::channel();
        let task = move |handle: &Handle| {
            // Whoever asked may be gone; the work is done all the same.
            let _ = answer.send(task(handle));
        };
        self.send(Work::Task(Box::new(task))).await?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    async fn send(&self, work: Work) -> Result<(), Fault> {
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(work).await.map_err(|_| gone())
    }
}

/// What was queued is still committed; then the thread ends.
impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone() -> Fault {
    Fault::unavailable("committing", "the writer has ended: restart Ordo")
}

fn run(handle: &Handle, mut work: mpsc::Receiver<Work>) {
    while let Some(first) = work.blocking_recv() {
        match first {
            Work::Task(task) => task(handle),
            Work::Commit(waiting) => {
                let (gathered, task) = gather(waiting, &mut work);
                commit_gathered(handle, gathered);
                if let Some(task) = task {
                    task(handle);
                }
            }
        }
    }
}

/// Takes what is queued behind the first batch, up to the limits or to a task.
fn gather(first: Waiting, work: &mut mpsc::Receiver<Work>) -> (Vec<Waiting>, Option<Task>) {
    let (mut items, mut bytes) = (first.batch.items.len(), first.batch.bytes());
    let mut gathered = vec![first];
    while items < GATHERED_ITEMS_MAX && bytes < GATHERED_BYTES_MAX {
        match work.try_recv() {
            Ok(Work::Commit(next)) => {
                items += next.batch.items.len();
                bytes += next.batch.bytes();
                gathered.push(next);
            }
            Ok(Work::Task(task)) => return (gathered, Some(task)),
            Err(_) => break,
        }
    }
    (gathered, None)
}

fn commit_gathered(handle: &Handle, gathered: Vec<Waiting>) {
    let (batches, answers): (Vec<Batch>, Vec<_>) =
        gathered.into_iter().map(|waiting| (waiting.batch, waiting.answer)).unzip();
    for (answer, outcomes) in answers.into_iter().zip(commit_together(handle, &batches)) {
        let _ = answer.send(outcomes);
    }
}

/// One answer per batch. Damage at one entity must not keep all others from being written:
/// then each batch gets its own transaction.
fn commit_together(handle: &Handle, batches: &[Batch]) -> Vec<Answer> {
    match commit(handle, batches) {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        Err(Fault::Damaged { .. }) if batches.len() > 1 => {
            batches.iter().map(|batch| commit_one(handle, batch)).collect()
        }
        Err(fault) => batches.iter().map(|_| Err(fault.clone())).collect(),
    }
}

pub(crate) fn commit_one(handle: &Handle, batch: &Batch) -> Answer {
    let outcomes = commit(handle, std::slice::from_ref(batch))?;
    Ok(outcomes.into_iter().flatten().collect())
}

fn commit(handle: &Handle, batches: &[Batch]) -> Result<Vec<Vec<Outcome>>, Fault> {
    handle.write(|transaction| {
        let mut writing = Writing::begin(transaction)?;
        let outcomes = batches.iter().map(|batch| writing.apply(batch)).collect::<Result<_, Fault>>()?;
        Ok(if writing.end()? { Done::Write(outcomes) } else { Done::Nothing(outcomes) })
    })
}
