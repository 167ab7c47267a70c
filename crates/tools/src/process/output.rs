//! What a command writes to stdout and stderr, read in the order in which it was written.
//!
//! Two pipes do not say which of them was written first once both hold something. Therefore each holds one write at a
//! time (a pipe of one page in packet mode: the next write waits until the last was read), and an epoll instance with
//! edges, which lists what became ready in order, says whose turn it is. The price is a wake-up per write.
//!
//! Invariant: nothing is awaited between learning whose turn it is and reading it, so a reader may be dropped at any time.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use ordo_model::LogStream;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::limits::READ_BYTES;

/// As small as the system makes a pipe: one page, which is one write.
const PIPE_BYTES: usize = 4_096;

/// The reading ends.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    ready: AsyncFd<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    buffer: Box<[u8]>,
    /// A stream whose writers are gone: it is read to its end.
    ending: Option<LogStream>,
}

/// The writing ends, for the command.
#[derive(Debug)]
pub(crate) struct OutputEnds {
    pub(crate) stdout: Stdio,
    pub(crate) stderr: Stdio,
}

impl CommandOutput {
    pub(crate) fn pipes() -> io::Result<(CommandOutput, OutputEnds)> {
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        let (stdout, stdout_end) = pipe(&ready, LogStream::Stdout)?;
        let (stderr, stderr_end) = pipe(&ready, LogStream::Stderr)?;
        let output = CommandOutput {
            ready: watched(ready)?,
            stdout: Some(stdout),
            stderr: Some(stderr),
            buffer: vec![0; READ_BYTES].into(),
            ending: None,
        };
        Ok((output, OutputEnds { stdout: stdout_end.into(), stderr: stderr_end.into() }))
    }

    /// What was written next, and where; None when both streams are at their end.
    pub(crate) async fn next(&mut self) -> Option<(LogStream, &[u8])> {
        loop {
            let stream = match self.ending {
                Some(stream) => stream,
                None => self.turn().await?,
            };
            match self.read(stream) {
                Some(0) => self.close(stream),
                Some(count) => return Some((stream, &self.buffer[..count])),
                None => {}
            }
        }
    }

    /// Whose turn it is.
    async fn turn(&mut self) -> Option<LogStream> {
        while self.stdout.is_some() || self.stderr.is_some() {
            let mut guard = self.ready.readable().await.ok()?;
            match first_ready(guard.get_inner()) {
                Some((stream, is_over)) => {
                    self.ending = is_over.then_some(stream);
                    return Some(stream);
                }
                None => guard.clear_ready(),
            }
        }
        None
    }

    /// How many bytes came: 0 at the end of the stream, None when there was nothing after all.
    fn read(&mut self, stream: LogStream) -> Option<usize> {
        let pipe = match stream {
            LogStream::Stdout => self.stdout.as_ref(),
            LogStream::Stderr | LogStream::System => self.stderr.as_ref(),
        };
        let Some(pipe) = pipe else { return Some(0) };
        match rustix::io::read(pipe, &mut *self.buffer) {
            Ok(count) => Some(count),
            Err(Errno::AGAIN | Errno::INTR) => {
                self.ending = None;
                None
            }
            Err(_) => Some(0),
        }
    }

    fn close(&mut self, stream: LogStream) {
        self.ending = None;
        match stream {
            LogStream::Stdout => self.stdout = None,
            LogStream::Stderr | LogStream::System => self.stderr = None,
        }
    }
}

/// The runtime's way to wait for any descriptor is deprecated in favour of one that takes the caller's word, in unsafe
/// code, that the descriptor stays what it is. An owned one does.
#[expect(deprecated, reason = "sound for a descriptor that is owned; its successor can only be called unsafely")]
fn watched(ready: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(ready, Interest::READABLE)
}

fn pipe(ready: &OwnedFd, stream: LogStream) -> io::Result<(OwnedFd, OwnedFd)> {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT)?;
    fcntl_setpipe_size(&writing, PIPE_BYTES)?;
    rustix::io::ioctl_fionbio(&reading, true)?;
    epoll::add(ready, &reading, EventData::new_u64(code(stream)), EventFlags::IN | EventFlags::ET)?;
    Ok((reading, writing))
}

/// The stream that was written first of those that have something, and whether nobody will write to it any more.
fn first_ready(ready: &OwnedFd) -> Option<(LogStream, bool)> {
    let mut events: [Event; 1] = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let count = epoll::wait(ready, &mut events[..], Some(&now)).unwrap_or(0);
    let Event { flags, data } = *events[..count].first()?;
    let is_over = flags.intersects(EventFlags::HUP | EventFlags::ERR);
    let stream = if data.u64() == code(LogStream::Stderr) { LogStream::Stderr } else { LogStream::Stdout };
    Some((stream, is_over))
}

const fn code(stream: LogStream) -> u64 {
    match stream {
        LogStream::Stdout => 1,
        LogStream::Stderr => 2,
        LogStream::System => 3,
    }
}
