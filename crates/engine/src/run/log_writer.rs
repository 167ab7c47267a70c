//! Gathers log lines of all running attempts for a moment and stores them together.
//!
//! Invariant: a line's number is (attempt, place in the attempt); chunks of one run sort by it and are written once.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use ordo_model::RunId;
use ordo_store::Chunk;
use tokio::sync::{mpsc, oneshot};

use crate::commit::batcher::{BatcherMessage, chain};
use crate::commit::queue::BatcherQueue;
use crate::read::change_hint::{ChangeHint, ChangeHints};
use crate::run::logs::LogLine;

/// How long lines are gathered before they are stored.
const GATHER: Duration = Duration::from_millis(100);
/// How many lines are gathered at most.
const GATHER_MAX: usize = 2_000;
/// Where the chunks of a large result begin; log lines stay below.
pub const RESULT_SEQ: u64 = 1 << 62;

/// The number of a line: later attempts sort behind earlier ones.
pub fn line_seq(attempt: u32, place: u32) -> u64 {
    (u64::from(attempt) << 32) | u64::from(place)
}

#[derive(Debug)]
pub(crate) struct LogWriter {
    pub lines: mpsc::UnboundedReceiver<(RunId, LogLine)>,
    pub flushes: mpsc::UnboundedReceiver<(RunId, oneshot::Sender<()>)>,
    pub(crate) batcher: BatcherQueue,
    pub live: ChangeHints,
    places: HashMap<(RunId, u32), u32>,
    gathered: Vec<(RunId, LogLine)>,
}

impl LogWriter {
    pub(crate) fn new(
        lines: mpsc::UnboundedReceiver<(RunId, LogLine)>,
        flushes: mpsc::UnboundedReceiver<(RunId, oneshot::Sender<()>)>,
        batcher: BatcherQueue,
        live: ChangeHints,
    ) -> LogWriter {
        LogWriter { lines, flushes, batcher, live, places: HashMap::new(), gathered: Vec::new() }
    }

    pub(crate) async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                flush = self.flushes.recv() => match flush {
                    Some((run, done)) => self.flush(run, done).await,
                    None => break,
                },
                line = self.lines.recv() => match line {
                    Some(line) => self.gather(line).await,
                    None => break,
                },
            }
        }
        self.store().await;
    }

    /// Waits a moment for more lines, then stores them. A flush ends the waiting.
    async fn gather(&mut self, first: (RunId, LogLine)) {
        self.gathered.push(first);
        let end = tokio::time::sleep(GATHER);
        tokio::pin!(end);
        while self.gathered.len() < GATHER_MAX {
            tokio::select! {
                biased;
                () = &mut end => break,
                Some((run, done)) = self.flushes.recv() => return self.flush(run, done).await,
                line = self.lines.recv() => match line {
                    Some(line) => self.gathered.push(line),
                    None => break,
                },
            }
        }
        self.store().await;
    }

    /// All lines of a run that is over are stored before `done` is said.
    async fn flush(&mut self, run: RunId, done: oneshot::Sender<()>) {
        while let Ok(line) = self.lines.try_recv() {
            self.gathered.push(line);
        }
        self.store().await;
        self.places.retain(|(known, _), _| *known != run);
        // Whoever waited may have gone away; the lines are stored either way.
        done.send(()).unwrap_or(());
    }

    async fn store(&mut self) {
        let mut by_attempt: BTreeMap<(RunId, u32), Vec<LogLine>> = BTreeMap::new();
        for (run, line) in self.gathered.drain(..) {
            by_attempt.entry((run, line.attempt)).or_default().push(line);
        }
        if by_attempt.is_empty() {
            return;
        }
        let runs: Vec<RunId> = by_attempt.keys().map(|(run, _)| *run).collect();
        let chunks = by_attempt.into_iter().map(|(key, lines)| self.chunk(key, &lines)).collect();
        let (reply, done) = oneshot::channel();
        drop(self.batcher.send(BatcherMessage::Chunks { chunks, reply }));
        match done.await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => tracing::error!(error = %chain(&fault), "log lines could not be stored"),
            Err(_) => tracing::error!("log lines could not be stored: the batcher is gone"),
        }
        for run in runs {
            self.live.send(ChangeHint::Log(run));
        }
    }

    fn chunk(&mut self, key: (RunId, u32), lines: &[LogLine]) -> Chunk {
        let place = self.places.entry(key).or_default();
        let seq = line_seq(key.1, *place);
        *place = place.saturating_add(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        Chunk { owner: key.0.0, seq, bytes: serde_json::to_vec(lines).expect("lines are plain data") }
    }
}
