//! Reads the log of a run in order, from any line on.
//!
//! Invariant: every stored line with a number of `from` and up is given once, however the lines lie in chunks. A chunk
//! may hold any number of lines, so a reader that begins in the middle looks from the start of the attempt.

use std::sync::Arc;

use ordo_model::RunId;
use ordo_store::{Chunk, Fault, Store};

use crate::run::log_writer::{RESULT_SEQ, line_seq};
use crate::run::logs::LogLine;

/// How many chunks are read at once.
const CHUNKS_PER_READ: usize = 64;

/// A line of a log with the number by which a reader goes on after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedLine {
    pub seq: u64,
    pub line: LogLine,
}

pub struct LogReader {
    store: Arc<dyn Store>,
    run: RunId,
    /// The next chunk begins here or later.
    chunk: u64,
    /// The next line has this number or a greater one.
    from: u64,
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogReader").field("run", &self.run).field("from", &self.from).finish_non_exhaustive()
    }
}

impl LogReader {
    /// Begins behind the line with the number `last`, or at the beginning.
    pub fn after(store: Arc<dyn Store>, run: RunId, last: Option<u64>) -> LogReader {
        let from = last.map_or(0, |last| last.saturating_add(1));
        let attempt = u32::try_from(from >> 32).unwrap_or(u32::MAX);
        LogReader { store, run, chunk: line_seq(attempt, 0), from }
    }

    /// The next lines, at least one unless all that is stored by now was given.
    pub async fn next(&mut self) -> Result<Vec<NumberedLine>, Fault> {
        loop {
            let mut chunks = self.store.chunks(self.run.0, self.chunk, CHUNKS_PER_READ).await?;
            chunks.retain(|chunk| chunk.seq < RESULT_SEQ);
            if chunks.is_empty() {
                return Ok(Vec::new());
            }
            let mut lines = Vec::new();
            for chunk in &chunks {
                lines.extend(self.take(chunk)?);
            }
            if !lines.is_empty() {
                return Ok(lines);
            }
        }
    }

    fn take(&mut self, chunk: &Chunk) -> Result<Vec<NumberedLine>, Fault> {
        let unreadable = |e| Fault::damaged(format!("the log of run {} cannot be read: {e}", self.run));
        let stored: Vec<LogLine> = serde_json::from_slice(&chunk.bytes).map_err(unreadable)?;
        // An empty chunk is never written; one would be passed all the same.
        self.chunk = chunk.seq + (stored.len() as u64).max(1);
        let numbered = stored.into_iter().zip(chunk.seq..).map(|(line, seq)| NumberedLine { seq, line });
        let lines: Vec<NumberedLine> = numbered.filter(|line| line.seq >= self.from).collect();
        self.from = lines.last().map_or(self.from, |line| line.seq + 1);
        Ok(lines)
    }
}
