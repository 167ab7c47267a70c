//! Takes in what a command writes while it runs.
//!
//! Invariant: both streams are read to their end or given up together; every line goes to the log and into the tail,
//! in the order it was written, and only the log decides how much it keeps.

use ordo_engine::logs::LogSink;
use ordo_model::LogStream;
use ordo_model::limits::OUTPUT_TAIL_BYTES;

use super::lines::{LineCutter, LinePiece};
use super::tail::TextTail;
use crate::limits::STDERR_SHOWN_BYTES;
use crate::process::output::CommandOutput;

pub(crate) struct Capture {
    /// Gone at the end of both streams.
    from: Option<CommandOutput>,
    stdout: LineCutter,
    stderr: LineCutter,
    kept: CapturedOutput,
}

struct CapturedOutput {
    log: LogSink,
    output: TextTail,
    complaints: TextTail,
}

/// What is known of the output when the command has ended.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) output: TextTail,
    pub(crate) complaints: TextTail,
}

impl Capture {
    pub(crate) fn of(from: Option<CommandOutput>, log: LogSink) -> Capture {
        let kept = CapturedOutput {
            log,
            output: TextTail::of(OUTPUT_TAIL_BYTES),
            complaints: TextTail::of(STDERR_SHOWN_BYTES),
        };
        Capture { from, stdout: LineCutter::default(), stderr: LineCutter::default(), kept }
    }

    /// Reads until both streams are at their end. May be dropped at any time and called again.
    pub(crate) async fn read_to_end(&mut self) {
        let Capture { from, stdout, stderr, kept } = self;
        let Some(output) = from else { return };
        while let Some((stream, written)) = output.next().await {
            let cutter = if stream == LogStream::Stderr { &mut *stderr } else { &mut *stdout };
            cutter.push(written, |piece| kept.take_in(stream, piece));
        }
        *from = None;
    }

    /// Reads along for as long as somebody else waits for something.
    pub(crate) async fn read_along<T>(&mut self, something: impl Future<Output = T>) -> T {
        tokio::pin!(something);
        tokio::select! {
            biased;
            done = &mut something => done,
            () = self.read_to_end() => something.await,
        }
    }

    pub(crate) fn log(&self) -> &LogSink {
        &self.kept.log
    }

    pub(crate) fn finish(mut self) -> Captured {
        self.stdout.finish(|piece| self.kept.take_in(LogStream::Stdout, piece));
        self.stderr.finish(|piece| self.kept.take_in(LogStream::Stderr, piece));
        Captured { output: self.kept.output, complaints: self.kept.complaints }
    }
}

impl CapturedOutput {
    fn take_in(&mut self, stream: LogStream, piece: LinePiece<'_>) {
        // Before the tail cuts it: half of a secret would not be known for one.
        let text = self.log.masked(piece.text);
        let piece = LinePiece { text: &text, ends_line: piece.ends_line };
        self.log.line(stream, piece.text);
        self.output.push(piece);
        if stream == LogStream::Stderr {
            self.complaints.push(piece);
        }
    }
}
