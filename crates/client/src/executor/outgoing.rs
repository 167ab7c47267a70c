//! What goes back to the server: log lines and reports, in batches.
//!
//! Invariant: the lines of a run are sent before its report, or with it. A report waits for nothing, and is sent until the
//! server has answered it, or the executor leaves a server that is gone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ordo_api::reports::{LogChunk, LogChunks, NewLogLine, Report, ReportResults, Reports};
use ordo_model::{FencingToken, RunId};
use serde::Serialize;
use tokio::sync::mpsc;

use super::servers::Servers;
use super::{PAUSE, is_passing};

/// How much goes into one batch.
const BATCH_MAX: usize = 2_000;
/// How long lines are gathered when nothing else is to be sent; a report ends that.
const GATHER: Duration = Duration::from_millis(100);
/// Lines of so much text go along with the reports; more go ahead of them.
const ALONG_MAX_BYTES: usize = 128 * 1024;
/// The most lines of one chunk.
const CHUNK_LINES: usize = 1_000;
/// How often log lines are tried; a report is tried for ever.
const LOG_TRIES: u32 = 5;

#[derive(Debug)]
pub(super) enum OutgoingItem {
    Line { run_id: RunId, token: FencingToken, line: NewLogLine },
    Report(Report),
}

impl OutgoingItem {
    fn is_line(&self) -> bool {
        matches!(self, OutgoingItem::Line { .. })
    }
}

pub(super) struct OutgoingLogs {
    servers: Arc<Servers>,
    receive: mpsc::UnboundedReceiver<OutgoingItem>,
    /// The next chunk of each attempt.
    seqs: HashMap<(RunId, FencingToken), u64>,
}

impl OutgoingLogs {
    pub(super) fn new(servers: Arc<Servers>, receive: mpsc::UnboundedReceiver<OutgoingItem>) -> OutgoingLogs {
        OutgoingLogs { servers, receive, seqs: HashMap::new() }
    }

    pub(super) async fn run(mut self) {
        let mut items = Vec::new();
        while self.receive.recv_many(&mut items, BATCH_MAX).await > 0 {
            if items.iter().all(OutgoingItem::is_line) {
                // What has come by then is sent.
                drop(tokio::time::timeout(GATHER, self.gather(&mut items)).await);
            }
            self.send(std::mem::take(&mut items)).await;
        }
    }

    /// Gathers lines until there is a report among them, or nothing more comes.
    async fn gather(&mut self, items: &mut Vec<OutgoingItem>) {
        while items.len() < BATCH_MAX
            && items.last().is_none_or(OutgoingItem::is_line)
            && let Some(item) = self.receive.recv().await
        {
            items.push(item);
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
        for report in &reports {
            self.seqs.remove(&(report.run_id, report.token));
        }
        let bytes: usize = chunks.iter().flat_map(|chunk| &chunk.lines).map(|line| line.text.len()).sum();
        if !reports.is_empty() && bytes <= ALONG_MAX_BYTES {
            return self.report(reports, chunks).await;
        }
        if !chunks.is_empty() {
            // A chunk that is refused belongs to an attempt that is not ours any more.
            self.post("/v1/runs/logs", &LogChunks { chunks }, Some(LOG_TRIES)).await;
        }
        self.report(reports, Vec::new()).await;
    }

    /// Each is answered for itself: what the server could not take now is sent again, what it refused is not ours any more.
    async fn report(&self, mut reports: Vec<Report>, mut chunks: Vec<LogChunk>) {
        while !reports.is_empty() {
            let body = Reports { reports, chunks: std::mem::take(&mut chunks) };
            let Some(answer) = self.post("/v1/runs/report", &body, None).await else { return };
            let answered = body.reports.into_iter().zip(answer.results);
            reports = answered.filter(|(_, result)| result.status >= 500).map(|(report, _)| report).collect();
            if !reports.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// None: the server does not take it.
    async fn post(&self, path: &str, body: &impl Serialize, tries: Option<u32>) -> Option<ReportResults> {
        let mut tried = 0;
        loop {
            match self.servers.post(path, body).await {
                Ok(answer) => return Some(answer),
                Err(error) if is_passing(&error) && tries.is_none_or(|most| tried < most) => {
                    tried += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ordo_api::reports::ReportStatus;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::{Client, Target};

    /// A server that gives these answers, one after the other; returns what it was asked.
    async fn server(answers: Vec<Value>) -> (Client, JoinHandle<Vec<Value>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = tokio::spawn(async move {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                asked.push(body(&mut stream).await);
                let answer = answer.to_string();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let answer = format!("{head}content-length: {}\r\n\r\n{answer}", answer.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            asked
        });
        (Client::new(Target::Http { url }, None), asked)
    }

    async fn body(stream: &mut TcpStream) -> Value {
        let (mut read, mut part) = (String::new(), [0; 4096]);
        loop {
            let length = stream.read(&mut part).await.unwrap();
            assert!(length > 0, "cut off after {read:?}");
            read.push_str(std::str::from_utf8(&part[..length]).unwrap());
            let body = read.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
            if let Ok(body) = serde_json::from_str(body) {
                return body;
            }
        }
    }

    fn run(number: u32) -> RunId {
        format!("00000000-0000-7000-8000-{number:012}").parse().unwrap()
    }

    fn report(number: u32) -> Report {
        let status = ReportStatus::Completed { result: Value::Null };
        Report { run_id: run(number), token: FencingToken(1), status }
    }

    #[tokio::test]
    async fn a_report_that_the_server_could_not_take_is_sent_again_and_the_others_are_not() {
        let result = |number: u32, status: u16| json!({ "run_id": run(number), "status": status });
        let first = json!({ "results": [result(1, 200), result(2, 503), result(3, 409)] });
        let (client, asked) = server(vec![first, json!({ "results": [result(2, 200)] })]).await;
        let (send, receive) = mpsc::unbounded_channel();
        for number in 1..=3 {
            send.send(OutgoingItem::Report(report(number))).unwrap();
        }
        drop(send);
        OutgoingLogs::new(Arc::new(Servers::new(client, Vec::new())), receive).run().await;
        let asked = asked.await.unwrap();
        let runs = |body: &Value| {
            let reports = body["reports"].as_array().unwrap().iter();
            reports.map(|one| one["run_id"].clone()).collect::<Vec<Value>>()
        };
        assert_eq!(runs(&asked[0]), [json!(run(1)), json!(run(2)), json!(run(3))]);
        assert_eq!(runs(&asked[1]), [json!(run(2))]);
    }
}
