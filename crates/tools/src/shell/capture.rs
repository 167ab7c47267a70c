//! Takes in what a command writes while it runs.
//!
//! Invariant: both pipes are read to their end or given up together; every line goes to the log and into the tail,
//! in the order it was read, and only the log decides how much it keeps.

use ordo_engine::logs::LogSink;
use ordo_model::LogStream;
use ordo_model::limits::OUTPUT_TAIL_BYTES;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};

use super::lines::{LineCutter, LinePiece};
use super::tail::TextTail;
use crate::limits::{READ_BYTES, STDERR_SHOWN_BYTES};

pub(crate) struct Capture {
    stdout: Pipe,
    stderr: Pipe,
    kept: CapturedOutput,
}

struct CapturedOutput {
    log: LogSink,
    output: TextTail,
    complaints: TextTail,
}

struct Pipe {
    stream: LogStream,
    /// Gone at the end of the stream.
    from: Option<Box<dyn AsyncRead + Send + Unpin>>,
    buffer: Box<[u8]>,
    cutter: LineCutter,
}

/// What is known of the output when the command has ended.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) output: TextTail,
    pub(crate) complaints: TextTail,
}

impl Capture {
    pub(crate) fn of(stdout: Option<ChildStdout>, stderr: Option<ChildStderr>, log: LogSink) -> Capture {
        let kept = CapturedOutput {
            log,
            output: TextTail::of(OUTPUT_TAIL_BYTES),
            complaints: TextTail::of(STDERR_SHOWN_BYTES),
        };
        let stdout = stdout.map(|pipe| Box::new(pipe) as Box<dyn AsyncRead + Send + Unpin>);
        let stderr = stderr.map(|pipe| Box::new(pipe) as Box<dyn AsyncRead + Send + Unpin>);
        Capture { stdout: Pipe::new(LogStream::Stdout, stdout), stderr: Pipe::new(LogStream::Stderr, stderr), kept }
    }

    /// Reads until both pipes are at their end. May be dropped at any time and called again.
    pub(crate) async fn read_to_end(&mut self) {
        while self.stdout.from.is_some() || self.stderr.from.is_some() {
            let (pipe, count) = tokio::select! {
                count = self.stdout.read(), if self.stdout.from.is_some() => (&mut self.stdout, count),
                count = self.stderr.read(), if self.stderr.from.is_some() => (&mut self.stderr, count),
            };
            pipe.take_in(count, &mut self.kept);
        }
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
        self.stdout.cutter.finish(|piece| self.kept.take_in(LogStream::Stdout, piece));
        self.stderr.cutter.finish(|piece| self.kept.take_in(LogStream::Stderr, piece));
        Captured { output: self.kept.output, complaints: self.kept.complaints }
    }
}

impl Pipe {
    fn new(stream: LogStream, from: Option<Box<dyn AsyncRead + Send + Unpin>>) -> Pipe {
        Pipe { stream, from, buffer: vec![0; READ_BYTES].into(), cutter: LineCutter::default() }
    }

    /// How many bytes came; none when the stream is at its end or broken.
    async fn read(&mut self) -> usize {
        match &mut self.from {
            Some(from) => from.read(&mut self.buffer).await.unwrap_or(0),
            None => 0,
        }
    }

    fn take_in(&mut self, count: usize, kept: &mut CapturedOutput) {
        if count == 0 {
            self.from = None;
        }
        self.cutter.push(&self.buffer[..count], |piece| kept.take_in(self.stream, piece));
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
