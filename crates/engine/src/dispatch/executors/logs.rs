//! Log lines of remote executors, kept under the same limits as those of tools in this process.
//!
//! Invariant: a chunk's place follows from its number, so one that is sent twice is stored once, also across a restart.

use ordo_model::executor::Speaker;
use ordo_model::limits::{LOG_LINE_MAX_BYTES, LOG_MAX_BYTES};
use ordo_model::text::shortened;
use ordo_model::{FencingToken, LogStream, RunId, Timestamp};
use ordo_store::Chunk;

use super::reports::{RemoteReport, ReportError};
use super::run_lease::RunLease;
use crate::engine::Engine;
use crate::read::change_hint::ChangeHint;
use crate::run::log_writer::line_seq;
use crate::run::logs::LogLine;
use crate::run::secrets::{ASIDE_MIN_BYTES, aside};

/// How many lines one chunk may have; more are cut.
const CHUNK_LINES_MAX: usize = 1_024;
/// The number of the last chunk that has a place.
const SEQ_MAX: u64 = u32::MAX as u64 / CHUNK_LINES_MAX as u64;

/// Lines of one attempt; `seq` counts its chunks from 0.
#[derive(Debug, Clone)]
pub struct RemoteLogChunk {
    pub run_id: RunId,
    pub token: FencingToken,
    pub seq: u64,
    pub lines: Vec<RemoteLine>,
}

#[derive(Debug, Clone)]
pub struct RemoteLine {
    pub at: Timestamp,
    pub stream: LogStream,
    pub text: String,
}

impl Engine {
    /// Stores chunks of log. Each is answered for itself, when it is durable.
    pub async fn store_logs(&self, speaker: Speaker, chunks: Vec<RemoteLogChunk>) -> Vec<Result<(), ReportError>> {
        let mut answers = Vec::with_capacity(chunks.len());
        let (mut stored, mut runs) = (Vec::new(), Vec::new());
        for (run_id, chunk) in self.covered(speaker, chunks).await {
            answers.push(match chunk {
                Ok(chunk) => {
                    stored.extend(chunk);
                    runs.push(run_id);
                    Ok(())
                }
                Err(error) => Err(error),
            });
        }
        if stored.is_empty() {
            return answers;
        }
        if let Err(fault) = self.store_chunks(stored).await {
            answers.iter_mut().filter(|answer| answer.is_ok()).for_each(|answer| {
                *answer = Err(ReportError::Store(fault.clone()));
            });
        }
        for run_id in runs {
            self.hint(ChangeHint::Log(run_id));
        }
        answers
    }

    /// Takes in reports together with the last lines of their runs: both are durable in one round of the store. Lines that
    /// cannot be stored cost no report.
    pub async fn report_with_logs(
        &self,
        speaker: Speaker,
        chunks: Vec<RemoteLogChunk>,
        reports: Vec<RemoteReport>,
    ) -> Vec<Result<(), ReportError>> {
        if chunks.is_empty() {
            return self.report(speaker, reports).await;
        }
        let (mut stored, mut runs) = (Vec::new(), Vec::new());
        for (run_id, chunk) in self.covered(speaker, chunks).await {
            stored.extend(chunk.ok().flatten());
            runs.push(run_id);
        }
        // The lines reach the store first: they are polled first.
        let (lines, answers) = tokio::join!(self.store_chunks(stored), self.report(speaker, reports));
        if let Err(fault) = lines {
            tracing::warn!(error = %crate::commit::batcher::chain(fault.as_ref()), "lines of runs could not be stored");
        }
        runs.into_iter().for_each(|run_id| self.hint(ChangeHint::Log(run_id)));
        answers
    }

    /// As they are stored. Many lines take a while to be covered: not where requests are served.
    async fn covered(
        &self,
        speaker: Speaker,
        chunks: Vec<RemoteLogChunk>,
    ) -> Vec<(RunId, Result<Option<Chunk>, ReportError>)> {
        self.host_holders(speaker, chunks.iter().map(|chunk| chunk.run_id)).await;
        let bytes: usize = chunks.iter().flat_map(|chunk| &chunk.lines).map(|line| line.text.len()).sum();
        let engine = self.clone();
        let cover = move || chunks.into_iter().map(|chunk| (chunk.run_id, engine.chunk(speaker, chunk))).collect();
        if bytes < ASIDE_MIN_BYTES { cover() } else { aside(cover).await }
    }

    fn chunk(&self, speaker: Speaker, chunk: RemoteLogChunk) -> Result<Option<Chunk>, ReportError> {
        let RemoteLogChunk { run_id, token, seq, lines } = chunk;
        let held = self.registry().lease_of(speaker, run_id);
        let held = held.filter(|held| held.token == token).ok_or(ReportError::Stale)?;
        let bytes = lines.iter().map(|line| line.text.len().min(LOG_LINE_MAX_BYTES) + 1).sum();
        let Some(room) = self.registry().count_log(run_id, seq, bytes, LOG_MAX_BYTES) else { return Ok(None) };
        let kept = cut(lines, &held, room, bytes);
        if kept.is_empty() || seq > SEQ_MAX {
            return Ok(None);
        }
        let place = u32::try_from(seq * CHUNK_LINES_MAX as u64).unwrap_or(u32::MAX);
        let bytes = serde_json::to_vec(&kept).expect("lines are plain data");
        Ok(Some(Chunk { owner: run_id.0, seq: line_seq(held.attempt, place), bytes }))
    }
}

/// The lines for which there is room, and a word about the rest.
fn cut(lines: Vec<RemoteLine>, held: &RunLease, mut room: usize, bytes: usize) -> Vec<LogLine> {
    let attempt = held.attempt;
    let (had_room, fits) = (room > 0, bytes <= room);
    let mut kept = Vec::new();
    for RemoteLine { at, stream, text } in lines.into_iter().take(CHUNK_LINES_MAX - 1) {
        let covered = held.mask.text(&text);
        let text = shortened(&covered, LOG_LINE_MAX_BYTES).to_owned();
        let Some(left) = room.checked_sub(text.len() + 1) else { break };
        room = left;
        kept.push(LogLine { attempt, at, stream, text });
    }
    if had_room && !fits {
        let at = kept.last().map_or(Timestamp::MIN, |line| line.at);
        let text = format!("output cut: more than {LOG_MAX_BYTES} bytes are not kept");
        kept.push(LogLine { attempt, at, stream: LogStream::System, text });
    }
    kept
}
