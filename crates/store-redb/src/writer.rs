//! The writer: one thread that gathers the batches waiting for it into one record and one transaction.
//!
//! Invariant: an answer is sent after the commit is durable, never before; batches are applied in the order they came.
//! Whatever is queued while the writer works is taken by its next commit; nobody waits for a clock.

use std::sync::Arc;
use std::thread::JoinHandle;

use ordo_store::{Batch, CommitResult, Fault};
use tokio::sync::{mpsc, oneshot};

use crate::handle::Handle;

/// One transaction gathers at most this many items,
pub const GATHERED_ITEMS_MAX: usize = 8_192;
/// or about this many bytes; a single batch may be larger.
pub const GATHERED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Batches that wait for the writer; a further one waits for room.
pub const QUEUED_BATCHES_MAX: usize = 1_024;

type Task = Box<dyn FnOnce(&Handle) + Send>;

enum WriterTask {
    Commit(QueuedBatch),
    Task(Task),
}

struct QueuedBatch {
    batch: Batch,
    answer: oneshot::Sender<CommitResult>,
}

#[derive(Debug)]
pub(crate) struct RedbWriter {
    /// None once the writer is to end.
    queue: Option<mpsc::Sender<WriterTask>>,
    thread: Option<JoinHandle<()>>,
}

impl RedbWriter {
    pub(crate) fn start(handle: Arc<Handle>) -> Result<RedbWriter, Fault> {
        let (queue, work) = mpsc::channel(QUEUED_BATCHES_MAX);
        let thread = std::thread::Builder::new()
            .name("ordo-writer".into())
            .spawn(move || run(&handle, work))
            .map_err(|error| Fault::unavailable("starting the writer", error))?;
        Ok(RedbWriter { queue: Some(queue), thread: Some(thread) })
    }

    pub(crate) async fn commit(&self, batch: Batch) -> CommitResult {
        let (answer, answered) = oneshot::channel();
        self.send(WriterTask::Commit(QueuedBatch { batch, answer })).await?;
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
        self.send(WriterTask::Task(Box::new(task))).await?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    async fn send(&self, work: WriterTask) -> Result<(), Fault> {
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(work).await.map_err(|_| gone())
    }
}

/// What was queued is still committed; then the thread ends.
impl Drop for RedbWriter {
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

fn run(handle: &Handle, mut work: mpsc::Receiver<WriterTask>) {
    while let Some(first) = work.blocking_recv() {
        match first {
            WriterTask::Task(task) => task(handle),
            WriterTask::Commit(waiting) => {
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
fn gather(first: QueuedBatch, work: &mut mpsc::Receiver<WriterTask>) -> (Vec<QueuedBatch>, Option<Task>) {
    let (mut items, mut bytes) = (first.batch.items.len(), first.batch.bytes());
    let mut gathered = vec![first];
    while items < GATHERED_ITEMS_MAX && bytes < GATHERED_BYTES_MAX {
        match work.try_recv() {
            Ok(WriterTask::Commit(next)) => {
                items += next.batch.items.len();
                bytes += next.batch.bytes();
                gathered.push(next);
            }
            Ok(WriterTask::Task(task)) => return (gathered, Some(task)),
            Err(_) => break,
        }
    }
    (gathered, None)
}

fn commit_gathered(handle: &Handle, gathered: Vec<QueuedBatch>) {
    let (batches, waiting): (Vec<Batch>, Vec<_>) =
        gathered.into_iter().map(|waiting| (waiting.batch, waiting.answer)).unzip();
    let answers = handle.commit(&batches).unwrap_or_else(|fault| vec![Err(fault); batches.len()]);
    for (waiting, answer) in waiting.into_iter().zip(answers) {
        // Whoever asked may be gone; what is committed stays so.
        let _ = waiting.send(answer);
    }
}

pub(crate) fn commit_one(handle: &Handle, batch: &Batch) -> CommitResult {
    handle.commit(std::slice::from_ref(batch))?.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))
}
