//! Sends spans to the collector, many at a time.
//!
//! Invariant: one request at a time, each with an end; a collector that is down costs what is lost and one line a minute.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ordo_engine::clock::Stopwatch;
use ordo_model::Millis;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::record::SpanRecord;
use super::wire::{Resource, encode};
use crate::error::{Error, Result, chain};

const BATCH_MAX: usize = 512;
/// How long the first span of a batch waits for others.
const GATHERING: Duration = Duration::from_secs(1);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long the last spans may hold up the end of the daemon.
const FAREWELL: Duration = Duration::from_secs(2);
const REPORT_EVERY: Millis = Millis::from_secs(60);

#[derive(Debug)]
pub(crate) struct Exporter {
    client: reqwest::Client,
    url: reqwest::Url,
    resource: Resource,
    queue: mpsc::Receiver<SpanRecord>,
    /// Spans that were lost since the last report.
    dropped: Arc<AtomicU64>,
    reported: Option<Stopwatch>,
}

/// An exporter at work.
#[derive(Debug)]
pub(crate) struct Exporting {
    stop: mpsc::Sender<()>,
    task: JoinHandle<()>,
}

impl Exporter {
    pub(super) fn new(
        url: reqwest::Url,
        headers: HeaderMap,
        resource: Resource,
        queue: mpsc::Receiver<SpanRecord>,
        dropped: Arc<AtomicU64>,
    ) -> Result<Exporter> {
        let tls = ordo_tls::https([])
            .map_err(|error| Error::failed("cannot make a client for the collector").detail(error.to_string()))?;
        let client = reqwest::Client::builder()
            .default_headers(headers)
            .timeout(ANSWER_WITHIN)
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("ordo/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::failed("cannot make a client for the collector").detail(chain(&error)))?;
        Ok(Exporter { client, url, resource, queue, dropped, reported: None })
    }

    pub(crate) fn start(self) -> Exporting {
        tracing::info!(collector = self.url.host_str().unwrap_or_default(), "spans are sent");
        let (stop, stopped) = mpsc::channel(1);
        Exporting { stop, task: tokio::spawn(self.run(stopped)) }
    }

    async fn run(mut self, mut stopped: mpsc::Receiver<()>) {
        loop {
            let batch = tokio::select! {
                batch = gather(&mut self.queue) => batch,
                _ = stopped.recv() => break,
            };
            self.send(batch).await;
        }
        // Only what is here already: spans that begin from now on are not waited for.
        self.queue.close();
        while !self.queue.is_empty() {
            let mut rest = Vec::new();
            self.queue.recv_many(&mut rest, BATCH_MAX).await;
            self.send(rest).await;
        }
    }

    async fn send(&mut self, batch: Vec<SpanRecord>) {
        let (count, body) = (batch.len() as u64, encode(&self.resource, batch));
        let request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/x-protobuf").body(body);
        let sent = match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(format!("it answers {}", answer.status())),
            Err(error) => Err(chain(&error.without_url())),
        };
        match sent {
            Ok(()) => self.report("it has been too slow for all of them"),
            Err(why) => {
                self.dropped.fetch_add(count, Ordering::Relaxed);
                self.report(&why);
            }
        }
    }

    /// That spans were lost, if any were and it is time to say so again.
    fn report(&mut self, why: &str) {
        let is_quiet = self.reported.is_some_and(|reported| reported.elapsed() < REPORT_EVERY);
        if is_quiet || self.dropped.load(Ordering::Relaxed) == 0 {
            return;
        }
        let spans = self.dropped.swap(0, Ordering::Relaxed);
        let collector = self.url.host_str().unwrap_or_default();
        tracing::warn!(collector, spans, why, "the collector did not take spans: they are lost");
        self.reported = Some(Stopwatch::start());
    }
}

/// The next span, and those that come soon after it.
async fn gather(queue: &mut mpsc::Receiver<SpanRecord>) -> Vec<SpanRecord> {
    let mut batch = Vec::new();
    // The other end lives as long as the log: it is never closed while this waits.
    queue.recv_many(&mut batch, BATCH_MAX).await;
    let fill = async {
        while batch.len() < BATCH_MAX {
            let room = BATCH_MAX - batch.len();
            if queue.recv_many(&mut batch, room).await == 0 {
                break;
            }
        }
    };
    // Either way what came is in the batch.
    let _ = tokio::time::timeout(GATHERING, fill).await;
    batch
}

impl Exporting {
    /// Sends what is left, if that does not take too long.
    pub(crate) async fn end(mut self) {
        drop(self.stop);
        if tokio::time::timeout(FAREWELL, &mut self.task).await.is_err() {
            self.task.abort();
            tracing::warn!("the last spans could not be sent in time: they are lost");
        }
    }
}
