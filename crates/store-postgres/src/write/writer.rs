//! The writer: one task that gathers the batches waiting for it into one transaction, and sees it through.
//!
//! Invariant: batches are applied in the order they came; an answer is sent after the commit is durable. A commit of
//! which nothing was heard is looked up under lock before it is tried again, so nothing is written twice.

use std::sync::Arc;
use std::time::Duration;

use ordo_store::{Batch, CommitOutcome, CommitResult, Fault, Partition};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::connection::connect::ConnectionPools;
use crate::fault::Trouble;
use crate::hints::HintChannel;
use crate::write::commit::{Tried, UnconfirmedCommit, try_once};

/// One transaction gathers at most this many items,
const GATHERED_ITEMS_MAX: usize = 8_192;
/// or about this many bytes; a single batch may be larger.
const GATHERED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Batches that wait for the writer; a further one waits for room.
const QUEUED_BATCHES_MAX: usize = 1_024;

/// What passes is tried again after these pauses; then the caller hears of it.
const PAUSES_MS: [u64; 5] = [10, 50, 150, 400, 800];
/// Not knowing is worse than waiting: a commit of which nothing was heard is asked for this much longer.
const UNKNOWN_PAUSES_MS: [u64; 15] = [1_000; 15];
/// A try that takes longer has lost its server.
const TRY_PATIENCE: Duration = Duration::from_secs(60);

struct PendingBatch {
    batch: Batch,
    answer: oneshot::Sender<CommitResult>,
}

#[derive(Debug, Clone)]
pub(crate) struct PostgresWriter {
    queue: mpsc::Sender<PendingBatch>,
}

impl PostgresWriter {
    /// `name` has its row in the table of writers.
    pub(crate) fn start(database: ConnectionPools, name: Uuid, hints: Arc<HintChannel>) -> PostgresWriter {
        let (queue, waiting) = mpsc::channel(QUEUED_BATCHES_MAX);
        tokio::spawn(run(Committing { database, name, hints }, waiting));
        PostgresWriter { queue }
    }

    pub(crate) async fn commit(&self, batch: Batch) -> CommitResult {
        let (answer, answered) = oneshot::channel();
        self.queue.send(PendingBatch { batch, answer }).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> Fault {
    Fault::unavailable("committing", "the writer has ended: restart Ordo")
}

struct Committing {
    database: ConnectionPools,
    name: Uuid,
    hints: Arc<HintChannel>,
}

async fn run(committing: Committing, mut waiting: mpsc::Receiver<PendingBatch>) {
    while let Some(first) = waiting.recv().await {
        let (batches, answers) = gather(first, &mut waiting);
        let together = committing.commit(&batches).await;
        for (answer, outcomes) in answers.into_iter().zip(committing.each(&batches, together).await) {
            // Whoever asked may be gone; what is durable is durable.
            let _ = answer.send(outcomes);
        }
    }
}

/// Takes what is queued behind the first batch, up to the limits.
fn gather(
    first: PendingBatch,
    waiting: &mut mpsc::Receiver<PendingBatch>,
) -> (Vec<Batch>, Vec<oneshot::Sender<CommitResult>>) {
    let (mut items, mut bytes) = (first.batch.items.len(), first.batch.bytes());
    let (mut batches, mut answers) = (vec![first.batch], vec![first.answer]);
    while items < GATHERED_ITEMS_MAX && bytes < GATHERED_BYTES_MAX {
        let Ok(PendingBatch { batch, answer }) = waiting.try_recv() else { break };
        items += batch.items.len();
        bytes += batch.bytes();
        batches.push(batch);
        answers.push(answer);
    }
    (batches, answers)
}

impl Committing {
    /// One answer per batch. What is wrong with one of them must not keep the others from being written.
    async fn each(&self, batches: &[Batch], together: Result<Vec<Vec<CommitOutcome>>, Fault>) -> Vec<CommitResult> {
        match together {
            Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
            Err(Fault::Damaged { .. }) if batches.len() > 1 => {
                let mut answers = Vec::with_capacity(batches.len());
                for batch in batches {
                    let alone = self.commit(std::slice::from_ref(batch)).await;
                    answers.push(alone.map(|outcomes| outcomes.into_iter().flatten().collect()));
                }
                answers
            }
            Err(fault) => batches.iter().map(|_| Err(fault.clone())).collect(),
        }
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Vec<CommitOutcome>>, Fault> {
        let mut unknown: Option<UnconfirmedCommit> = None;
        let mut tries = 0;
        loop {
            let trouble = match self.try_once(batches, unknown.as_ref()).await {
                Tried::Done { outcomes, partitions } => return Ok(self.done(outcomes, &partitions)),
                Tried::Earlier { outcomes } => {
                    let UnconfirmedCommit { partitions, .. } = unknown.take().ok_or_else(gone)?;
                    return Ok(self.done(outcomes, &partitions));
                }
                Tried::Broken { trouble, signed } => {
                    unknown = signed.or(unknown);
                    trouble
                }
            };
            let Some(pause) = pause(&trouble, tries, unknown.is_some()) else {
                return Err(trouble.into_fault("committing"));
            };
            tracing::debug!(?trouble, tries, unknown = unknown.is_some(), "a commit is tried again");
            tries += 1;
            tokio::time::sleep(pause).await;
        }
    }

    async fn try_once(&self, batches: &[Batch], earlier: Option<&UnconfirmedCommit>) -> Tried {
        let client = match self.database.writer().await {
            Ok(client) => client,
            Err(trouble) => return Tried::Broken { trouble, signed: None },
        };
        let tried = tokio::time::timeout(TRY_PATIENCE, try_once(&client, self.name, batches, earlier)).await;
        // What became of a commit that was under way then is lost from sight: the fault says that it is not known.
        let late = |late| Tried::Broken { trouble: Fault::unavailable("committing", late).into(), signed: None };
        let tried = tried.unwrap_or_else(late);
        if matches!(tried, Tried::Broken { .. }) {
            client.close();
        }
        tried
    }

    fn done(&self, outcomes: Vec<Vec<CommitOutcome>>, partitions: &[Partition]) -> Vec<Vec<CommitOutcome>> {
        self.hints.committed(partitions);
        outcomes
    }
}

fn pause(trouble: &Trouble, tries: usize, unknown: bool) -> Option<Duration> {
    let pauses = PAUSES_MS.iter().chain(UNKNOWN_PAUSES_MS.iter().filter(|_| unknown));
    match trouble {
        Trouble::Passing(_) => pauses.copied().nth(tries).map(Duration::from_millis),
        Trouble::Lasting(_) => None,
    }
}
