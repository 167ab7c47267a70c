//! Log lines of an attempt: from the tool, through a cap, to whoever stores and follows them.
//!
//! Invariant: an attempt keeps at most LOG_MAX_BYTES of text; what was cut is counted and said in the last line. The
//! value of a secret that the attempt was given is covered before a line goes anywhere.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ordo_model::limits::{LOG_LINE_MAX_BYTES, LOG_MAX_BYTES};
use ordo_model::text::shortened;
use ordo_model::{LogStream, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

use crate::run::secrets::Mask;
use crate::time::clock::SharedClock;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub attempt: u32,
    pub at: Timestamp,
    pub stream: LogStream,
    pub text: String,
}

/// Where a tool puts its lines. Cheap to clone; all clones share one cap.
#[derive(Debug, Clone)]
pub struct LogSink {
    run: RunId,
    attempt: u32,
    clock: SharedClock,
    kept: Arc<AtomicUsize>,
    cut: Arc<AtomicUsize>,
    mask: Mask,
    to: UnboundedSender<(RunId, LogLine)>,
}

impl LogSink {
    /// A sink for the first attempt of a run.
    pub fn new(run: RunId, clock: SharedClock, to: UnboundedSender<(RunId, LogLine)>) -> LogSink {
        LogSink { run, attempt: 1, clock, kept: Arc::default(), cut: Arc::default(), mask: Mask::default(), to }
    }

    #[must_use]
    pub fn for_attempt(self, attempt: u32) -> LogSink {
        LogSink { attempt, ..self }
    }

    /// The same sink, covering the values of secrets in every line.
    #[must_use]
    pub fn masking(self, mask: Mask) -> LogSink {
        LogSink { mask, ..self }
    }

    /// A text of the attempt as it may be seen.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask.text(text)
    }

    /// Whether any line was kept.
    pub fn has_lines(&self) -> bool {
        self.kept.load(Ordering::Relaxed) > 0
    }

    /// Keeps a line, shortened to LOG_LINE_MAX_BYTES, unless the attempt has used up its share.
    pub fn line(&self, stream: LogStream, text: &str) {
        let text = self.mask.text(text);
        let text = shortened(&text, LOG_LINE_MAX_BYTES);
        if self.kept.fetch_add(text.len() + 1, Ordering::Relaxed) + text.len() >= LOG_MAX_BYTES {
            self.cut.fetch_add(text.len() + 1, Ordering::Relaxed);
            return;
        }
        self.send(stream, text.to_owned());
    }

    /// Says how much was cut, if anything. Called once, when the attempt is over.
    pub fn finish(&self) {
        let cut = self.cut.load(Ordering::Relaxed);
        if cut > 0 {
            self.send(
                LogStream::System,
                format!("output cut: {cut} bytes beyond the limit of {LOG_MAX_BYTES} were not kept"),
            );
        }
    }

    fn send(&self, stream: LogStream, text: String) {
        // The receiver is gone only while the process is going down; the line has nowhere to go then.
        drop(self.to.send((self.run, LogLine { attempt: self.attempt, at: self.clock.now(), stream, text })));
    }
}
