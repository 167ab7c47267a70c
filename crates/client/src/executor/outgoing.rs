//! What goes back to the server: log lines and reports, in batches.
//!
//! Invariant: the lines of a run are sent before its report. A report is sent until the server has answered it.

use std::collections::HashMap;
use std::time::Duration;

use ordo_api::reports::{LogChunk, LogChunks, NewLogLine, Report, ReportResults, Reports};
use ordo_model::{FencingToken, RunId};
use serde::Serialize;
use tokio::sync::mpsc;

use super::{PAUSE, is_passing};
use crate::Client;

/// How much goes into one batch.
const BATCH_MAX: usize = 2_000;
/// How long lines are gathered when nothing else is to be sent.
const GATHER: Duration = Duration::from_millis(100);
/// The most lines of one chunk.
const CHUNK_LINES: usize = 1_000;
/// How often log lines are tried; a report is tried for ever.
const LOG_TRIES: u32 = 5;

#[derive(Debug)]
pub(super) enum OutgoingItem {
    Line { run_id: RunId, token: FencingToken, line: NewLogLine },
    Report(Report),
}

pub(super) struct OutgoingLogs {
    client: Client,
    receive: mpsc::UnboundedReceiver<OutgoingItem>,
    /// The next chunk of each attempt.
    seqs: HashMap<(RunId, FencingToken), u64>,
}

impl OutgoingLogs {
    pub(super) fn new(client: Client, receive: mpsc::UnboundedReceiver<OutgoingItem>) -> OutgoingLogs {
        OutgoingLogs { client, receive, seqs: HashMap::new() }
    }

    pub(super) async fn run(mut self) {
        let mut items = Vec::new();
        while self.receive.recv_many(&mut items, BATCH_MAX).await > 0 {
            if items.iter().all(|item| matches!(item, OutgoingItem::Line { .. })) {
                tokio::time::sleep(GATHER).await;
                while items.len() < BATCH_MAX
                    && let Ok(item) = self.receive.try_recv()
                {
                    items.push(item);
                }
            }
            self.send(std::mem::take(&mut items)).await;
        }
    }

    async fn send(&mut self, items: Vec<OutgoingItem>) {
        let mut lines: HashMap<(RunId, FencingToken), Vec<NewLogLine>> = HashMap::new();
        let mut reports = Vec::new();
        for item in items {
            match item {
                OutgoingItem::Line { run_id, token, line } => lines.entry((run_id, token)).or_default().push(line),
                OutgoingItem::Report(report) => reports.push(report),
            }
        }
        let mut chunks = Vec::new();
        for ((run_id, token), lines) in lines {
            let seq = self.seqs.entry((run_id, token)).or_default();
            for part in lines.chunks(CHUNK_LINES) {
                chunks.push(LogChunk { run_id, token, seq: *seq, lines: part.to_vec() });
                *seq += 1;
            }
        }
        if !chunks.is_empty() {
            self.post("/v1/runs/logs", &LogChunks { chunks }, Some(LOG_TRIES)).await;
        }
        if !reports.is_empty() {
            for report in &reports {
                self.seqs.remove(&(report.run_id, report.token));
            }
            self.post("/v1/runs/report", &Reports { reports }, None).await;
        }
    }

    /// What the server answers to each part needs no deed: what was refused is not ours any more.
    async fn post(&self, path: &str, body: &impl Serialize, tries: Option<u32>) {
        let mut tried = 0;
        loop {
            match self.client.post::<ReportResults, _>(path, body).await {
                Ok(_) => return,
                Err(error) if is_passing(&error) && tries.is_none_or(|most| tried < most) => {
                    tried += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(_) => return,
            }
        }
    }
}
