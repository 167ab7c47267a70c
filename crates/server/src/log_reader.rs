//! Reads the log of a run in order, from any line on.
//!
//! Invariant: every stored line with a number of `from` and up is given once, however the lines lie in chunks. A chunk
//! may hold any number of lines, so a reader that begins in the middle looks from the start of the attempt.

use std::sync::Arc;

use ordo_engine::log_writer::{RESULT_SEQ, line_seq};
use ordo_engine::logs::LogLine;
use ordo_engine::queries::NumberedLine;
use ordo_model::RunId;
use ordo_store::{Chunk, Fault, Store};

/// How many chunks are read at once.
const CHUNKS_PER_READ: usize = 64;

pub(crate) struct LogReader {
    store: Arc<dyn Store>,
    run: RunId,
    /// The next chunk begins here or later.
    chunk: u64,
    /// The next line has this number or a greater one.
    from: u64,
}

impl LogReader {
    /// Begins behind the line with the number `last`, or at the beginning.
    pub(crate) fn after(store: Arc<dyn Store>, run: RunId, last: Option<u64>) -> LogReader {
        let from = last.map_or(0, |last| last.saturating_add(1));
        let attempt = u32::try_from(from >> 32).unwrap_or(u32::MAX);
        LogReader { store, run, chunk: line_seq(attempt, 0), from }
    }

    /// The next lines, at least one unless all that is stored by now was given.
    pub(crate) async fn next(&mut self) -> Result<Vec<NumberedLine>, Fault> {
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
